"""The one door to language models: adapters, cache, retries, limits, budgets and usage. Nothing here knows a judge."""
