"""Graders: Case + Transcript → grades, by program or by asking a judge. `base.py` is the contract."""
