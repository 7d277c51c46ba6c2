"""Comparing runs: which sides, pair by pair, what differs, what is unlike, which cases flipped or are flaky."""
