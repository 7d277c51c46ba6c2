"""Stats: pure numbers."""
