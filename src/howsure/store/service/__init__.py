"""What the service keeps besides runs."""
