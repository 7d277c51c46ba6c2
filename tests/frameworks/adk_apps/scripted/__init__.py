"""An agent of which a file says what it does."""
