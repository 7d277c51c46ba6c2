"""A program that speaks JSON lines."""
