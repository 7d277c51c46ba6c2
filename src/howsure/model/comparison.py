"""A Comparison: two runs (or two candidates, or two groups of cases in one run) compared pair by pair. It holds what
differs, how sure that is, which cases flipped, what else differs between the two sides, where the noise comes from, and
how many cases a comparison needs (`howsure plan`). stats/ computes, services/compare/ measures, reports/ shows."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from howsure.model.score import Direction, Interval, Scale


class VarianceEstimate(Struct, frozen=True):
    """A variance, in the square of the unit of the grader, with its interval (None: too few cases)."""

    value: float
    interval: Interval | None = None


class VarianceComponents(Struct, frozen=True, kw_only=True):
    """How much the values of one grader vary on one side: between cases, between tries of a case (the agent) and
    between judgements of a try (the judge). `tries` and `judgements` are totals. Each check of a rule or criterion
    counts as a case."""

    grader: str
    second: bool
    cases: int
    tries: int
    judgements: int
    between_cases: VarianceEstimate | None
    agent: VarianceEstimate
    judge: VarianceEstimate

    @property
    def judge_share(self) -> float | None:
        """The share of the judge in the noise within a case; None if there is no noise."""
        noise = self.agent.value + self.judge.value
        return self.judge.value / noise if noise else None


class DifferenceKind(Enum):
    """What a difference is about. Tags and slices are the verdicts of some of the cases."""

    VERDICT = "verdict"
    GRADER = "grader"
    RULE = "rule"
    COMPONENT = "component"
    TAG = "tag"
    SLICE = "slice"


class Conclusion(Enum):
    """What a difference shows. `DIFFERENT`: it changed, and neither end of its scale is the good one."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    CANNOT_TELL = "cannot_tell"
    DIFFERENT = "different"


