"""The terminal browser of a run: what is on the screen and what keys do (pure), and the loop around it."""
