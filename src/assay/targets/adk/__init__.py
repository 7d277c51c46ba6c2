"""An ADK API server."""