class Side(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the two sides: a candidate of a run, or the cases of a run with one value of a label (`group`). `name` is
    as short as possible while it differs from the other."""

    name: str
    run_id: str
    run_name: str = ""
    candidate: str = ""
    group: str = ""


class MissingValues(Struct, frozen=True, kw_only=True):
    """How many pairs have no value on a side, and why. `second` False: the first side."""

    second: bool
    why: str
    count: int


class PairCounts(Struct, frozen=True, kw_only=True):
    """What became of every case of both sides. total = paired + only_first + only_second + without + changed, always.
    `only_…`: only one side tried it. `without`: both tried it and at least one has no value (`absences` say why; a case
    may be in two). `changed`: it asks or expects something else on the second side."""

    paired: int = 0
    only_first: int = 0
    only_second: int = 0
    without: int = 0
    changed: int = 0
    absences: tuple[MissingValues, ...] = ()

    @property
    def total(self) -> int:
        return self.paired + self.only_first + self.only_second + self.without + self.changed


class Difference(Struct, frozen=True, kw_only=True):
    """Second minus first, over the pairs that both sides have. Repeats of a case are averaged first.

    `adjusted` is the p-value corrected for the other questions asked of the same data (None: asked alone). `margin` is
    the largest difference that counts as none. `needed` is how many pairs would settle it (None: it is settled, or that
    is unknown). `raised`, `lowered` and `same` count pairs by how their value changed.
    """

    name: str
    kind: DifferenceKind
    direction: Direction
    scale: Scale
    conclusion: Conclusion
    pairing: PairCounts
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


class TryCounts(Struct, frozen=True):
    """How many of the judged repeats of a case passed."""

    passed: int
    judged: int

    @property
    def rate(self) -> float:
        return self.passed / self.judged


class CaseFlip(Struct, frozen=True, kw_only=True):
    """A case that passed on one side only; with repeats, in over half of its tries more on one side than on the other.

    `case_id` is the case of the first side, `other_id` that of the second if it differs (groups of one run). `graders`
    are the graders, rules and criteria (`rubric:ID`) that flipped with it, `causes` the same in words. `question` is
    how the case begins, known for the first of each kind. `changed`: the case itself is not the same on both sides, so
    nothing is concluded from it.
    """

    case_id: str
    first: TryCounts
    second: TryCounts
    other_id: str = ""
    graders: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    question: str = ""
    changed: bool = False

    @property
    def gained(self) -> bool:
        return self.second.rate > self.first.rate


class PinKind(Enum):
    """What a run pins that may differ between two runs."""

    TEST_SET = "test set"
    RUBRIC = "rubric"
    JUDGE = "judge"
    SIMULATOR = "simulator"
    POLICY = "policy"
    GRADERS = "graders"
    TARGET = "target"


class MismatchEffect(Enum):
    """What a mismatch means. `forbids`: the parts that changed are not compared. `flags`: the numbers must be read with
    it in mind. `expected`: it is what the user wants to compare."""

    FORBIDS = "forbids"
    FLAGS = "flags"
    EXPECTED = "expected"


class ChangeKind(Enum):
    """How one part changed."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class PartChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One criterion, rule or other part that changed. `case_id` is empty if it does not belong to a single case."""

    turn: ChangeKind
    kind: str
    id: str = ""
    text: str = ""
    case_id: str = ""


class Mismatch(Struct, frozen=True, kw_only=True):
    """One pinned thing that differs between the two sides."""

    what: PinKind
    bearing: MismatchEffect
    said: str
    changes: tuple[PartChange, ...] = ()
    changes_left_out: int = 0


class FlakinessSource(Enum):
    """Why the repeats of a case disagree: the agent answered differently, the judge ruled differently, or both."""

    AGENT = "agent"
    JUDGE = "judge"
    BOTH = "both"
    UNKNOWN = "unknown"


class FlakyCase(Struct, frozen=True, kw_only=True):
    """A case whose repeats do not all have the same verdict."""

    case_id: str
    second: bool
    tries: TryCounts
    blame: FlakinessSource


class PairComparison(Struct, frozen=True, kw_only=True):
    """The comparison of two sides. `adjusted` p-values correct for the family of `differences`; the verdict stands
    alone. `noise` says where disagreement comes from, if cases were repeated and judges asked several times."""

    first: Side
    second: Side
    verdict: Difference
    differences: tuple[Difference, ...] = ()
    flips: tuple[CaseFlip, ...] = ()
    unlike: tuple[Mismatch, ...] = ()
    flaky: tuple[FlakyCase, ...] = ()
    noise: tuple[VarianceComponents, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> Difference | None:
        """The slice to name first if the whole shows no difference: the clearest one that is worse, else better."""
        if self.verdict.conclusion not in (Conclusion.CANNOT_TELL, Conclusion.EQUAL):
            return None
        slices = [each for each in self.differences if each.kind in (DifferenceKind.TAG, DifferenceKind.SLICE)]
        for conclusion in (Conclusion.WORSE, Conclusion.BETTER):
            if own := [each for each in slices if each.conclusion is conclusion]:
                return min(own, key=lambda each: (1.0 if each.adjusted is None else each.adjusted, -each.n))
        return None

    @property
    def flags(self) -> tuple[Mismatch, ...]:
        """The mismatches that a reader must keep in mind."""
        return tuple(each for each in self.unlike if each.bearing is not MismatchEffect.EXPECTED)


class Comparison(Struct, frozen=True, kw_only=True):
    """Each side compared with the first. `unit` is what was paired: a case, or the cases with one value of a label."""

    pairs: tuple[PairComparison, ...]
    unit: str = "case"
    cluster: str = ""
    margin: float = 0.05
    confidence: float = 0.95
    left_out: tuple[str, ...] = ()


class SampleSize(Struct, frozen=True, kw_only=True):
    """The number of cases needed with this number of repeats. None: not even ten million would be enough."""

    repeats: int
    cases: int | None

    @property
    def attempts(self) -> int | None:
        return None if self.cases is None else self.cases * self.repeats


class SampleSizePlan(Struct, frozen=True, kw_only=True):
    """How many cases a comparison needs: the input, what was taken from a run or assumed, and the sizes. `discordance`
    is the share of cases on which two paired runs differ; `correlation` is how alike two tries of one case are.
    `detectable` is the smallest difference that the cases of that run would show."""

    difference: float
    rate: float
    power: float
    paired: bool
    correlation: float
    sizes: tuple[SampleSize, ...]
    discordance: float | None = None
    run: str = ""
    cases: int | None = None
    repeats: int = 1
    detectable: float | None = None
    assumed: tuple[str, ...] = ()
