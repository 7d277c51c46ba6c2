"""Targets: how to reach what is under test. `base.py` is the contract."""
