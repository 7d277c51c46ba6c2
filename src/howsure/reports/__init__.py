"""Reports: a Run and its Results become something to read."""
