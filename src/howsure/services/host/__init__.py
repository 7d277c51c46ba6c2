"""What `howsure serve` and `howsure worker` do: the document library, the run queue and its workers, labels, API keys
and the SSRF guard. The HTTP routes are in `api` and `web`, the tables in `store`."""
