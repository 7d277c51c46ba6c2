"""Judges: who is asked, what they are asked, and how their replies are read. `base.py` is the contract."""
