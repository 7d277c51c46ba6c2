"""Python code in this process."""
