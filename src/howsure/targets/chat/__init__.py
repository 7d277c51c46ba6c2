"""A model itself, with tools."""
