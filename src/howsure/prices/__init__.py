"""Prices: a dated table of model prices, and the lookup that never guesses."""
