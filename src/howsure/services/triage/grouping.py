"""What results that did not pass have in common besides their cause: rule, criterion, grader, component, tool, tag,
candidate, and reasons that say the same. Each group says how many of how many, who is answerable, and which cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from howsure.model.triage import Finding, Group, GroupKind
from howsure.services.triage.facts import CRITERIA, RUBRIC, WEIGHTED, Facts
from howsure.services.triage.ruling import Tried
from howsure.services.triage.similarity import alike, spokesman
from howsure.stats.intervals import rate_interval

GENERAL = "general"
Key = tuple[GroupKind, str]
SHARED = (GroupKind.TAG, GroupKind.REASON)
"""Kinds of groups that mean nothing with a single result."""
BY_SHARE = (GroupKind.TAG, GroupKind.CANDIDATE)
"""Kinds of groups that results fall into whether they pass or not: a large one need not be a bad one."""
KINDS = list(GroupKind)


class Totals(Struct, frozen=True, kw_only=True):
    """How many results of the whole run, passed ones too, have what a group has in common."""

    tried: Mapping[str, Tried] = field(default_factory=dict)
    graders: Mapping[str, int] = field(default_factory=dict)
    components: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    candidates: Mapping[str, int] = field(default_factory=dict)


def groups(facts: Sequence[Facts], findings: Sequence[Finding], totals: Totals) -> tuple[Group, ...]:
    """Every group of two or more, and the smaller ones that still mean something."""
    members: dict[Key, list[int]] = {}
    of: dict[Key, int | None] = {}
    for place, each in enumerate(facts):
        for key, total in _keys(each, totals):
            members.setdefault(key, []).append(place)
            of[key] = total
    for name, places in _same_reasons(facts):
        members[GroupKind.REASON, name], of[GroupKind.REASON, name] = places, None
    made = [
        _group(key, dict.fromkeys(places), findings, of[key])
        for key, places in members.items()
        if key[0] not in SHARED or len(set(places)) > 1
    ]
    return tuple(sorted(made, key=_rank))


def _rank(group: Group) -> tuple[int, float, int, str]:
    """By kind; tags and candidates by how often they fail, as surely as their number allows; then the largest first."""
    bounds = rate_interval(group.results, group.of) if group.kind in BY_SHARE and group.of else None
    often = bounds[0] if bounds else 0.0
    return KINDS.index(group.kind), -often, -group.results, group.name


def _group(key: Key, places: Mapping[int, None], findings: Sequence[Finding], of: int | None) -> Group:
    kind, name = key
    found = [findings[place] for place in places]
    parties = Counter(each.party.value for each in found)
    cases = tuple(dict.fromkeys(each.case_id for each in found))
    return Group(kind=kind, name=name, results=len(found), of=of, cases=cases, parties=dict(parties.most_common()))


def _keys(facts: Facts, totals: Totals) -> Iterator[tuple[Key, int | None]]:
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


def _same_reasons(facts: Sequence[Facts]) -> Iterator[tuple[str, list[int]]]:
    said = [(place, text) for place, each in enumerate(facts) for text in each.texts]
    texts = [text for _, text in said]
    for group in alike(texts):
        places = list(dict.fromkeys(said[member][0] for member in group))
        if len(places) > 1:
            yield spokesman(texts[member] for member in group), places
