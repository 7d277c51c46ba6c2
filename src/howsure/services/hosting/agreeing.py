"""How far people and a judge agree, fast enough for a page: a case's verdicts are counted once into a table of four,
and drawing cases anew only adds tables up. `howsure judge calibrate` computes more, and takes its time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from importlib import import_module

from msgspec import Struct

from howsure.model.trust import Interval
from howsure.services.trust.pairing import Outcome, Thing
from howsure.stats.bootstrap import quantile
from howsure.stats.krippendorff import Level, krippendorff_alpha

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


class Placed(Struct, frozen=True):
    """A thing, as far as agreement goes: the place in a table where both gave a verdict; where the judge could not say,
    what people did."""

    case_id: str
    grader: str
    place: int | None
    unheard: bool | None


def placed(things: Sequence[Thing]) -> list[Placed]:
    return [_placed(thing) for thing in things]


def _placed(thing: Thing) -> Placed:
    people, judge = thing.people_passed, thing.passed
    known = people is not None and judge is not None
    place = (0 if people else 2) + (0 if judge else 1) if known else None
    silent = judge is None and people is not None and thing.outcome is Outcome.UNREADABLE
    return Placed(thing.case_id, thing.grader, place, people if silent else None)


def agreement(things: Sequence[Thing]) -> Agreement:
    return agreement_of(placed(things))


def agreement_of(things: Sequence[Placed]) -> Agreement:
    """The same, of things that are looked at in several ways."""
    tables: dict[str, list[int]] = {}
    for thing in things:
        if thing.place is not None:
            tables.setdefault(thing.case_id, [0, 0, 0, 0])[thing.place] += 1
    clusters = [(both, people, judge, neither) for both, people, judge, neither in tables.values()]
    total = _added(clusters)
    quiet = [thing.unheard for thing in things]
    return Agreement(
        table=total,
        silent=(quiet.count(True), quiet.count(False)),
        kappa=kappa_of(total),
        interval=_interval(clusters),
    )


def _added(tables: Sequence[Table]) -> Table:
    both, people, judge, neither = map(sum, zip(*tables, strict=True)) if tables else (0, 0, 0, 0)
    return both, people, judge, neither


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
    # Equal tables are drawn together: how many of each is all that matters.
    alike = Counter(clusters)
    # Loaded by name: whoever never looks at an agreement never waits for it.
    random = import_module("numpy.random").default_rng(SEED)
    shares = [number / len(clusters) for number in alike.values()]
    drawn = random.multinomial(len(clusters), shares, size=DRAWS) @ list(alike)
    known = sorted(value for table in drawn.tolist() if (value := kappa_of(tuple(table))) is not None)
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
