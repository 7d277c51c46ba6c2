"""The service behind the API: documents with versions, runs that a queue carries, and the workers that empty it."""
