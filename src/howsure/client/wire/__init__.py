"""The shapes of the API as a client sees them: what the service answers, and what may be asked of it."""
