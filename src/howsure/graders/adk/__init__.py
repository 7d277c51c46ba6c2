"""ADK's criteria, and the scores that ADK gave itself."""
