"""What all tests share: how hard properties are tried. `HYPOTHESIS_PROFILE=thorough` tries them harder."""

from __future__ import annotations

import os

from hypothesis import settings

# No deadline: the machine may be shared, and a slow moment is no failure.
settings.register_profile("quick", max_examples=25, deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
