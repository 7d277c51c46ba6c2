"""How far a judge can be trusted: what calibrations, judge tests and migrations found, as numbers with the count they
rest on and, where one can be computed, their 95 % interval. stats/ computes, services/trust/ measures."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

Interval = tuple[float, float]


class Figure(Struct, frozen=True, kw_only=True):
    """One number. `value` None: it is not defined on these data."""

    value: float | None = None
    interval: Interval | None = None
    n: int = 0


class Coverage(Struct, frozen=True, kw_only=True):
    """What became of every labelled thing. things = compared + unreadable + not_applicable + no_judge + missing + split
    + unmarked, always.

    `unreadable` counts what the judge could not say or what could not be read; `missing` has no grade at all; `split`:
    people are divided in halves; `unmarked`: people said pass or fail where the grade has no pass mark.
    """

    labels: int = 0
    things: int = 0
    compared: int = 0
    unreadable: int = 0
    not_applicable: int = 0
    no_judge: int = 0
    missing: int = 0
    split: int = 0
    unmarked: int = 0


class ClassFigures(Struct, frozen=True, kw_only=True):
    """How well one verdict was recognised."""

    precision: Figure
    recall: Figure
    f1: Figure


class VerdictFigures(Struct, frozen=True, kw_only=True):
    """The judge's pass and fail against people's. `with_silence` counts what the judge could not say as disagreement.
    `confusion` has people's verdict first: `confusion["pass"]["fail"]` people passed and the judge failed."""

    agreement: Figure
    with_silence: Figure
    kappa: Figure
    classes: dict[str, ClassFigures]
    confusion: dict[str, dict[str, int]]


class RatingFigures(Struct, frozen=True, kw_only=True):
    """The judge's numbers against people's. `bias` is the judge's mean less people's. The weighted kappa is quadratic,
    and given for whole numbers on a closed scale only."""

    exact: Figure
    kappa: Figure
    weighted_kappa: Figure
    pearson: Figure
    spearman: Figure
    kendall: Figure
    mae: Figure
    bias: Figure


class RaterFigures(Struct, frozen=True, kw_only=True):
    """Several people: how far they agree among themselves, and with the judge as one more rater. `fleiss` is over the
    things that have as many labels as most have; `alpha` by level of measurement."""

    annotators: tuple[str, ...]
    things: int
    fleiss: Figure
    fleiss_with_judge: Figure
    alpha: dict[str, Figure]
    alpha_with_judge: dict[str, Figure]


class Group(Struct, frozen=True, kw_only=True):
    """The figures of one grader: of its whole-case grades, of all its criteria together, or of one criterion; with
    `where` (`quality_band=poor`) of some cases only."""

    grader: str
    level: str
    criterion: str = ""
    text: str = ""
    where: str = ""
    coverage: Coverage
    verdicts: VerdictFigures | None = None
    ratings: RatingFigures | None = None
    raters: RaterFigures | None = None


class Band(Struct, frozen=True, kw_only=True):
    """The mean grade of the cases with one value of a key."""

    value: str
    mean: Figure
    unscored: int = 0


class Bands(Struct, frozen=True, kw_only=True):
    """One grader's values by the value of a key. Where that has an order, worst first: how far the grades follow it;
    `ordered` is the share of pairs of cases from different bands of which the better one has the higher value (equal
    values count a half)."""

    grader: str
    key: str
    bands: tuple[Band, ...]
    spearman: Figure | None = None
    ordered: Figure | None = None


class JudgePin(Struct, frozen=True, kw_only=True):
    """Which judge: its spec, the hash of what shapes its replies, and of the words it is asked with."""

    spec: str
    sha256: str = ""
    prompts: str = ""
    howsure_version: str = ""


class LabelPin(Struct, frozen=True, kw_only=True):
    """A file of labels as it was."""

    path: str
    sha256: str
    labels: int


class Calibration(Struct, frozen=True, kw_only=True):
    """What was measured about one judge version, on which labels, when."""

    judge: JudgePin
    at: datetime
    run: str = ""
    labels: LabelPin | None = None
    coverage: Coverage = Coverage()
    groups: tuple[Group, ...] = ()
    bands: tuple[Bands, ...] = ()
    format: int = 1


class Flip(Struct, frozen=True, kw_only=True):
    """One verdict that changed."""

    case_id: str
    grader: str
    criterion: str = ""
    candidate: str = ""
    repeat: int = 1
    before: str
    after: str


class Stability(Struct, frozen=True, kw_only=True):
    """What one harmless change did to the verdicts. `not_compared` had no value before or after; `shift` is the mean
    distance of the values, as a share of the scale."""

    name: str
    about: str
    unchanged: Figure
    shift: Figure
    not_compared: int = 0
    not_applied: int = 0
    flips: tuple[Flip, ...] = ()


class AttackOutcome(Struct, frozen=True, kw_only=True):
    """What one attack did to grades that an off-topic answer fails. `success`: the share that it turned to a pass (or
    raised, where there is no pass mark); `unreadable` are no success, and not in it. `cases_passed` are cases whose
    verdict it turned to passed."""

    name: str
    kind: str
    about: str
    success: Figure
    unreadable: int = 0
    cases_passed: int = 0
    flips: tuple[Flip, ...] = ()


class JudgeTest(Struct, frozen=True, kw_only=True):
    """How steady a judge is, and how it stands attacks. `failing` grades of the off-topic answer were attacked;
    `not_failing` were not: they pass even that, or have no value. `attack_success` is over all attacks on all grades;
    the attacks on one grade are not independent, so the interval is that of `turned`: grades that any attack turned."""

    judge: JudgePin
    cases: int
    grades: int
    stability: tuple[Stability, ...] = ()
    attacks: tuple[AttackOutcome, ...] = ()
    failing: int = 0
    not_failing: int = 0
    attack_success: Figure = Figure()
    turned: Figure = Figure()


class Shift(Struct, frozen=True, kw_only=True):
    """What changes for one grader or criterion: `difference` is the new judge's mean less the old one's, over what both
    could say."""

    grader: str
    level: str
    criterion: str = ""
    text: str = ""
    difference: Figure
    same_verdict: Figure
    only_old: int = 0
    only_new: int = 0
    neither: int = 0
    old_agreement: Figure = Figure()
    new_agreement: Figure = Figure()
    flips: tuple[Flip, ...] = ()


class Migration(Struct, frozen=True, kw_only=True):
    """One judge in the place of another, on the same answers and labels. `gain` is the new judge's agreement with
    people less the old one's. `may_replace` None: the labels are too few to tell."""

    old: JudgePin
    new: JudgePin
    old_run: str
    new_run: str
    labels: LabelPin
    old_agreement: Figure
    new_agreement: Figure
    gain: Figure
    may_replace: bool | None
    sentence: str
    old_coverage: Coverage = Coverage()
    new_coverage: Coverage = Coverage()
    shifts: tuple[Shift, ...] = field(default_factory=tuple)
