"""A criterion or rule: met, not met, or, often, not to be told from words alone. Evidence is looked for in the answer;
statements about tools are checked against the calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from howsure.judges.offline.evidence import Found, contains_all, search
from howsure.judges.offline.forms import form_view
from howsure.judges.offline.opinions import CannotTell, Opinion, View
from howsure.judges.offline.statements import Says, besides_quotes, says_of
from howsure.judges.offline.tool_statements import tool_view
from howsure.model.rubric import Rule
from howsure.model.transcript import ToolCall

THERE, ABSENT = 0.75, 0.2
"""The share of a claim's telling words at which it counts as said, and at which nothing of it is."""
HALF = 0.5
ENOUGH_WORDS = 2


def criterion_view(statement: str, text: str, calls: Sequence[ToolCall] = (), tools: Iterable[str] = ()) -> View:
    """Whether the statement holds of this text and these calls."""
    if (by_calls := tool_view(statement, calls, tools)) is not None:
        return by_calls
    if (by_form := form_view(statement, text)) is not None:
        return by_form
    claim = says_of(statement)
    if claim is None:
        return CannotTell("the statement is about more than what is said, which needs understanding")
    return _denied(claim, text) if claim.denied else _said(claim, text)


def rule_view(rule: Rule, text: str, calls: Sequence[ToolCall] = ()) -> View:
    """A rule fails by any fail condition that is met, and holds when every pass condition is; else nobody can tell."""
    for condition in rule.fail_conditions:
        view = criterion_view(condition, text, calls)
        if isinstance(view, Opinion) and view.value == 1:
            reason = f"{condition}: {view.reason}"
            return Opinion(value=0.0, confidence=view.confidence, reason=reason, evidence=view.evidence)
    views = [criterion_view(condition, text, calls) for condition in rule.pass_conditions]
    if views and all(isinstance(view, Opinion) and view.value == 1 for view in views):
        least = min((view for view in views if isinstance(view, Opinion)), key=lambda view: view.confidence)
        return Opinion(value=1.0, confidence=least.confidence, reason=f"Every pass condition holds. {least.reason}")
    return criterion_view(rule.name, text, calls)


def _said(claim: Says, text: str) -> View:
    whole, missing = contains_all(claim.quoted, text)
    if not whole:
        return _not_met(0.8, f"The answer does not contain “{missing}”.")
    found = search(claim.claim, text)
    if claim.quoted and not besides_quotes(claim.claim):
        return _met(0.85, claim, found)
    if claim.open_ended:
        return CannotTell("the statement does not say what to look for")
    if found.figures is not None and found.figures < 1:
        return _not_met(0.75, f"The answer lacks a figure of “{claim.claim}”.", found)
    if found.names == 0:
        return _not_met(0.7, f"The answer names nothing of “{claim.claim}”.")
    if found.share >= THERE and found.opposed and not claim.named:
        return _not_met(0.65, f"The answer denies “{claim.claim}”.", found)
    return _bare(claim, found) if found.words < ENOUGH_WORDS else _by_words(claim, found)


def _by_words(claim: Says, found: Found) -> View:
    if found.share >= THERE:
        return _met(0.75, claim, found)
    if found.share >= HALF and found.figures == 1 and not found.opposed:
        return _met(0.65, claim, found)
    return CannotTell(f"{found.share:.0%} of the words of “{claim.claim}” are there, which decides nothing")


def _bare(claim: Says, found: Found) -> View:
    """A claim of one word is there or is not."""
    if found.share == 1:
        return _met(0.75 if claim.quoted or found.figures == 1 else 0.65, claim, found)
    return _not_met(0.65, f"“{claim.claim}” is not in the answer.")


def _met(confidence: float, claim: Says, found: Found) -> Opinion:
    return Opinion(
        value=1.0, confidence=confidence, reason=f"The answer says “{claim.claim}”.", evidence=_quoted(found)
    )


def _not_met(confidence: float, reason: str, found: Found | None = None) -> Opinion:
    return Opinion(value=0.0, confidence=confidence, reason=reason, evidence=_quoted(found) if found else ())


def _denied(claim: Says, text: str) -> View:
    found = search(claim.claim, text)
    if claim.open_ended:
        return CannotTell("the statement does not say what to look for")
    present = found.share >= THERE and found.figures in (None, 1.0)
    if present and (claim.named or not found.opposed):
        return Opinion(
            value=0.0, confidence=0.7, reason=f"The answer speaks of “{claim.claim}”.", evidence=_quoted(found)
        )
    if found.share <= ABSENT:
        return Opinion(value=1.0, confidence=0.7, reason=f"Nothing in the answer speaks of “{claim.claim}”.")
    return CannotTell(f"the answer has some words of “{claim.claim}”, which decides nothing")


def _quoted(found: Found) -> tuple[str, ...]:
    return (found.quote,) if found.quote else ()
