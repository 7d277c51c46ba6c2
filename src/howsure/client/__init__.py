"""The evaluation service from Python: `howsure.Client` for scripts and notebooks, `howsure.AsyncClient` for programs
that wait for many things at once. Both say the same; what they answer is in `shapes`, what they raise in `errors`."""
