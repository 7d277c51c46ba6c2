"""An agent that is never asked: it is there to be listed."""

from __future__ import annotations

from google.adk.agents import Agent

root_agent = Agent(name="librarian", model="none", instruction="Lend books.")
