"""From paired values to differences with a conclusion: for the verdict by itself, and for every grader, rule,
component, tag and slice as one family with adjusted p-values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from howsure.model.comparison import Conclusion, Difference, DifferenceKind
from howsure.model.score import UNIT, Direction, Scale
from howsure.services.compare.pairs import (
    GENERAL,
    Key,
    PairedUnits,
    UnitMeasure,
    grade_means,
    paired_values,
    verdict_means,
)
from howsure.stats.intervals import clip_interval
from howsure.stats.paired_differences import PairedDifference as Found
from howsure.stats.paired_differences import holm, paired_means, paired_rates
from howsure.stats.sample_sizes import is_equal, pairs_to_settle
from howsure.store.run_columns import CasePreview

VERDICT = "verdict"
DIFFICULTY = "difficulty"
SEED = 7


class DifferenceOptions(Struct, frozen=True, kw_only=True):
    """How to test: the margin as a share of a scale, and the cluster of each pair (None: every pair by itself)."""

    margin: float
    confidence: float
    clusters: Sequence[str] | None = None


class ComparedQuantity(Struct, frozen=True, kw_only=True):
    """One quantity to compare, and how it is measured on a side."""

    name: str
    kind: DifferenceKind
    measuring: UnitMeasure
    scale: Scale = UNIT
    direction: Direction = Direction.HIGHER
    among: NDArray[np.bool_] | None = None
    text: str = ""
    is_rate: bool = True


TestedDifference = tuple[Difference, Found | None]
"""A difference before its p-value is adjusted, with the test that it rests on."""


def verdict_difference(aligned: PairedUnits, options: DifferenceOptions) -> Difference:
    verdict = ComparedQuantity(name=VERDICT, kind=DifferenceKind.VERDICT, measuring=verdict_means)
    answered = _answer(aligned, verdict, options)
    return _concluded(answered, answered[0].p_value)


def test_family(
    aligned: PairedUnits, questions: Sequence[ComparedQuantity], options: DifferenceOptions
) -> tuple[Difference, ...]:
    """Compare every quantity, with p-values adjusted over all of them."""
    answers = [_answer(aligned, question, options) for question in questions]
    adjusted = iter(holm([found.p_value for _, found in answers if found is not None]))
    p_values = [None if found is None else next(adjusted) for _, found in answers]
    return tuple(
        replace(_concluded(answer, p_value), adjusted=p_value)
        for answer, p_value in zip(answers, p_values, strict=True)
    )


def compared_quantities(
    aligned: PairedUnits, previews: Sequence[CasePreview], by: Sequence[str], rules: Mapping[str, str]
) -> list[ComparedQuantity]:
    """Graders, rules, components, tags, difficulties and slices, in this order. `rules` are the rules to compare by id,
    with their names; rules that changed are not among them."""
    keys = list(dict.fromkeys((*aligned.first.measured, *aligned.second.measured)))
    return [
        *(_grader(aligned, key) for key in keys if key[1] is None),
        *(
            ComparedQuantity(
                name=id, kind=DifferenceKind.RULE, measuring=partial(grade_means, keys=[key]), text=rules[id]
            )
            for key in keys
            if (id := key[1]) is not None and id in rules
        ),
        *_components(aligned, [key for key in keys if key[1] in rules]),
        *(quantity for label in dict.fromkeys((None, DIFFICULTY, *by)) for quantity in _slices(previews, label)),
    ]


def _grader(aligned: PairedUnits, key: Key) -> ComparedQuantity:
    known = [half.measured[key] for half in (aligned.first, aligned.second) if key in half.measured]
    open_ended = any(each.scale.high is None for each in known)
    scale = Scale(
        min(each.scale.low for each in known), None if open_ended else max(each.scale.high or 0.0 for each in known)
    )
    return ComparedQuantity(
        name=key[0],
        kind=DifferenceKind.GRADER,
        measuring=partial(grade_means, keys=[key]),
        scale=scale,
        direction=known[-1].direction,
        is_rate=scale == UNIT,
    )


def _components(aligned: PairedUnits, keys: Sequence[Key]) -> Iterator[ComparedQuantity]:
    """The rules by the component that they are about, where there is more than one."""
    scopes: dict[str, list[Key]] = {}
    for key in keys:
        known = aligned.first.measured.get(key) or aligned.second.measured[key]
        scopes.setdefault(known.scope or GENERAL, []).append(key)
    if len(scopes) < 2:
        return
    for scope, own in sorted(scopes.items()):
        yield ComparedQuantity(name=scope, kind=DifferenceKind.COMPONENT, measuring=partial(grade_means, keys=own))


def _slices(previews: Sequence[CasePreview], label: str | None) -> Iterator[ComparedQuantity]:
    """The values of a label; without one, the tags. What every case has says nothing that the verdict does not say."""
    places: dict[str, list[int]] = {}
    for place, preview in enumerate(previews):
        labelled = [f"{label}={preview.labels[label]}"] if label in preview.labels else []
        for name in preview.tags if label is None else labelled:
            places.setdefault(name, []).append(place)
    kind = DifferenceKind.TAG if label is None else DifferenceKind.SLICE
    for name, own in sorted(places.items()):
        if len(own) < len(previews):
            among = np.zeros(len(previews), np.bool_)
            among[own] = True
            yield ComparedQuantity(name=name, kind=kind, measuring=verdict_means, among=among)


def _answer(aligned: PairedUnits, question: ComparedQuantity, options: DifferenceOptions) -> TestedDifference:
    both = paired_values(aligned, question.measuring, question.among)
    clusters = None if options.clusters is None else [options.clusters[pair] for pair in both.pairs.tolist()]
    test = paired_rates if question.is_rate else paired_means
    found = test(
        both.before, both.after, clusters, direction=question.direction, confidence=options.confidence, seed=SEED
    )
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
        return plain, None
    scale, interval = question.scale, found.interval
    span = None if scale.high is None else scale.high - scale.low
    difference = replace(
        plain,
        first=found.before,
        second=found.after,
        difference=found.difference,
        interval=interval if interval is None or span is None else clip_interval(interval, (-span, span)),
        p_value=found.p_value,
        method=found.method.value,
        clusters=found.clusters,
        margin=options.margin * (abs(found.before) if span is None else span),
        raised=found.raised,
        lowered=found.lowered,
        same=found.same,
    )
    return difference, found


def _concluded(answered: TestedDifference, p_value: float | None) -> Difference:
    """The difference with its conclusion. `p_value` is the one that counts: adjusted, where the quantity is one of
    many."""
    difference, found = answered
    if found is None or p_value is None:
        return difference
    excluded = found.interval is None or not found.interval[0] <= 0 <= found.interval[1]
    if p_value <= 1 - found.confidence and excluded:
        if found.gain is None:
            return replace(difference, conclusion=Conclusion.DIFFERENT)
        return replace(difference, conclusion=Conclusion.BETTER if found.gain > 0 else Conclusion.WORSE)
    if is_equal(found, difference.margin):
        return replace(difference, conclusion=Conclusion.EQUAL)
    return replace(difference, needed=pairs_to_settle(found, difference.margin))
