"""Users: who plays the user's side of a conversation. `base.py` is the contract."""
