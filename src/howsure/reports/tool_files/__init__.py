"""A run in the files of other tools, which their own loaders read: one module a tool."""
