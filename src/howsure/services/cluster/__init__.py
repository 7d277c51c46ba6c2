"""A run on many machines: Ray places shards of it and moves them when a machine dies; the store is the record."""
