"""The Explain evals, 1 to 5, from the signals of an answer. They see form, coverage and trace, never truth: the
confidence says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from howsure.judges.offline.opinions import CannotTell, Opinion, View
from howsure.judges.offline.signals import Signals

WEAK, CLEAR = 0.6, 0.85
"""The confidence of a weighing of signals, and of what is plain to see: echoes, refusals, loops."""
LOWEST, BELOW_THE_MIDDLE, HIGHEST = 1, 2, 5
MOSTLY = 0.5

Parts = Sequence[tuple[str, float, float]]
"""What was weighed: its name, its weight, its value from 0 to 1."""


def quality_view(name: str, seen: Signals) -> View:
    """One of the evals that look at the answer (tool calls are tool_accuracy.py's)."""
    weigh = WEIGHED.get(name)
    if weigh is None:
        return CannotTell(f"{name} is no eval that it knows")
    if (plain := _plain_to_see(name, seen)) is not None:
        return plain
    view = weigh(seen)
    return _held_down(name, seen, view) if isinstance(view, Opinion) and view.value > BELOW_THE_MIDDLE else view


def _held_down(name: str, seen: Signals, view: Opinion) -> View:
    """Length, figures and good form make no good answer of one that is about something else, or that nobody can
    read."""
    if seen.coded >= MOSTLY:
        return CannotTell(f"{seen.coded:.0%} of the answer is codes, which it cannot read")
    if seen.on_topic or name not in NEEDS_AN_ANSWER:
        return view
    return Opinion(
        value=BELOW_THE_MIDDLE,
        confidence=view.confidence,
        reason=f"The answer takes up no word of the question. {view.reason}",
        details={**view.details, "weighed": float(BELOW_THE_MIDDLE)},
    )


def _plain_to_see(name: str, seen: Signals) -> Opinion | None:
    """What needs no weighing."""
    if seen.echo and name not in FORM_ONLY:
        return Opinion(value=LOWEST, confidence=CLEAR, reason="The answer only repeats the question.")
    if seen.repetition >= 0.5 and seen.words > 8:
        return Opinion(
            value=LOWEST, confidence=CLEAR, reason=f"{seen.repetition:.0%} of the answer says something again."
        )
    if seen.refuses and seen.words < 40 and name in NEEDS_AN_ANSWER:
        return Opinion(
            value=2, confidence=0.7, reason="The answer declines to answer.", evidence=(seen.sentences[0].text,)
        )
    return None


def _weighed(parts: Parts, confidence: float = WEAK) -> Opinion:
    total = sum(weight for _, weight, _ in parts)
    mean = sum(weight * value for _, weight, value in parts) / total
    listed = ", ".join(f"{name} {value:.2f}" for name, _, value in parts)
    value = LOWEST + (HIGHEST - LOWEST) * mean
    return Opinion(
        value=round(value),
        confidence=confidence,
        reason=f"Weighed from 0 to 1: {listed}.",
        details={"weighed": round(value, 2), "signals": {name: round(part, 3) for name, _, part in parts}},
    )


def _reaches(share: float, full: float) -> float:
    """A share of `full` is already all that can be expected."""
    return min(1.0, share / full)


def _length(seen: Signals, enough: int) -> float:
    return min(1.0, seen.words / enough)


def _answers(seen: Signals) -> float:
    """How far the answer takes up what was asked and, where there is one, what the reference says."""
    on_question = _reaches(seen.on_question, 0.35)
    if seen.on_reference is None:
        return on_question
    return max(on_question, _reaches(seen.on_reference, 0.5)) * 0.5 + _reaches(seen.on_reference, 0.5) * 0.5


def _clean(seen: Signals) -> float:
    return seen.mechanics * (1 - min(1.0, 2 * seen.repetition))


def _relevance(seen: Signals) -> Opinion:
    context = 0.5 if seen.on_context is None else _reaches(seen.on_context, 0.15)
    return _weighed(
        [("covers the question", 3, _answers(seen)), ("context", 1, context), ("length", 1, _length(seen, 15))]
    )


def _coherence(seen: Signals) -> Opinion:
    if seen.contradicts:
        one, other = seen.contradicts
        return Opinion(value=2, confidence=0.65, reason="Two sentences contradict each other.", evidence=(one, other))
    parts = [
        ("continuity", 2.0, _reaches(seen.continuity, 0.5)),
        ("no repetition", 2.0, 1 - min(1.0, 2 * seen.repetition)),
    ]
    return _weighed(
        [*parts, ("to the point", 1, _reaches(seen.on_question, 0.2)), ("clean writing", 1, seen.mechanics)]
    )


def _fluency(seen: Signals) -> Opinion:
    return _weighed(
        [("mechanics", 3, seen.mechanics), ("variety", 1, _reaches(seen.variety, 0.6)), ("no loops", 1, _clean(seen))]
    )


def _helpfulness(seen: Signals) -> Opinion:
    parts = [("covers the question", 3.0, _answers(seen)), ("practical", 1.0, seen.practical)]
    return _weighed(
        [*parts, ("length", 1.5, _length(seen, 40)), ("specific", 1, seen.specific), ("clean", 1, _clean(seen))]
    )


def _intelligence(seen: Signals) -> Opinion:
    parts = [("reasons", 1.0, seen.reasoned), ("specifics", 1.0, seen.specific), ("length", 1.0, _length(seen, 40))]
    return _weighed([*parts, ("covers the question", 2, _answers(seen)), ("variety", 1, _reaches(seen.variety, 0.7))])


def _empathy(seen: Signals) -> View:
    if not seen.feeling and not seen.user_feels:
        return CannotTell("nobody speaks of feelings, and their absence says nothing about empathy")
    shown = min(1.0, seen.feeling / 2)
    return _weighed(
        [("words of feeling", 3, shown), ("clean writing", 1, _clean(seen)), ("answers", 1, _answers(seen))]
    )


def _intent(seen: Signals) -> Opinion:
    context = _answers(seen) if seen.on_context is None else _reaches(seen.on_context, 0.2)
    parts = [
        ("covers the question", 3.0, _answers(seen)),
        ("context", 1.0, context),
        ("length", 1.0, _length(seen, 20)),
    ]
    return _weighed(parts)


def _adherence(seen: Signals) -> Opinion:
    goal = _answers(seen) if seen.on_goal is None else _reaches(seen.on_goal, 0.25)
    return _weighed(
        [("covers the goal", 2, goal), ("covers the question", 2, _answers(seen)), ("length", 1, _length(seen, 20))]
    )


WEIGHED: Mapping[str, Callable[[Signals], View]] = {
    "RelevanceExplain": _relevance,
    "CoherenceExplain": _coherence,
    "FluencyExplain": _fluency,
    "HelpfulnessExplain": _helpfulness,
    "PerceivedIntelligenceExplain": _intelligence,
    "EmpathyExplain": _empathy,
    "IntentResolutionExplain": _intent,
    "TaskAdherenceExplain": _adherence,
}
FORM_ONLY = frozenset({"FluencyExplain", "CoherenceExplain"})
NEEDS_AN_ANSWER = frozenset(
    {
        "RelevanceExplain",
        "HelpfulnessExplain",
        "IntentResolutionExplain",
        "TaskAdherenceExplain",
        "PerceivedIntelligenceExplain",
    }
)
