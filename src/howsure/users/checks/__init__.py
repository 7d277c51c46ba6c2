"""Checks of a simulated user's turns, one file for each kind of mistake. `fidelity.py` runs them all."""
