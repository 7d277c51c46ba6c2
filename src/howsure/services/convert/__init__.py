"""Converting: what each format can hold of a case, what becomes of the rest, and the ledger that names it."""
