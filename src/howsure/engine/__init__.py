"""The engine: plan, attempt, run. It touches no store: it yields Results."""
