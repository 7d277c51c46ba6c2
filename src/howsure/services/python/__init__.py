"""Howsure from Python: `evaluate` in a script or notebook, finished runs as objects, runs that tests share."""
