"""Matching: comparing arguments, calls, steps and states with what was expected."""
