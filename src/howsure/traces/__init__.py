"""Traces: reading OpenTelemetry-style spans in the spellings seen in the wild. The door is `read.read_trace`."""
