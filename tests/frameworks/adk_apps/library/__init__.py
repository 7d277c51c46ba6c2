"""Another app on the same server."""
