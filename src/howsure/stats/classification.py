"""Verdicts against the truth: the confusion matrix, and precision, recall and F1 of each class and over all of them.
None where nothing was said or nothing was true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import fsum
from typing import Any, TypeVar

from msgspec import Struct

K = TypeVar("K", bound=Hashable)


class ClassReport(Struct, frozen=True, kw_only=True):
    """How one class was recognised. `support` is how often it was true, `said` how often it was said."""

    label: Any
    correct: int
    said: int
    support: int

    @property
    def precision(self) -> float | None:
        return self.correct / self.said if self.said else None

    @property
    def recall(self) -> float | None:
        return self.correct / self.support if self.support else None

    @property
    def f1(self) -> float | None:
        """None only for a class that is neither true nor said anywhere; one that is never right has 0."""
        total = self.said + self.support
        return 2 * self.correct / total if total else None


class Classification(Struct, frozen=True, kw_only=True):
    """Every class, and the means over the classes that have a value."""

    classes: tuple[ClassReport, ...]
    n: int

    @property
    def accuracy(self) -> float | None:
        return sum(each.correct for each in self.classes) / self.n if self.n else None

    @property
    def macro_precision(self) -> float | None:
        return _mean([each.precision for each in self.classes])

    @property
    def macro_recall(self) -> float | None:
        return _mean([each.recall for each in self.classes])

    @property
    def macro_f1(self) -> float | None:
        return _mean([each.f1 for each in self.classes])


def confusion(truth: Sequence[K], said: Sequence[K]) -> Mapping[tuple[K, K], int]:
    """How often each truth met each verdict: `(truth, said) → count`; pairs that never met are absent."""
    return dict(Counter(zip(truth, said, strict=True)))


def confusion_table(truth: Sequence[K], said: Sequence[K], labels: Sequence[K]) -> list[list[int]]:
    """The same as a table: one line for each truth, one column for each verdict, in the order of `labels`."""
    met = confusion(truth, said)
    _refuse_strange(met, labels)
    return [[met.get((one, other), 0) for other in labels] for one in labels]


def classification(truth: Sequence[K], said: Sequence[K], labels: Sequence[K] | None = None) -> Classification:
    """One report for each label (without `labels`: each that is true or said somewhere, truths first)."""
    met = confusion(truth, said)
    true, spoken = Counter(truth), Counter(said)
    known = list(dict.fromkeys((*truth, *said) if labels is None else labels))
    _refuse_strange(met, known)
    reports = tuple(
        ClassReport(label=label, correct=met.get((label, label), 0), said=spoken[label], support=true[label])
        for label in known
    )
    return Classification(classes=reports, n=len(truth))


def _refuse_strange(met: Mapping[tuple[K, K], int], labels: Sequence[K]) -> None:
    if strange := [label for pair in met for label in pair if label not in labels]:
        raise ValueError(f"{strange[0]!r} is none of the labels {list(labels)}")


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None
