"""A Comparison: two runs (or two candidates, or two groups of cases in one run) held against each other, pair by pair.
What differs, how sure that is, which cases flipped, and what makes the two sides unlike. stats/ computes,
services/comparison/ measures, reports/ shows."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from howsure.model.noise import Noise
from howsure.model.score import Direction, Scale

Interval = tuple[float, float]


class Kind(Enum):
    """What a difference is a difference of. Tags and slices are the verdicts of some of the cases."""

    VERDICT = "verdict"
    GRADER = "grader"
    RULE = "rule"
    COMPONENT = "component"
    TAG = "tag"
    SLICE = "slice"


class Conclusion(Enum):
    """What may be said of a difference. `DIFFERENT`: it changed, and neither end of its scale is the good one."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    CANNOT_TELL = "cannot_tell"
    DIFFERENT = "different"


class Side(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the two that are compared: a run's candidate, or its cases with one value of a label (`group`). `name` is
    as short as tells it from the other."""

    name: str
    run_id: str
    run_name: str = ""
    candidate: str = ""
    group: str = ""


class Absence(Struct, frozen=True, kw_only=True):
    """So many pairs have no value on a side, and why. `second` False: the first side."""

    second: bool
    why: str
    count: int


class Pairing(Struct, frozen=True, kw_only=True):
    """What became of every case of both sides. total = paired + only_first + only_second + without + changed: those
    that only one side tried, those that both tried and one or both could not judge (`absences` say why; a case may be
    in two), and those that ask or expect something else on the second side."""

    paired: int = 0
    only_first: int = 0
    only_second: int = 0
    without: int = 0
    changed: int = 0
    absences: tuple[Absence, ...] = ()

    @property
    def total(self) -> int:
        return self.paired + self.only_first + self.only_second + self.without + self.changed


class Difference(Struct, frozen=True, kw_only=True):
    """Second less first, over the pairs that both sides have. The means are over those pairs, repeats averaged first.

    `adjusted` is the p-value that allows for the other questions asked of the same data (None: asked alone). `margin`
    is the largest difference that counts as none. `needed` is how many pairs would settle it; None: it is settled, or
    nobody can say. `raised`, `lowered` and `same` count pairs by where their value went.
    """

    name: str
    kind: Kind
    direction: Direction
    scale: Scale
    conclusion: Conclusion
    pairing: Pairing
    first: float | None = None
    second: float | None = None
    difference: float | None = None
    interval: Interval | None = None
    p_value: float | None = None
    adjusted: float | None = None
    method: str = ""
    clusters: int = 0
    margin: float = 0.0
    needed: int | None = None
    raised: int = 0
    lowered: int = 0
    same: int = 0
    text: str = ""

    @property
    def n(self) -> int:
        return self.pairing.paired

    @property
    def reach(self) -> float | None:
        """The largest difference, up or down, that the interval still allows."""
        return None if self.interval is None else max(abs(end) for end in self.interval)


class Tries(Struct, frozen=True):
    """Of the repeats of one case that were decided, so many passed."""

    passed: int
    judged: int

    @property
    def rate(self) -> float:
        return self.passed / self.judged


class Flip(Struct, frozen=True, kw_only=True):
    """A case that passes more often on one side than on the other (with one try each: it passed and failed).

    `case_id` is the first side's case, `other_id` the second's where it is another (groups of one run). `graders` are
    the graders, rules and criteria (`rubric:ID`) that turned with it. `changed`: the case itself is not the same on
    both sides, so nothing is concluded from it.
    """

    case_id: str
    first: Tries
    second: Tries
    other_id: str = ""
    graders: tuple[str, ...] = ()
    changed: bool = False

    @property
    def gained(self) -> bool:
        return self.second.rate > self.first.rate


class What(Enum):
    """What a run pins that another may have otherwise."""

    TEST_SET = "test set"
    RUBRIC = "rubric"
    JUDGE = "judge"
    SIMULATOR = "simulator"
    POLICY = "policy"
    GRADERS = "graders"
    TARGET = "target"


class Bearing(Enum):
    """What an unlikeness means: the parts that changed are not compared, the numbers must be read with it in mind, or
    it is what one wants to compare."""

    FORBIDS = "forbids"
    FLAGS = "flags"
    EXPECTED = "expected"


class Turn(Enum):
    """What became of one part."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One criterion, rule or other part that is not the same. `case_id` is empty for what belongs to no one case."""

    turn: Turn
    kind: str
    id: str = ""
    text: str = ""
    case_id: str = ""


class Unlike(Struct, frozen=True, kw_only=True):
    """One thing that differs between the two sides besides what was to be compared."""

    what: What
    bearing: Bearing
    said: str
    changes: tuple[Change, ...] = ()
    changes_left_out: int = 0


class Blame(Enum):
    """Which part of a case's repeats disagrees: the agent answered differently, the judge saw the same differently."""

    AGENT = "agent"
    JUDGE = "judge"
    BOTH = "both"
    UNKNOWN = "unknown"


class Flaky(Struct, frozen=True, kw_only=True):
    """A case whose repeats do not all come out the same."""

    case_id: str
    second: bool
    tries: Tries
    blame: Blame


class Compared(Struct, frozen=True, kw_only=True):
    """Two sides. `differences` are the family that `adjusted` allows for; the verdict is asked alone. `noise`: where
    cases were repeated and judges asked several times, whose the disagreement is."""

    first: Side
    second: Side
    verdict: Difference
    differences: tuple[Difference, ...] = ()
    flips: tuple[Flip, ...] = ()
    unlike: tuple[Unlike, ...] = ()
    flaky: tuple[Flaky, ...] = ()
    noise: tuple[Noise, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[Unlike, ...]:
        """What must be kept in mind."""
        return tuple(each for each in self.unlike if each.bearing is not Bearing.EXPECTED)


class Comparison(Struct, frozen=True, kw_only=True):
    """Each side against the first. `unit` is what was paired: a case, or what cases of one value of a label are."""

    pairs: tuple[Compared, ...]
    unit: str = "case"
    cluster: str = ""
    margin: float = 0.05
    confidence: float = 0.95
    left_out: tuple[str, ...] = ()
