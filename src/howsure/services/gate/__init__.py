"""Deciding gates: what a run shows, held against what it is held to. Loaded only when a run has a gate."""
