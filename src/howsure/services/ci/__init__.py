"""A proposed change, checked where it is proposed: its run against that of the branch it is to be merged into."""
