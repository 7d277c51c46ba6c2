"""The version of Assay, read by the build and by `assay --version`."""

__version__ = "0.1.0"
