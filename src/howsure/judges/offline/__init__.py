"""The offline judge: deterministic, without a model, a network or randomness; it rules, or says that it cannot tell."""
