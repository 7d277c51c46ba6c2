"""What the agent did wrong, once nobody else is answerable. What a program found is certain, what a judge said likely;
where criteria and rules disagree and there was one attempt, it is possible."""

from __future__ import annotations

from collections.abc import Callable

from howsure.model.simulation import Party
from howsure.model.triage import Cause, Confidence
from howsure.services.triage.blame import Blame
from howsure.services.triage.facts import CRITERIA, RUBRIC, TOOL_CHECKS, WEIGHTED, Facts, Failed

CERTAIN, LIKELY, POSSIBLE = Confidence
BY_PROGRAM = (
    ("output_contract", Cause.CONTRACT_BROKEN),
    ("agent_routing", Cause.WRONG_AGENT),
)
LATER = (("state_management_fidelity", Cause.WRONG_STATE), ("trajectory_accuracy", Cause.WRONG_PATH))
ONE_BY_ONE = frozenset((CRITERIA, RUBRIC, WEIGHTED, "choice", "reference_answer", "expected_outcome"))


def of_the_agent(facts: Facts) -> Blame:
    """The first of these that speaks; the last always does."""
    return next(said for rule in _RULES if (said := rule(facts)) is not None)


def _blamed(cause: Cause, confidence: Confidence, why: str, evidence: str = "") -> Blame:
    return Blame(Party.AGENT, cause, confidence, why, evidence)


def _shape_and_route(facts: Facts) -> Blame | None:
    for name, cause in BY_PROGRAM:
        if (failed := facts.fails(name)) is not None:
            return _blamed(cause, CERTAIN, f"`{name}` is below its mark", failed.reason)
    return None


def _gating_tools(facts: Facts) -> Blame | None:
    return _tools(facts, CERTAIN) if facts.fails(*TOOL_CHECKS) else None


def _tools(facts: Facts, confidence: Confidence) -> Blame | None:
    told = next((failed.reason for failed in facts.failed if failed.name in TOOL_CHECKS), "")
    for cause, names, what in (
        (Cause.TOOL_NOT_CALLED, facts.tools.missing, "was not called"),
        (Cause.WRONG_ARGUMENTS, facts.tools.wrong, "was called with other arguments than required"),
        (Cause.FORBIDDEN_TOOL, facts.tools.unwanted, "was called and ought not to be"),
    ):
        if names:
            return _blamed(cause, confidence, f"`{names[0]}` {what}", told)
    return None


def _state_and_path(facts: Facts) -> Blame | None:
    for name, cause in LATER:
        if (failed := facts.fails(name)) is not None:
            return _blamed(cause, CERTAIN, f"`{name}` is below its mark", failed.reason)
    return None


def _rule(facts: Facts) -> Blame | None:
    broken = [part for part in facts.of(RUBRIC) if part.severe]
    if not broken:
        return None
    # Where every criterion is met, the rule may not apply: the divergence is listed, and somebody should look.
    return _blamed(Cause.RULE_BROKEN, LIKELY, f"the rule {broken[0].id} was broken", broken[0].reason)


def _poor(facts: Facts) -> Blame | None:
    """Judged evals about the answer as a whole, the lowest reason first."""
    poor = [each for each in facts.failed if each.gates and each.name not in ONE_BY_ONE and _is_judged(each)]
    if not poor:
        return None
    names = ", ".join(each.name for each in poor)
    return _blamed(Cause.POOR_ANSWER, LIKELY, f"below the mark: {names}", poor[0].reason)


def _is_judged(failed: Failed) -> bool:
    return failed.judged and failed.name not in TOOL_CHECKS


def _other_tools(facts: Facts) -> Blame | None:
    """A tool check that decides nothing by itself still tells why a criterion is not met."""
    return _tools(facts, LIKELY)


def _criteria(facts: Facts) -> Blame | None:
    unmet = facts.of(CRITERIA)
    if not unmet:
        return None
    alone = facts.passed_rules and not facts.of(RUBRIC) and facts.outcome is None
    return _blamed(Cause.CRITERION_UNMET, POSSIBLE if alone else LIKELY, f"not met: “{unmet[0].text}”", unmet[0].reason)


def _choice(facts: Facts) -> Blame | None:
    if (failed := facts.fails("choice")) is None:
        return None
    if failed.partly:
        return _blamed(Cause.PARTLY_RIGHT, CERTAIN, "some of several right choices, not the exact set", failed.reason)
    return _blamed(Cause.WRONG_CHOICE, CERTAIN, "another choice than the right one", failed.reason)


def _points(facts: Facts) -> Blame | None:
    unmet = facts.of(WEIGHTED)
    if not unmet:
        return None
    said = [part for part in unmet if part.penalty]
    cause, first, what = (Cause.PENALISED, said[0], "says") if said else (Cause.POINTS_MISSED, unmet[0], "misses")
    return _blamed(cause, LIKELY, f"{what}: “{first.text}”", first.reason)


def _reference(facts: Facts) -> Blame | None:
    if (failed := facts.fails("reference_answer")) is None:
        return None
    return _blamed(Cause.NOT_THE_REFERENCE, LIKELY, "the answer differs from the reference", failed.reason)


def _anything(facts: Facts) -> Blame:
    failed = next((each for each in facts.failed if each.gates), None) or next(iter(facts.failed), None)
    if failed is None:
        return _blamed(Cause.BELOW_MARK, POSSIBLE, next(iter(facts.reasons), "the case failed"))
    return _blamed(Cause.BELOW_MARK, LIKELY, f"`{failed.name}` is below its mark", failed.reason)


_RULES: tuple[Callable[[Facts], Blame | None], ...] = (
    _shape_and_route,
    _gating_tools,
    _state_and_path,
    _rule,
    _poor,
    _other_tools,
    _criteria,
    _choice,
    _points,
    _reference,
    _anything,
)
