"""Trust: how far a judge can be trusted, measured."""
