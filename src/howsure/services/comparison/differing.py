"""From paired values to differences with a conclusion: of the verdict, asked alone; and of every grader, rule,
component, tag and slice, as one family whose p-values allow for one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from howsure.model.comparison import Conclusion, Difference, Kind
from howsure.model.score import UNIT, Direction, Scale
from howsure.services.comparison.halves import (
    GENERAL,
    Flags,
    Half,
    Key,
    Means,
    grade_means,
    joined_means,
    verdict_means,
)
from howsure.services.comparison.pairing import Aligned, Measuring, Values, values
from howsure.stats.concluding import is_equal, pairs_to_settle
from howsure.stats.estimates import within
from howsure.stats.intervals import Interval
from howsure.stats.multiplicity import holm
from howsure.stats.paired import Difference as Found
from howsure.stats.paired import paired_means, paired_rates
from howsure.store.queries.columns import Face

VERDICT = "verdict"
DIFFICULTY = "difficulty"
SEED = 7


class Asked(Struct, frozen=True, kw_only=True):
    """How to ask: the margin as a share of a scale, and the cluster of each pair (None: every pair by itself)."""

    margin: float
    confidence: float
    clusters: Sequence[str] | None = None


class Question(Struct, frozen=True, kw_only=True):
    """One thing to compare."""

    name: str
    kind: Kind
    measuring: Measuring
    scale: Scale = UNIT
    direction: Direction = Direction.HIGHER
    among: Flags | None = None
    text: str = ""
    is_rate: bool = True


class Answered(Struct, frozen=True):
    """A difference before the family is known, with what it rests on."""

    difference: Difference
    found: Found | None


def verdict_difference(aligned: Aligned, asked: Asked) -> Difference:
    answered = _answer(aligned, Question(name=VERDICT, kind=Kind.VERDICT, measuring=verdict_means), asked)
    return _concluded(answered, answered.difference.p_value)


def family(aligned: Aligned, questions: Sequence[Question], asked: Asked) -> tuple[Difference, ...]:
    """Every question answered, with p-values adjusted over all of them."""
    answers = [_answer(aligned, question, asked) for question in questions]
    told = [answer for answer in answers if answer.found is not None]
    adjusted = dict(zip(map(id, told), holm([each.found.p_value for each in told if each.found]), strict=True))
    return tuple(
        replace(_concluded(answer, adjusted.get(id(answer))), adjusted=adjusted.get(id(answer))) for answer in answers
    )


def questions_of(aligned: Aligned, seen: Sequence[Face], by: Sequence[str], rules: Mapping[str, str]) -> list[Question]:
    """Graders, rules, components, tags, difficulties and slices, in this order. `rules` are the rules to compare, by
    id, with their names: those that changed are not among them."""
    keys = list(dict.fromkeys((*aligned.first.measured, *aligned.second.measured)))
    return [
        *(_grader(aligned, key) for key in keys if key[1] is None),
        *(
            Question(
                name=str(key[1]), kind=Kind.RULE, measuring=lambda half: grade_means(half, key), text=rules[key[1]]
            )
            for key in keys
            if key[1] is not None and key[1] in rules
        ),
        *_components(aligned, [key for key in keys if key[1] in rules]),
        *_tags(seen),
        *(question for label in dict.fromkeys((DIFFICULTY, *by)) for question in _slices(seen, label)),
    ]


def _grader(aligned: Aligned, key: Key) -> Question:
    known = [half.measured[key] for half in (aligned.first, aligned.second) if key in half.measured]
    open_ended = any(each.scale.high is None for each in known)
    scale = Scale(
        min(each.scale.low for each in known), None if open_ended else max(each.scale.high or 0.0 for each in known)
    )
    return Question(
        name=key[0],
        kind=Kind.GRADER,
        measuring=lambda half: grade_means(half, key),
        scale=scale,
        direction=known[-1].direction,
        is_rate=scale == UNIT,
    )


def _components(aligned: Aligned, keys: Sequence[Key]) -> Iterator[Question]:
    """The rules by the component they speak of, where there is more than one."""
    scopes: dict[str, list[Key]] = {}
    for key in keys:
        known = aligned.first.measured.get(key) or aligned.second.measured[key]
        scopes.setdefault(known.scope or GENERAL, []).append(key)
    if len(scopes) < 2:
        return
    for scope, own in sorted(scopes.items()):
        yield Question(name=scope, kind=Kind.COMPONENT, measuring=_joined(own))


def _joined(keys: Sequence[Key]) -> Measuring:
    def measuring(half: Half) -> Means:
        return joined_means(half, keys)

    return measuring


def _tags(seen: Sequence[Face]) -> Iterator[Question]:
    """A tag that every case has says nothing that the verdict does not say."""
    places: dict[str, list[int]] = {}
    for place, face in enumerate(seen):
        for tag in face.tags:
            places.setdefault(tag, []).append(place)
    for tag, own in sorted(places.items()):
        if len(own) < len(seen):
            yield _slice(tag, Kind.TAG, own, len(seen))


def _slices(seen: Sequence[Face], label: str) -> Iterator[Question]:
    places: dict[str, list[int]] = {}
    for place, face in enumerate(seen):
        if (value := face.labels.get(label)) is not None:
            places.setdefault(value, []).append(place)
    for value, own in sorted(places.items()):
        if len(own) < len(seen):
            yield _slice(f"{label}={value}", Kind.SLICE, own, len(seen))


def _slice(name: str, kind: Kind, places: Sequence[int], total: int) -> Question:
    among = np.zeros(total, np.bool_)
    among[places] = True
    return Question(name=name, kind=kind, measuring=verdict_means, among=among)


def _answer(aligned: Aligned, question: Question, asked: Asked) -> Answered:
    both = values(aligned, question.measuring, question.among)
    found = _found(both, question, asked)
    plain = Difference(
        name=question.name,
        kind=question.kind,
        direction=question.direction,
        scale=question.scale,
        conclusion=Conclusion.CANNOT_TELL,
        pairing=both.pairing,
        text=question.text,
    )
    if found is None:
        return Answered(plain, None)
    return Answered(
        replace(
            plain,
            first=found.before,
            second=found.after,
            difference=found.difference,
            interval=_possible(found.interval, question.scale),
            p_value=found.p_value,
            method=found.method.value,
            clusters=found.clusters,
            margin=asked.margin
            * (abs(found.before) if question.scale.high is None else question.scale.high - question.scale.low),
            raised=found.raised,
            lowered=found.lowered,
            same=found.same,
        ),
        found,
    )


def _found(both: Values, question: Question, asked: Asked) -> Found | None:
    clusters = None if asked.clusters is None else [asked.clusters[pair] for pair in both.pairs.tolist()]
    compare = paired_rates if question.is_rate else paired_means
    return compare(
        both.before, both.after, clusters, direction=question.direction, confidence=asked.confidence, seed=SEED
    )


def _possible(interval: Interval | None, scale: Scale) -> Interval | None:
    """No difference is larger than the scale."""
    if interval is None or scale.high is None:
        return interval
    span = scale.high - scale.low
    return within(interval, (-span, span))


def _concluded(answered: Answered, p_value: float | None) -> Difference:
    """`p_value` is the one that counts: adjusted, where the question is one of many."""
    difference, found = answered.difference, answered.found
    if found is None or p_value is None:
        return difference
    excluded = found.interval is None or not found.interval[0] <= 0 <= found.interval[1]
    if p_value <= 1 - found.confidence and excluded:
        return replace(difference, conclusion=_which_way(found))
    if is_equal(found, difference.margin):
        return replace(difference, conclusion=Conclusion.EQUAL)
    return replace(difference, needed=pairs_to_settle(found, difference.margin))


def _which_way(found: Found) -> Conclusion:
    if found.gain is None:
        return Conclusion.DIFFERENT
    return Conclusion.BETTER if found.gain > 0 else Conclusion.WORSE
