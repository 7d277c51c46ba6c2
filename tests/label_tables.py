"""The table of labels that simulated people and a simulated judge give."""

from __future__ import annotations

from collections.abc import Iterable

from howsure.stats.rate_correction import LabelTable


def label_table(people: Iterable[bool], judge: Iterable[bool]) -> LabelTable:
    pairs = list(zip(people, judge, strict=True))
    return LabelTable(
        pass_pass=pairs.count((True, True)),
        pass_fail=pairs.count((True, False)),
        fail_pass=pairs.count((False, True)),
        fail_fail=pairs.count((False, False)),
    )
