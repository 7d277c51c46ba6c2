"""Who is answerable for a result that did not pass: the rules, in the order in which they are asked. Each is pure and
looks at the facts of one result and at what the whole run says of its criteria and questions; the first that speaks
decides. Something that was broken comes before anything that was judged, since nothing can be judged without it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct, field

from howsure.model.rubric import Scope
from howsure.model.simulation import Fault, Party
from howsure.model.triage import Cause, Confidence, Finding
from howsure.model.verdict import Verdict
from howsure.services.triage.agent_rules import of_the_agent
from howsure.services.triage.blame import Blame
from howsure.services.triage.facts import CRITERIA, RUBRIC, Facts, FailedPart
from howsure.services.triage.searching import searches

CERTAIN, LIKELY, POSSIBLE = Confidence

RECORDING_BROKE = "the recorded conversation broke"
NO_CHOICE = "no choice can be read"
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


class Tried(Struct, frozen=True):
    """How often a criterion or rule was judged in the whole run, and how often it was met."""

    met: int
    judged: int


class Whole(Struct, frozen=True, kw_only=True):
    """What only the whole run tells: how often each criterion was met, which criteria failed beside a broken rule,
    which questions every candidate answered alike and wrongly, and which rules speak of what the agent lacks."""

    tried: Mapping[str, Tried] = field(default_factory=dict)
    beside_a_rule: frozenset[str] = frozenset()
    alike: Mapping[str, int] = field(default_factory=dict)
    lacking_rules: frozenset[str] = frozenset()
    retrievers: frozenset[str] = frozenset()


def ruled(facts: Facts, whole: Whole) -> Finding:
    """What is said of one result."""
    blame = next(said for rule in RULES if (said := rule(facts, whole)) is not None)
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


def _no_choice(facts: Facts, _: Whole) -> Blame | None:
    """An answer from which no choice can be read: the grader is sound, the answer commits to nothing."""
    for name, reason in facts.errors:
        if name == CHOICE and facts.verdict is Verdict.ERRORED and NO_CHOICE in reason:
            return Blame(Party.AGENT, Cause.NO_CHOICE, LIKELY, "asked to choose, the answer names no choice", reason)
    return None


def _broken(facts: Facts, _: Whole) -> Blame | None:
    """Whatever the run itself could attribute to somebody else than the agent."""
    if (blamed := facts.fault) is None:
        return None
    if recording := next((said for said in facts.failures if said.startswith(RECORDING_BROKE)), ""):
        return Blame(Party.ENVIRONMENT, Cause.NOT_REACHED, CERTAIN, "there is no conversation to grade", recording)
    match blamed.party:
        case Party.SIMULATOR:
            return _as_said(blamed, Cause.SIMULATOR_SPOILED, LIKELY)
        case Party.ENVIRONMENT if facts.failures:
            return _as_said(blamed, Cause.NOT_REACHED, CERTAIN)
        case Party.ENVIRONMENT:
            return _as_said(blamed, Cause.TOOL_BROKE, LIKELY)
        case Party.JUDGE:
            return _as_said(blamed, Cause.JUDGE_UNREADABLE, CERTAIN)
        case Party.EVALUATION:
            return _as_said(blamed, Cause.GRADER_BROKE, LIKELY)
        case _ if facts.verdict is Verdict.ERRORED:
            return _as_said(blamed, Cause.AGENT_BROKE, LIKELY)
        case _:
            return None


def _as_said(blamed: Fault, cause: Cause, confidence: Confidence) -> Blame:
    return Blame(blamed.party, cause, confidence, blamed.reason, blamed.evidence)


def _violation(facts: Facts, whole: Whole) -> Blame | None:
    """A standing rule that was broken is the agent's, whatever else is wrong with the case; unless it is about what the
    agent searches, or about what it does not have."""
    own = (part for part in facts.of(RUBRIC) if part.severe and part.id not in whole.lacking_rules)
    return of_the_agent(facts) if any(part.scope != KNOWLEDGE_BASE for part in own) else None


def _lacking(facts: Facts, whole: Whole) -> Blame | None:
    """The case asks for a tool, or every broken rule for a component, that the agent does not have."""
    if lacking := facts.tools.lacking:
        named = ", ".join(lacking)
        return Blame(Party.TEST_DESIGN, Cause.TOOL_LACKING, CERTAIN, f"the agent does not have {named}", named)
    rules = [part for part in facts.of(RUBRIC) if part.severe]
    if rules and not facts.of(CRITERIA) and all(part.id in whole.lacking_rules for part in rules):
        why = f"the rule {rules[0].id} is about a component that the agent does not have"
        return Blame(Party.TEST_DESIGN, Cause.TOOL_LACKING, LIKELY, why, rules[0].reason)
    return None


def _placeholder(facts: Facts, _: Whole) -> Blame | None:
    if not facts.placeholder:
        return None
    # Brackets may be meant: `[laughs]`. Braces never are.
    confidence = POSSIBLE if facts.placeholder.startswith("[") else LIKELY
    why = "the user's message holds what looks like a placeholder that nobody filled"
    return Blame(Party.TEST_DESIGN, Cause.PLACEHOLDER, confidence, why, facts.placeholder)


def _empty_answer(facts: Facts, _: Whole) -> Blame | None:
    if not facts.empty_answer:
        return None
    why = "the answer is empty and no tool was called; whether the agent or its way to us lost it cannot be told"
    return Blame(Party.AGENT, Cause.EMPTY_ANSWER, POSSIBLE, why)


def _key(facts: Facts, whole: Whole) -> Blame | None:
    """Several candidates, one and the same answer, and the key says otherwise: somebody should look at the key."""
    candidates = whole.alike.get(facts.case_id, 0)
    failed = facts.fails(CHOICE)
    if failed is None or candidates < 2:
        return None
    why = f"all {candidates} candidates gave the same answer, and it is not the key"
    return Blame(Party.EVALUATION, Cause.KEY_DOUBTFUL, POSSIBLE, why, failed.reason)


def _strict(facts: Facts, whole: Whole) -> Blame | None:
    """Criteria that fail while every standing rule holds, and that nobody meets, or whose goal was reached all the
    same: too strict. One attempt alone proves nothing."""
    unmet = facts.of(CRITERIA)
    if not unmet or facts.of(RUBRIC) or not facts.passed_rules:
        return None
    if all(_nobody_meets(part, whole) for part in unmet):
        judged = whole.tried[unmet[0].key].judged
        why = f"nobody met it in {judged} results, and every rule held in all of them: “{unmet[0].text}”"
        return Blame(Party.EVALUATION, Cause.CRITERIA_STRICT, LIKELY, why, unmet[0].reason)
    if facts.outcome is True:
        why = f"the expected outcome was reached and every rule held, but not: “{unmet[0].text}”"
        return Blame(Party.EVALUATION, Cause.CRITERIA_STRICT, POSSIBLE, why, unmet[0].reason)
    return None


def _nobody_meets(part: FailedPart, whole: Whole) -> bool:
    tried = whole.tried.get(part.key, Tried(0, 1))
    return tried.judged >= 2 and tried.met == 0 and part.key not in whole.beside_a_rule


def _earlier_talk(facts: Facts, _: Whole) -> Blame | None:
    """A single message cannot bring what was said before it."""
    if not facts.single_turn:
        return None
    for part in facts.of(CRITERIA):
        if found := _EARLIER.search(part.text):
            why = f"one message without history, and the criterion needs earlier talk (“{found[0]}”): “{part.text}”"
            return Blame(Party.TEST_DESIGN, Cause.NEEDS_EARLIER_TALK, LIKELY, why, part.reason)
    return None


def _cut_off(facts: Facts, _: Whole) -> Blame | None:
    if not facts.cut_off or facts.of(RUBRIC):
        return None
    why = "the turn limit ended the conversation before its goal was reached"
    return Blame(Party.TEST_DESIGN, Cause.CUT_OFF, POSSIBLE, why, _first(facts))


def _retrieval(facts: Facts, whole: Whole) -> Blame | None:
    """The search that should have brought the answer was not made, was made with other words, or brought nothing."""
    blames = (
        (Cause.SEARCH_MISSING, "was not called", facts.tools.missing),
        (Cause.NOTHING_FOUND, "found nothing", facts.tools.empty),
        (Cause.SEARCH_WRONG, "was called with other arguments than required", facts.tools.wrong),
    )
    for cause, what, names in blames:
        if name := next((each for each in names if searches(each) or each in whole.retrievers), ""):
            return Blame(Party.RETRIEVAL, cause, LIKELY, f"the search `{name}` {what}", _first(facts))
    if (poor := facts.fails(*RETRIEVAL_EVALS)) is not None:
        return Blame(Party.RETRIEVAL, Cause.POOR_RETRIEVAL, LIKELY, f"`{poor.name}` is below its mark", poor.reason)
    based = [part for part in facts.of(RUBRIC) if part.severe and part.scope == KNOWLEDGE_BASE]
    if based and not facts.tools.searched and whole.retrievers:
        why = f"{based[0].id} was broken, and the agent searched nothing"
        return Blame(Party.RETRIEVAL, Cause.SEARCH_MISSING, POSSIBLE, why, based[0].reason)
    return None


def _first(facts: Facts) -> str:
    return next(iter(facts.texts), "")


def _agent(facts: Facts, _: Whole) -> Blame:
    return of_the_agent(facts)


Rule = Callable[[Facts, Whole], Blame | None]
RULES: tuple[Rule, ...] = (
    _no_choice,
    _broken,
    _violation,
    _lacking,
    _placeholder,
    _empty_answer,
    _key,
    _strict,
    _earlier_talk,
    _retrieval,
    _cut_off,
    _agent,
)
