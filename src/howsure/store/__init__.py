"""The store: all SQL lives here."""
