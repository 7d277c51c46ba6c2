"""Who is responsible for a result that did not pass: the rules, in the order in which they are tried; the first that
applies decides. Each is a pure function of the facts of one result and of the whole run. Broken parts come before
judged ones, because nothing can be judged without them; the agent's own faults come last. What a program found is
certain, what a judge said is likely; where criteria and rules disagree after a single attempt, it is possible."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from msgspec import Struct, field

from howsure.model.rubric import Scope
from howsure.model.simulation import Fault, Party
from howsure.model.triage import Cause, Confidence, Finding
from howsure.model.verdict import Verdict
from howsure.services.triage.facts import CRITERIA, RUBRIC, TOOL_CHECKS, WEIGHTED, ResultFacts, searches

CERTAIN, LIKELY, POSSIBLE = Confidence


class Blame(Struct, frozen=True):
    """What a rule says: who is responsible, for what, how surely, why, and the evidence."""

    party: Party
    cause: Cause
    confidence: Confidence
    why: str
    evidence: str = ""


BY_PROGRAM = (("output_contract", Cause.CONTRACT_BROKEN), ("agent_routing", Cause.WRONG_AGENT))
LATER = (("state_management_fidelity", Cause.WRONG_STATE), ("trajectory_accuracy", Cause.WRONG_PATH))
NOT_OVERALL = frozenset((CRITERIA, RUBRIC, WEIGHTED, "choice", "reference_answer", "expected_outcome", *TOOL_CHECKS))
"""Graders that say more than that the answer as a whole is poor."""


def blame_agent(facts: ResultFacts) -> Blame:
    """The first of the agent's own faults that applies; the last always does."""
    return Blame(Party.AGENT, *next(chain(_rule_faults(facts), _answer_faults(facts))))


AgentFault = tuple[Cause, Confidence, str, str]


def _rule_faults(facts: ResultFacts) -> Iterator[AgentFault]:
    """What a program found, and broken standing rules."""
    yield from _grader_faults(facts, BY_PROGRAM)
    if facts.fails(*TOOL_CHECKS):
        yield from _tool_faults(facts, CERTAIN)
    yield from _grader_faults(facts, LATER)
    # Where every criterion is met, the rule may not apply: the divergence is listed for somebody to look at.
    for part in facts.failed_parts(RUBRIC):
        if part.severe:
            yield Cause.RULE_BROKEN, LIKELY, f"the rule {part.id} was broken", part.reason


def _grader_faults(facts: ResultFacts, graders: Iterable[tuple[str, Cause]]) -> Iterator[AgentFault]:
    for name, cause in graders:
        if (failed := facts.fails(name)) is not None:
            yield cause, CERTAIN, f"`{name}` is below its mark", failed.reason


def _tool_faults(facts: ResultFacts, confidence: Confidence) -> Iterator[AgentFault]:
    reason = next((failed.reason for failed in facts.failed if failed.name in TOOL_CHECKS), "")
    for cause, names, what in (
        (Cause.TOOL_NOT_CALLED, facts.tools.missing, "was not called"),
        (Cause.WRONG_ARGUMENTS, facts.tools.wrong, "was called with other arguments than required"),
        (Cause.FORBIDDEN_TOOL, facts.tools.unwanted, "was called and ought not to be"),
    ):
        if names:
            yield cause, confidence, f"`{names[0]}` {what}", reason


def _answer_faults(facts: ResultFacts) -> Iterator[AgentFault]:
    """What is wrong with the answer."""
    poor = [each for each in facts.failed if each.gates and each.judged and each.name not in NOT_OVERALL]
    if poor:
        names = ", ".join(each.name for each in poor)
        yield Cause.POOR_ANSWER, LIKELY, f"below the mark: {names}", poor[0].reason
    # A tool check that does not gate still explains why a criterion is not met.
    yield from _tool_faults(facts, LIKELY)
    for part in facts.failed_parts(CRITERIA):
        alone = facts.passed_rules and not facts.failed_parts(RUBRIC) and facts.outcome is None
        yield Cause.CRITERION_UNMET, POSSIBLE if alone else LIKELY, f"not met: “{part.text}”", part.reason
    if (failed := facts.fails(CHOICE)) is not None:
        if failed.flag:
            yield Cause.NO_CHOICE, LIKELY, "asked to choose, the answer does not name one choice", failed.reason
        if failed.partly:
            yield Cause.PARTLY_RIGHT, CERTAIN, "some of several right choices, not the exact set", failed.reason
        yield Cause.WRONG_CHOICE, CERTAIN, "another choice than the right one", failed.reason
    for part in sorted(facts.failed_parts(WEIGHTED), key=lambda part: not part.penalty):
        cause, what = (Cause.PENALISED, "says") if part.penalty else (Cause.POINTS_MISSED, "misses")
        yield cause, LIKELY, f"{what}: “{part.text}”", part.reason
    if (failed := facts.fails("reference_answer")) is not None:
        yield Cause.NOT_THE_REFERENCE, LIKELY, "the answer differs from the reference", failed.reason
    for each in sorted(facts.failed, key=lambda each: not each.gates):
        yield Cause.BELOW_MARK, LIKELY, f"`{each.name}` is below its mark", each.reason
    yield Cause.BELOW_MARK, POSSIBLE, next(iter(facts.reasons), "the case failed"), ""


