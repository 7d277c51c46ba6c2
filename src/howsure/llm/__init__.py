"""The one door to language models: providers, cache, retries, limits, budgets and usage. Nothing here knows a judge."""
