"""Dialects: each reads one foreign file shape into Cases, and writes it back. `base.py` is the contract."""
