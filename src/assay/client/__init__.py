"""The evaluation service from Python: `assay.Client` for scripts and notebooks, `assay.AsyncClient` for programs that
wait for many things at once. Both say the same; what they answer is in `shapes`, what they raise in `errors`."""
