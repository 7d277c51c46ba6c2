"""A run on many machines: Ray places its shards and moves them when a machine dies; the store is the durable record."""
