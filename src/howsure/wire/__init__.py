"""The one definition of what the evaluation API answers: runs, results in both scoring eras (`results.py`), documents,
labels, keys. The API describes them in OpenAPI, the client decodes answers into them, reports render runs and results
through them. Bodies that a caller sends, and what is allowed in them, are in `api/`."""