RECORDING_BROKE = "the recorded conversation broke"
CHOICE = "choice"
KNOWLEDGE_BASE = Scope.KNOWLEDGE_BASE.value
RETRIEVAL_EVALS = ("RetrievalExplain",)

_EARLIER = re.compile(
    r"\b(?:earlier|previous(?:ly)?|beforehand|as (?:mentioned|said|discussed|agreed|promised)|already (?:gave|"
    r"given|provided|told|mentioned|said|confirmed|shared|verified|collected)|remembers?|recalls?|(?:does not|doesn't|"
    r"without) (?:ask(?:ing)?|repeat(?:ing)?) again|ask(?:s|ing)? again|last time|first message|so far|(?:once|after) "
    r"the (?:user|customer|caller) (?:has |had )?(?:confirm|agree|provid|verif)\w*)",
    re.IGNORECASE,
)


class MetCounts(Struct, frozen=True):
    """How often a criterion or rule was judged in the whole run, and how often it was met."""

    met: int
    judged: int


class RunFacts(Struct, frozen=True, kw_only=True):
    """What only the whole run shows: how often each criterion was met, which criteria failed beside a broken rule,
    which questions all candidates answered alike and wrongly, and which rules are about what the agent lacks."""

    tried: Mapping[str, MetCounts] = field(default_factory=dict)
    beside_a_rule: frozenset[str] = frozenset()
    alike: Mapping[str, int] = field(default_factory=dict)
    lacking_rules: frozenset[str] = frozenset()
    retrievers: frozenset[str] = frozenset()


def find_cause(facts: ResultFacts, run_facts: RunFacts) -> Finding:
    """The finding about one result."""
    blame = next((found for rule in RULES if (found := rule(facts, run_facts)) is not None), None)
    blame = blame or blame_agent(facts)
    return Finding(
        case_id=facts.case_id,
        case_name=facts.case_name,
        candidate=facts.candidate,
        repeat=facts.repeat,
        position=facts.position,
        verdict=facts.verdict,
        party=blame.party,
        cause=blame.cause,
        confidence=blame.confidence,
        why=blame.why,
        evidence=blame.evidence,
    )


def _broken(facts: ResultFacts, _: RunFacts) -> Blame | None:
    """What the run itself attributes to someone other than the agent."""
    if (fault := facts.fault) is None:
        return None
    if recording := next((text for text in facts.failures if text.startswith(RECORDING_BROKE)), ""):
        return Blame(Party.ENVIRONMENT, Cause.NOT_REACHED, CERTAIN, "there is no conversation to grade", recording)
    match fault.party:
        case Party.SIMULATOR:
            return _as_said(fault, Cause.SIMULATOR_SPOILED, LIKELY)
        case Party.ENVIRONMENT if facts.failures:
            return _as_said(fault, Cause.NOT_REACHED, CERTAIN)
        case Party.ENVIRONMENT:
            return _as_said(fault, Cause.TOOL_BROKE, LIKELY)
        case Party.JUDGE:
            return _as_said(fault, Cause.JUDGE_UNREADABLE, CERTAIN)
        case Party.EVALUATION:
            return _as_said(fault, Cause.GRADER_BROKE, LIKELY)
        case _ if facts.verdict is Verdict.ERRORED:
            return _as_said(fault, Cause.AGENT_BROKE, LIKELY)
        case _:
            return None


def _as_said(fault: Fault, cause: Cause, confidence: Confidence) -> Blame:
    return Blame(fault.party, cause, confidence, fault.reason, fault.evidence)


def _violation(facts: ResultFacts, run_facts: RunFacts) -> Blame | None:
    """A broken standing rule is the agent's fault, whatever else is wrong with the case; unless the rule is about what
    the agent searches, or about what it does not have."""
    own = (part for part in facts.failed_parts(RUBRIC) if part.severe and part.id not in run_facts.lacking_rules)
    return blame_agent(facts) if any(part.scope != KNOWLEDGE_BASE for part in own) else None


def _lacking_component(facts: ResultFacts, run_facts: RunFacts) -> Blame | None:
    """The case needs a tool, or every broken rule a component, that the agent does not have."""
    if lacking := facts.tools.lacking:
        named = ", ".join(lacking)
        return Blame(Party.TEST_DESIGN, Cause.TOOL_LACKING, CERTAIN, f"the agent does not have {named}", named)
    rules = [part for part in facts.failed_parts(RUBRIC) if part.severe]
    if rules and not facts.failed_parts(CRITERIA) and all(part.id in run_facts.lacking_rules for part in rules):
        why = f"the rule {rules[0].id} is about a component that the agent does not have"
        return Blame(Party.TEST_DESIGN, Cause.TOOL_LACKING, LIKELY, why, rules[0].reason)
    return None


