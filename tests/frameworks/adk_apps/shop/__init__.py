"""A small shop: the ADK app of the tests."""
