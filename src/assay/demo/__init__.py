"""The demo: one believable company, one dataset for each dialect."""
