"""Running: a request becomes a plan, the plan a run, and the run its results."""
