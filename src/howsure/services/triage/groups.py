"""Groups of results that did not pass: by cause, with advice on each; by what they share (rule, criterion, grader,
component, tool, tag, candidate); by reasons that say the same; and the divergences, where a case's own criteria and the
agent's standing rules disagree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil

from msgspec import Struct, field

from howsure.model.simulation import Party
from howsure.model.triage import (
    PRIORITY,
    Cause,
    CauseGroup,
    Confidence,
    Divergence,
    DivergenceKind,
    Finding,
    GroupKind,
    TriageGroup,
)
from howsure.model.verdict import Verdict
from howsure.services.triage.facts import CRITERIA, RUBRIC, WEIGHTED, ResultFacts
from howsure.services.triage.rules import MetCounts
from howsure.stats.intervals import rate_interval

ALIKE = 0.5
"""Two texts are alike when they share at least this part of all their words (Jaccard)."""
BUSY = 20
"""Leaders that a text is compared with for one word that they share."""
MOST_WORDS = 60
"""Words of one text that are looked at."""

WordSet = frozenset[str]

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMBER = re.compile(r"\d+")
_COMMON = frozenset(
    _WORD.findall(
        "a an and are as at be been but by can could did do does for from had has have in into is it its of on or so"
        " that the their them there these they this to was were which while who will with would attempt"
    )
)


def telling_words(text: str) -> WordSet:
    """The words that carry meaning; all numbers count as one."""
    words = (_NUMBER.sub("#", word.lower()) for word in _WORD.findall(text))
    telling = frozenset(word for word in words if word not in _COMMON and (len(word) > 1 or word == "#"))
    return telling or frozenset((text.strip().lower(),))


def group_similar(texts: Sequence[str]) -> list[list[int]]:
    """The indices of texts that are alike, by group: the largest first, then by first index. Every text is in one
    group. A text is a set of words. The first of its kind leads a group, and a later text joins the leader that it is
    most like, so that no chain of small steps joins unlike texts."""
    places: dict[WordSet, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(telling_words(text), []).append(place)
    groups: dict[WordSet, list[int]] = {}
    for kind, leader in _led(places):
        groups.setdefault(leader, []).extend(places[kind])
    return sorted((sorted(group) for group in groups.values()), key=lambda group: (-len(group), group[0]))


def _led(kinds: Iterable[WordSet]) -> Iterator[tuple[WordSet, WordSet]]:
    """Every kind of text with the leader of its group, which may be itself. A text is compared only with leaders that
    share one of its rarest words (prefix filtering), so ten thousand reasons take seconds."""
    kinds = tuple(kinds)
    known = Counter(word for kind in kinds for word in kind)
    leaders: dict[str, list[WordSet]] = {}
    for kind in kinds:
        rarest = sorted(kind, key=lambda word: (known[word], word))[:MOST_WORDS]
        # Two sets that share half of their words share at least one word of each other's prefix.
        prefix = rarest[: len(rarest) - ceil(ALIKE * len(rarest)) + 1]
        leader = _nearest(kind, (near for word in prefix for near in leaders.get(word, ())))
        if leader is None:
            leader = kind
            for word in prefix:
                if len(same := leaders.setdefault(word, [])) < BUSY:
                    same.append(kind)
        yield kind, leader


def _nearest(kind: WordSet, leaders: Iterable[WordSet]) -> WordSet | None:
    best, nearest = 0.0, None
    size = len(kind)
    for leader in leaders:
        # Sets of very different sizes cannot share half of their words.
        if not ALIKE <= size / len(leader) <= 1 / ALIKE:
            continue
        shared = len(kind & leader)
        share = shared / (size + len(leader) - shared)
        if share >= ALIKE and share > best:
            best, nearest = share, leader
    return nearest


def representative(texts: Iterable[str]) -> str:
    """The text that stands for a group: the most frequent one, and the shortest of these."""
    counted = Counter(texts)
    return min(counted, key=lambda text: (-counted[text], len(text), text))


GENERAL = "general"
Key = tuple[GroupKind, str]
SHARED = (GroupKind.TAG, GroupKind.REASON)
"""Kinds of groups that mean nothing with a single result."""
BY_SHARE = (GroupKind.TAG, GroupKind.CANDIDATE)
"""Kinds of groups that results belong to whether they pass or not: a large one need not be a bad one."""
KINDS = list(GroupKind)


class RunTotals(Struct, frozen=True, kw_only=True):
    """How many results of the whole run, including passed ones, have what a group shares."""

    tried: Mapping[str, MetCounts] = field(default_factory=dict)
    graders: Mapping[str, int] = field(default_factory=dict)
    components: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    candidates: Mapping[str, int] = field(default_factory=dict)


def group_results(
    facts: Sequence[ResultFacts], findings: Sequence[Finding], totals: RunTotals
) -> tuple[TriageGroup, ...]:
    """Every group of two or more results, and the smaller ones that still mean something."""
    members: dict[Key, list[int]] = {}
    of: dict[Key, int | None] = {}
    for place, each in enumerate(facts):
        for key, total in _keys(each, totals):
            members.setdefault(key, []).append(place)
            of[key] = total
    reasons = [(place, text) for place, each in enumerate(facts) for text in each.texts]
    for alike in group_similar([text for _, text in reasons]):
        places = list(dict.fromkeys(reasons[member][0] for member in alike))
        if len(places) > 1:
            key = GroupKind.REASON, representative(reasons[member][1] for member in alike)
            members[key], of[key] = places, None
    made = [
        _group(key, dict.fromkeys(places), findings, of[key])
        for key, places in members.items()
        if key[0] not in SHARED or len(set(places)) > 1
    ]
    return tuple(sorted(made, key=_rank))


def _rank(group: TriageGroup) -> tuple[int, float, int, str]:
    """By kind; tags and candidates by the lower bound of their failure rate; then the largest first."""
    bounds = rate_interval(group.results, group.of) if group.kind in BY_SHARE and group.of else None
    often = bounds[0] if bounds else 0.0
    return KINDS.index(group.kind), -often, -group.results, group.name


def _group(key: Key, places: Mapping[int, None], findings: Sequence[Finding], of: int | None) -> TriageGroup:
    kind, name = key
    found = [findings[place] for place in places]
    parties = Counter(each.party.value for each in found)
    cases = tuple(dict.fromkeys(each.case_id for each in found))
    return TriageGroup(
        kind=kind, name=name, results=len(found), of=of, cases=cases, parties=dict(parties.most_common())
    )


def _keys(facts: ResultFacts, totals: RunTotals) -> Iterator[tuple[Key, int | None]]:
    for part in facts.parts:
        tried = totals.tried.get(part.key)
        of = tried.judged if tried else None
        if part.grader == RUBRIC:
            yield (GroupKind.RULE, f"{part.id}: {part.text}"), of
            scope = part.scope or GENERAL
            yield (GroupKind.COMPONENT, scope), totals.components.get(scope)
        elif part.grader in (CRITERIA, WEIGHTED):
            yield (GroupKind.CRITERION, part.text), of
    for failed in facts.failed:
        yield (GroupKind.GRADER, failed.name), totals.graders.get(failed.name)
    for name in dict.fromkeys(name for name, _ in facts.errors):
        yield (GroupKind.GRADER, name), totals.graders.get(name)
    for name in facts.tools.named:
        yield (GroupKind.TOOL, name), None
    for tag in facts.labels:
        if tag in totals.tags:
            yield (GroupKind.TAG, tag), totals.tags[tag]
    if len(totals.candidates) > 1:
        yield (GroupKind.CANDIDATE, facts.candidate), totals.candidates.get(facts.candidate)


CAUSE_TEXTS: dict[Cause, tuple[str, str]] = {
    Cause.SIMULATOR_SPOILED: (
        "The simulated user spoiled the conversation",
        "Mend persona, facts or plan, or play it again.",
    ),
    Cause.NOT_REACHED: (
        "The conversation broke or was lost",
        "Mend the connection, the provider's answer or the recording, then try it again.",
    ),
    Cause.TOOL_BROKE: ("A tool did not work", "Mend the tool or its test double, then run the cases again."),
    Cause.AGENT_BROKE: ("The agent broke", "Mend the agent's program, then `howsure retry`."),
    Cause.JUDGE_UNREADABLE: ("The judge could not be read", "Try the judge again, or take another one."),
    Cause.GRADER_BROKE: ("A grader broke", "Mend the grader or what the case gives it."),
    Cause.NO_CHOICE: ("The answer names no choice", "Tell the agent to name one choice, and what to do in doubt."),
    Cause.TOOL_LACKING: ("The case needs what the agent does not have", "Give the agent the tool, or change the case."),
    Cause.PLACEHOLDER: ("The user's message holds a placeholder", "Write what a user would say."),
    Cause.EMPTY_ANSWER: ("The answer is empty", "Look at the way to the agent first, then at the agent."),
    Cause.KEY_DOUBTFUL: ("Everybody disagrees with the key", "Check the key of the question."),
    Cause.CRITERIA_STRICT: ("Criteria look too strict", "Say what is really needed, or move it to a rule."),
    Cause.NEEDS_EARLIER_TALK: ("One message, but earlier talk is needed", "Add history, or make it a scenario."),
    Cause.CUT_OFF: ("The turn limit came first", "Allow about one and a half turns for each step."),
    Cause.NOTHING_FOUND: ("The search found nothing", "Look at the index, its contents and how it is asked."),
    Cause.SEARCH_MISSING: ("The search was not made", "Tell the agent when to search; check that the tool is offered."),
    Cause.SEARCH_WRONG: ("The search was made with the wrong words", "Say how to fill the search's arguments."),
    Cause.POOR_RETRIEVAL: ("What was found does not fit the question", "Look at ranking, chunks and filters."),
    Cause.CONTRACT_BROKEN: ("The answer has the wrong shape", "Hold the agent's output to its schema."),
    Cause.WRONG_AGENT: ("The wrong agent took over", "Mend the routing: who takes what."),
    Cause.TOOL_NOT_CALLED: ("A required tool was not called", "Say in the prompt when the tool must be called."),
    Cause.WRONG_ARGUMENTS: ("A tool was called with wrong arguments", "Describe the tool's arguments better."),
    Cause.FORBIDDEN_TOOL: ("A tool was called that ought not to be", "Say when the tool must not be called."),
    Cause.WRONG_STATE: ("The final state is wrong", "Find out who writes the variable, and from what."),
    Cause.WRONG_PATH: ("The conversation took another path", "Compare the steps with the expected ones."),
    Cause.RULE_BROKEN: ("A standing rule was broken", "Say it in the prompt; if the rule does not apply, narrow it."),
    Cause.POOR_ANSWER: ("The answer is poor as a whole", "Read the answers side by side and change the prompt."),
    Cause.CRITERION_UNMET: ("A criterion was not met", "Read the reasons; change the prompt, or the criterion."),
    Cause.PARTLY_RIGHT: ("Some of several right choices", "Ask for each option to be weighed by itself."),
    Cause.WRONG_CHOICE: ("Another choice than the right one", "Look for what the wrong choices share."),
    Cause.PENALISED: ("Says what costs points", "Find where the wrong statements come from."),
    Cause.POINTS_MISSED: ("Misses required points", "List the points that are missed most."),
    Cause.NOT_THE_REFERENCE: ("Differs from the reference answer", "Read answer and reference side by side."),
    Cause.BELOW_MARK: ("Below the mark", "Read the reasons."),
}


def cause_groups(findings: Sequence[Finding]) -> tuple[CauseGroup, ...]:
    """Every finding in one group: the most urgent first, then the largest."""
    sorted_out: dict[tuple[Party, Cause], list[Finding]] = {}
    for finding in findings:
        sorted_out.setdefault((finding.party, finding.cause), []).append(finding)
    made = []
    for (party, cause), own in sorted_out.items():
        title, advice = CAUSE_TEXTS[cause]
        sure = Counter(finding.confidence for finding in own)
        made.append(
            CauseGroup(
                cause=cause,
                party=party,
                priority=PRIORITY[party],
                title=title,
                advice=advice,
                confidence={word.value: sure[word] for word in Confidence if sure[word]},
                results=tuple(finding.result for finding in own),
                cases=tuple(dict.fromkeys(finding.case_id for finding in own)),
            )
        )
    causes = list(Cause)
    return tuple(sorted(made, key=lambda group: (group.priority.value, -len(group.results), causes.index(group.cause))))


def divergences(facts: Sequence[ResultFacts], findings: Sequence[Finding]) -> tuple[Divergence, ...]:
    """Criteria that fail while all rules hold, then the reverse."""
    diverging: list[Divergence] = []
    for each, finding in zip(facts, findings, strict=True):
        if each.verdict is not Verdict.FAILED:
            continue
        unmet, broken = each.failed_parts(CRITERIA), each.failed_parts(RUBRIC)
        judged = not any(name in (CRITERIA, RUBRIC) for name, _ in each.errors)
        if unmet and not broken and each.passed_rules:
            split, passed = DivergenceKind.CRITERIA_FAIL, each.passed_rules
            failed = tuple(part.text for part in unmet)
        elif broken and not unmet and each.passed_criteria and judged:
            split, passed = DivergenceKind.RUBRIC_FAIL, each.passed_criteria
            failed = tuple(f"{part.id}: {part.text}" for part in broken)
        else:
            continue
        diverging.append(
            Divergence(
                split=split,
                case_id=finding.case_id,
                case_name=finding.case_name,
                candidate=finding.candidate,
                repeat=finding.repeat,
                party=finding.party,
                failed=failed,
                passed=passed,
            )
        )
    splits = list(DivergenceKind)
    return tuple(sorted(diverging, key=lambda each: splits.index(each.split)))
