"""The folders of files that the systems before Howsure wrote after a run, under their own names: programs that read
those can read ours. `formats.py` lists the sets."""
