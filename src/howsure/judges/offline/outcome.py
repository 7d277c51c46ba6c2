"""Whether a conversation achieved what it should. Words alone show failure sometimes, success seldom."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.judges.offline.criteria import criterion_view
from howsure.judges.offline.opinions import CannotTell, Opinion, View
from howsure.judges.offline.passages import passages
from howsure.judges.offline.polarity import refuses
from howsure.model.transcript import Transcript


def outcome_view(goals: Sequence[str], text: str, transcript: Transcript) -> View:
    """Every goal must be seen as reached; one that is seen as missed is enough."""
    views = [criterion_view(goal, text, transcript.tool_calls) for goal in goals]
    opinions = [view for view in views if isinstance(view, Opinion)]
    if missed := next((view for view in opinions if view.value == 0), None):
        return missed
    if opinions and len(opinions) == len(views):
        return min(opinions, key=lambda view: view.confidence)
    last = passages(transcript.answer)
    if last and refuses(transcript.answer) and not any(map(_wants_refusal, goals)) and len(last) < 3:
        reason = "The conversation ends with a refusal."
        return Opinion(value=0.0, confidence=0.65, reason=reason, evidence=(last[0].text,))
    return CannotTell("whether an outcome was reached needs understanding")


def _wants_refusal(goal: str) -> bool:
    lowered = goal.lower()
    return any(word in lowered for word in ("declin", "refus", "not ", "no ", "hand", "person", "escalat"))
