"""The reading statements, one file a table."""
