"""Benchmarks: figures the docs quote, each measured beside a baseline in the same run. Never timed tests."""
