"""How far people and a judge agree, fast enough for a page: a case's verdicts are counted once into a table of four,
and drawing cases anew only adds tables up. `assay judge calibrate` computes more, and takes its time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random

from msgspec import Struct

from assay.model.trust import Interval
from assay.services.trust.pairing import Outcome, Thing
from assay.stats.bootstrap import quantile
from assay.stats.krippendorff import Level, krippendorff_alpha

Table = tuple[int, int, int, int]
"""People pass and judge pass, people pass and judge fail, people fail and judge pass, people fail and judge fail."""
SEED = 20_240_229
DRAWS = 300
FEWEST_CASES = 5
MOSTLY = 0.9


class Agreement(Struct, frozen=True, kw_only=True):
    """Of verdicts that both gave. `silent` are those of people, passes first, of which the judge could not say."""

    table: Table
    silent: tuple[int, int]
    kappa: float | None
    interval: Interval | None

    @property
    def n(self) -> int:
        return sum(self.table)

    @property
    def agreed(self) -> int:
        return self.table[0] + self.table[3]


class Together(Struct, frozen=True, kw_only=True):
    """What several people said of the same grades: how often all said the same, and Krippendorff's alpha."""

    people: tuple[str, ...]
    things: int
    agreed: int
    alpha: float | None


def agreement(things: Sequence[Thing]) -> Agreement:
    tables: dict[str, Table] = {}
    for thing in things:
        place = _place(thing)
        if place is not None:
            before = tables.get(thing.case_id, (0, 0, 0, 0))
            tables[thing.case_id] = _added([before, _one(place)])
    clusters = list(tables.values())
    total = _added(clusters)
    quiet = [thing.people_passed for thing in things if thing.outcome is Outcome.UNREADABLE]
    return Agreement(
        table=total,
        silent=(quiet.count(True), quiet.count(False)),
        kappa=kappa_of(total),
        interval=_interval(clusters),
    )


def _place(thing: Thing) -> int | None:
    people, judge = thing.people_passed, thing.passed
    if people is None or judge is None:
        return None
    return (0 if people else 2) + (0 if judge else 1)


def _one(place: int) -> Table:
    first, second, third, fourth = (int(place == each) for each in range(4))
    return first, second, third, fourth


def _added(tables: Sequence[Table]) -> Table:
    return (
        sum(each[0] for each in tables),
        sum(each[1] for each in tables),
        sum(each[2] for each in tables),
        sum(each[3] for each in tables),
    )


def kappa_of(table: Table) -> float | None:
    """Cohen's kappa; None where chance alone leaves no room to disagree."""
    both, only_people, only_judge, neither = table
    n = sum(table)
    chance = (both + only_people) * (both + only_judge) + (only_judge + neither) * (only_people + neither)
    return (n * (both + neither) - chance) / (n * n - chance) if n * n != chance else None


def _interval(clusters: Sequence[Table]) -> Interval | None:
    """Of whole cases drawn anew: answers to one case are no independent observations."""
    if len(clusters) < FEWEST_CASES:
        return None
    random = Random(SEED)
    drawn = (kappa_of(_added(random.choices(clusters, k=len(clusters)))) for _ in range(DRAWS))
    known = sorted(value for value in drawn if value is not None)
    if len(known) < MOSTLY * DRAWS:
        return None
    return quantile(known, 0.025), quantile(known, 0.975)


def together(things: Sequence[Thing]) -> Together | None:
    """None where nothing was labelled by two people."""
    several = [thing for thing in things if len(thing.labels) > 1]
    if not several:
        return None
    said: list[list[Hashable | None]] = [[label.value for label in thing.labels] for thing in several]
    return Together(
        people=tuple(dict.fromkeys(label.annotator for thing in several for label in thing.labels)),
        things=len(several),
        agreed=sum(len(set(words)) == 1 for words in said),
        alpha=krippendorff_alpha(said, Level.NOMINAL),
    )
