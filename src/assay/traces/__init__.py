"""Traces: reading OpenTelemetry-style spans in the spellings seen in the wild."""
