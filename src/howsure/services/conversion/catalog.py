"""A scenario catalog out of nothing but a number and a seed: every value goes round in turn, so the same two always
give the same file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from howsure.dialects.explain_schema import TOPIC_FAMILIES

LEVELS = ("beginner", "intermediate", "advanced")
DURATIONS = ("short", "standard", "aggressive")
AMBIGUITIES = ("clear", "underspecified", "conflicting")
NOISES = ("none", "outdated-links", "irrelevant-forum-advice", "promo-voucher-distraction")


def scenarios(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """`seed` shifts the wheels against each other; 0 lets all start together."""
    for place in range(count):
        wheel = [place + seed * step for step in range(1, 8)] if seed else [place] * 7
        topic = TOPIC_FAMILIES[wheel[0] % len(TOPIC_FAMILIES)]
        yield {
            "scenario_id": f"SCN-{place + 1:03}",
            "topic_family": topic,
            "learner_level": LEVELS[wheel[1] % len(LEVELS)],
            "duration_profile": DURATIONS[wheel[2] % len(DURATIONS)],
            "weekly_hours": 4 + wheel[3] % 8,
            "duration_weeks": 4 + wheel[4] % 10,
            "ambiguity": AMBIGUITIES[wheel[5] % len(AMBIGUITIES)],
            "noise_factor": NOISES[wheel[6] % len(NOISES)],
            "target_exam": topic,
        }
