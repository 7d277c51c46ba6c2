"""Failure triage: what of a run did not pass, why, and who is answerable."""
