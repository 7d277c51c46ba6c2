"""Policies: pure functions that turn grades into a verdict, one file for each world's rule."""