def _placeholder(facts: ResultFacts, _: RunFacts) -> Blame | None:
    if not facts.placeholder:
        return None
    # Brackets may be meant: `[laughs]`. Braces never are.
    confidence = POSSIBLE if facts.placeholder.startswith("[") else LIKELY
    why = "the user's message holds what looks like a placeholder that nobody filled"
    return Blame(Party.TEST_DESIGN, Cause.PLACEHOLDER, confidence, why, facts.placeholder)


def _empty_answer(facts: ResultFacts, _: RunFacts) -> Blame | None:
    if facts.silence:
        return Blame(Party.AGENT, Cause.EMPTY_ANSWER, CERTAIN, facts.silence)
    if not facts.empty_answer:
        return None
    why = "the answer is empty and no tool was called; whether the agent or its way to us lost it cannot be told"
    return Blame(Party.AGENT, Cause.EMPTY_ANSWER, POSSIBLE, why)


def _key(facts: ResultFacts, run_facts: RunFacts) -> Blame | None:
    """Several candidates give the same answer, and the key says otherwise: the key should be checked."""
    candidates = run_facts.alike.get(facts.case_id, 0)
    failed = facts.fails(CHOICE)
    if failed is None or candidates < 2:
        return None
    why = f"all {candidates} candidates gave the same answer, and it is not the key"
    return Blame(Party.EVALUATION, Cause.KEY_DOUBTFUL, POSSIBLE, why, failed.reason)


def _strict(facts: ResultFacts, run_facts: RunFacts) -> Blame | None:
    """Criteria that fail while every standing rule holds, and that nobody meets, or whose goal was reached all the
    same: too strict. A single attempt proves nothing."""
    unmet = facts.failed_parts(CRITERIA)
    if not unmet or facts.failed_parts(RUBRIC) or not facts.passed_rules:
        return None
    tried = [run_facts.tried.get(part.key, MetCounts(0, 1)) for part in unmet]
    beside_a_rule = any(part.key in run_facts.beside_a_rule for part in unmet)
    if not beside_a_rule and all(each.judged >= 2 and each.met == 0 for each in tried):
        judged = run_facts.tried[unmet[0].key].judged
        why = f"nobody met it in {judged} results, and every rule held in all of them: “{unmet[0].text}”"
        return Blame(Party.EVALUATION, Cause.CRITERIA_STRICT, LIKELY, why, unmet[0].reason)
    if facts.outcome is True:
        why = f"the expected outcome was reached and every rule held, but not: “{unmet[0].text}”"
        return Blame(Party.EVALUATION, Cause.CRITERIA_STRICT, POSSIBLE, why, unmet[0].reason)
    return None


def _earlier_talk(facts: ResultFacts, _: RunFacts) -> Blame | None:
    """A single message without history, and a criterion about something said earlier."""
    if not facts.single_turn:
        return None
    for part in facts.failed_parts(CRITERIA):
        if found := _EARLIER.search(part.text):
            why = f"one message without history, and the criterion needs earlier talk (“{found[0]}”): “{part.text}”"
            return Blame(Party.TEST_DESIGN, Cause.NEEDS_EARLIER_TALK, LIKELY, why, part.reason)
    return None


def _cut_off(facts: ResultFacts, _: RunFacts) -> Blame | None:
    if not facts.cut_off or facts.failed_parts(RUBRIC):
        return None
    why = "the turn limit ended the conversation before its goal was reached"
    return Blame(Party.TEST_DESIGN, Cause.CUT_OFF, POSSIBLE, why, _first(facts))


def _retrieval(facts: ResultFacts, run_facts: RunFacts) -> Blame | None:
    """The search that should have found the answer was not made, was made with wrong arguments, or found nothing."""
    blames = (
        (Cause.SEARCH_MISSING, "was not called", facts.tools.missing),
        (Cause.NOTHING_FOUND, "found nothing", facts.tools.empty),
        (Cause.SEARCH_WRONG, "was called with other arguments than required", facts.tools.wrong),
    )
    for cause, what, names in blames:
        if name := next((each for each in names if searches(each) or each in run_facts.retrievers), ""):
            return Blame(Party.RETRIEVAL, cause, LIKELY, f"the search `{name}` {what}", _first(facts))
    if (poor := facts.fails(*RETRIEVAL_EVALS)) is not None:
        return Blame(Party.RETRIEVAL, Cause.POOR_RETRIEVAL, LIKELY, f"`{poor.name}` is below its mark", poor.reason)
    based = [part for part in facts.failed_parts(RUBRIC) if part.severe and part.scope == KNOWLEDGE_BASE]
    if based and not facts.tools.searched and run_facts.retrievers:
        why = f"{based[0].id} was broken, and the agent searched nothing"
        return Blame(Party.RETRIEVAL, Cause.SEARCH_MISSING, POSSIBLE, why, based[0].reason)
    return None


def _first(facts: ResultFacts) -> str:
    return next(iter(facts.texts), "")


TriageRule = Callable[[ResultFacts, RunFacts], Blame | None]
RULES: tuple[TriageRule, ...] = (
    _broken,
    _violation,
    _lacking_component,
    _placeholder,
    _empty_answer,
    _key,
    _strict,
    _earlier_talk,
    _retrieval,
    _cut_off,
)
"""Where none of these applies, it is the agent."""
