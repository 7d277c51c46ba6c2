"""How far a judge can be trusted: the results of calibrations, judge tests and judge migrations. Every number has the
count it is based on and, if it can be computed, its 95 % interval. stats/ computes, services/judge/ measures."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

from howsure.model.score import Interval


class Figure(Struct, frozen=True, kw_only=True):
    """One number. `value` None: it is undefined for these data."""

    value: float | None = None
    interval: Interval | None = None
    n: int = 0


class LabelCoverage(Struct, frozen=True, kw_only=True):
    """How many labelled grades were compared, and why the others were not. things = compared + unreadable +
    not_applicable + no_judge + missing + split + unmarked, always.

    `unreadable`: the judge gave no ruling, or one that could not be read. `missing`: there is no grade. `split`: as
    many people say pass as fail. `unmarked`: people say pass or fail and the grade has no pass mark. `kinds`: of the
    unreadable ones, what the judge's replies were instead, by the flag of their result.
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
    kinds: dict[str, int] = field(default_factory=dict)


class ClassFigures(Struct, frozen=True, kw_only=True):
    """How well the judge recognizes one verdict."""

    precision: Figure
    recall: Figure
    f1: Figure


class VerdictFigures(Struct, frozen=True, kw_only=True):
    """The verdicts of the judge against those of people. `with_silence` counts a missing ruling as disagreement.
    `confusion` has the verdict of people first: `confusion["pass"]["fail"]` counts what people passed and the judge
    failed."""

    agreement: Figure
    with_silence: Figure
    kappa: Figure
    classes: dict[str, ClassFigures]
    confusion: dict[str, dict[str, int]]

    @property
    def agreed(self) -> int:
        return self.confusion["pass"]["pass"] + self.confusion["fail"]["fail"]


class RatingFigures(Struct, frozen=True, kw_only=True):
    """The numbers of the judge against those of people. `bias` is the mean of the judge minus that of people. The
    weighted kappa is quadratic, and there is one for whole numbers on a closed scale only."""

    exact: Figure
    kappa: Figure
    weighted_kappa: Figure
    pearson: Figure
    spearman: Figure
    kendall: Figure
    mae: Figure
    bias: Figure


class RaterFigures(Struct, frozen=True, kw_only=True):
    """How far several people agree among themselves, and with the judge as one more rater. `fleiss` covers the grades
    with the most common number of labels; `alpha` is by level of measurement."""

    annotators: tuple[str, ...]
    things: int
    fleiss: Figure
    fleiss_with_judge: Figure
    alpha: dict[str, Figure]
    alpha_with_judge: dict[str, Figure]


class AgreementGroup(Struct, frozen=True, kw_only=True):
    """The figures of one grader: for whole cases, for all its criteria together, or for one criterion. `where` (such as
    `quality_band=poor`) limits them to some cases."""

    grader: str
    level: str
    criterion: str = ""
    text: str = ""
    where: str = ""
    coverage: LabelCoverage
    verdicts: VerdictFigures | None = None
    ratings: RatingFigures | None = None
    raters: RaterFigures | None = None


class GradeBand(Struct, frozen=True, kw_only=True):
    """The mean grade of the cases with one value of a label."""

    value: str
    mean: Figure
    unscored: int = 0


class GradesByBand(Struct, frozen=True, kw_only=True):
    """The values of one grader by the value of a label (`key`). If the label has an order (worst first), `spearman` and
    `ordered` say how far the grades follow it. `ordered` is the share of pairs of cases from different bands in which
    the better case has the higher value (equal values count half)."""

    grader: str
    key: str
    bands: tuple[GradeBand, ...]
    spearman: Figure | None = None
    ordered: Figure | None = None


class JudgePin(Struct, frozen=True, kw_only=True):
    """A judge version: its spec, the hash of its settings, and the hash of its prompts; of a recording, the judges
    whose replies it holds."""

    spec: str
    sha256: str = ""
    prompts: str = ""
    howsure_version: str = ""
    recorded: tuple[str, ...] = ()


class LabelPin(Struct, frozen=True, kw_only=True):
    """A file of labels as it was."""

    path: str
    sha256: str
    labels: int


class PeopleVerdict(Struct, frozen=True, kw_only=True):
    """People's verdict on one judged grade, beside the judge's. `drawn`: how likely the answer was to be drawn for
    labelling (only ratios matter); None: unknown."""

    case_id: str
    candidate: str
    repeat: int
    grader: str
    criterion: str
    passed: bool
    judge: bool
    drawn: float | None = None


class Calibration(Struct, frozen=True, kw_only=True):
    """The figures of one judge, with the labels and the time."""

    judge: JudgePin
    at: datetime
    run: str = ""
    labels: LabelPin | None = None
    coverage: LabelCoverage = LabelCoverage()
    groups: tuple[AgreementGroup, ...] = ()
    bands: tuple[GradesByBand, ...] = ()
    verdicts: tuple[PeopleVerdict, ...] = ()
    format: int = 1


class VerdictFlip(Struct, frozen=True, kw_only=True):
    """One verdict that changed."""

    case_id: str
    grader: str
    criterion: str = ""
    candidate: str = ""
    repeat: int = 1
    before: str
    after: str


class Stability(Struct, frozen=True, kw_only=True):
    """What one harmless change did to the verdicts. `not_compared` counts grades without a value before or after;
    `shift` is the mean distance of the values, as a share of the scale."""

    name: str
    about: str
    unchanged: Figure
    shift: Figure
    not_compared: int = 0
    not_applied: int = 0
    flips: tuple[VerdictFlip, ...] = ()


class AttackOutcome(Struct, frozen=True, kw_only=True):
    """What one attack did to the grades that an off-topic answer fails. `success`: the share that it turned to a pass
    (or raised, if there is no pass mark), not counting `unreadable` ones. `cases_passed` counts the cases whose verdict
    became passed."""

    name: str
    kind: str
    about: str
    success: Figure
    unreadable: int = 0
    cases_passed: int = 0
    flips: tuple[VerdictFlip, ...] = ()


class JudgeTest(Struct, frozen=True, kw_only=True):
    """How steady a judge is, and how it resists attacks. Only the grades that fail an off-topic answer are attacked
    (`failing`); the others pass even that or have no value (`not_failing`). `attack_success` is over all attacks on all
    grades. The attacks on one grade are not independent, so the interval is that of `turned`, the share of grades that
    any attack turned."""

    judge: JudgePin
    cases: int
    grades: int
    stability: tuple[Stability, ...] = ()
    attacks: tuple[AttackOutcome, ...] = ()
    failing: int = 0
    not_failing: int = 0
    attack_success: Figure = Figure()
    turned: Figure = Figure()


class JudgeShift(Struct, frozen=True, kw_only=True):
    """What changes for one grader or criterion. `difference` is the mean of the new judge minus that of the old one,
    over the grades that both gave."""

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
    flips: tuple[VerdictFlip, ...] = ()


class JudgeMigration(Struct, frozen=True, kw_only=True):
    """A new judge compared with an old one, on the same answers and labels. `gain` is the agreement of the new judge
    with people minus that of the old one. The new judge may replace the old one if it is surely not worse by more than
    `margin`; `may_replace` None: that cannot be told."""

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
    margin: float = 0.05
    old_coverage: LabelCoverage = LabelCoverage()
    new_coverage: LabelCoverage = LabelCoverage()
    shifts: tuple[JudgeShift, ...] = field(default_factory=tuple)
