"""Services: the use cases. Each wires engine, store and reports for one thing a user wants."""
