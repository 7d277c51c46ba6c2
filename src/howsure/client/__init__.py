"""The evaluation service from Python: `howsure.Client` for scripts and notebooks, `howsure.AsyncClient` for
asynchronous programs. Both have the same methods; what they return is in `howsure.wire`, what they raise in
`errors.py`."""
