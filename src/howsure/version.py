"""The version of Howsure, read by the build and by `howsure --version`."""

__version__ = "0.1.0"
