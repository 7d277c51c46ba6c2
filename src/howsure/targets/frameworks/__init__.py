"""Agents of other frameworks, run in this process. Each adapter loads its framework when a target is made."""
