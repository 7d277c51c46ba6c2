"""Trust on a terminal: eighty columns, ASCII where nothing else can be shown, and nothing foreign obeyed."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from rich.console import Console, RenderableType

from howsure.judges.offline.opinions import MEASURED, NOT_MEASURED, agreement_rows
from howsure.model.calibration import (
    AgreementGroup,
    AttackOutcome,
    Calibration,
    ClassFigures,
    Figure,
    GradeBand,
    GradesByBand,
    JudgeMigration,
    JudgePin,
    JudgeShift,
    JudgeTest,
    LabelCoverage,
    LabelPin,
    RaterFigures,
    RatingFigures,
    Stability,
    VerdictFigures,
    VerdictFlip,
)
from howsure.reports.judge_reports import (
    calibration_line,
    calibration_report,
    figure_percent,
    figure_text,
    judge_test_report,
    measurements_report,
    migration_report,
)
from howsure.reports.leaderboards import odds_factor

RATE = Figure(value=0.849, interval=(0.83, 0.867), n=1480)
KAPPA = Figure(value=0.696, interval=(0.66, 0.731), n=1480)
NONE = Figure(n=3)
PIN = JudgePin(spec="openai:gpt-x", sha256="0123456789abcdef")
EVIL = "\x1b[31mred\u202e [bold]not markup[/bold]"
FLIP = VerdictFlip(case_id=EVIL, grader="criteria", criterion="k", before="fail", after="pass")
VERDICTS = VerdictFigures(
    agreement=RATE,
    with_silence=Figure(value=0.8, interval=(0.78, 0.82), n=1490),
    kappa=KAPPA,
    classes={word: ClassFigures(precision=RATE, recall=NONE, f1=KAPPA) for word in ("pass", "fail")},
    confusion={"pass": {"pass": 800, "fail": 20, "none": 4}, "fail": {"pass": 200, "fail": 460, "none": 6}},
)
RATINGS = RatingFigures(
    exact=RATE, kappa=KAPPA, weighted_kappa=NONE, pearson=KAPPA, spearman=KAPPA, kendall=KAPPA, mae=KAPPA, bias=KAPPA
)
RATERS = RaterFigures(
    annotators=("ann", ""),
    things=12,
    fleiss=KAPPA,
    fleiss_with_judge=NONE,
    alpha={"nominal": KAPPA},
    alpha_with_judge={"nominal": NONE},
)
COVERED = LabelCoverage(labels=1500, things=1490, compared=1480, unreadable=10)


def a_group(**fields: object) -> AgreementGroup:
    given: dict[str, object] = {"grader": "criteria", "level": "criteria", "coverage": COVERED, **fields}
    return AgreementGroup(**given)  # type: ignore[arg-type]


CALIBRATION = Calibration(
    judge=PIN,
    at=datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
    labels=LabelPin(path="labels.jsonl", sha256="f" * 64, labels=1500),
    coverage=COVERED,
    groups=(
        a_group(verdicts=VERDICTS, raters=RATERS),
        a_group(grader="RelevanceExplain", level="case", ratings=RATINGS),
        a_group(grader="RelevanceExplain", level="case", where="poor", ratings=RATINGS),
        *(a_group(level="criterion", criterion=f"k{n}", text=f"{EVIL} {n}", verdicts=VERDICTS) for n in range(25)),
    ),
    bands=(
        GradesByBand(
            grader="RelevanceExplain",
            key="quality_band",
            bands=(GradeBand(value="poor", mean=KAPPA), GradeBand(value="good", mean=NONE, unscored=2)),
            spearman=KAPPA,
            ordered=RATE,
        ),
        GradesByBand(grader="RelevanceExplain", key="topic", bands=(GradeBand(value="x", mean=KAPPA),)),
    ),
)
TEST = JudgeTest(
    judge=PIN,
    cases=3,
    grades=20,
    stability=(Stability(name="verbosity", about="", unchanged=RATE, shift=KAPPA, not_compared=2, flips=(FLIP,)),),
    attacks=(
        AttackOutcome(name="quiet", kind="plea", about="", success=Figure(value=0.0, interval=(0.0, 0.2), n=17)),
        AttackOutcome(name="loud", kind="plea", about="", success=RATE, unreadable=1, flips=(FLIP,) * 12),
    ),
    failing=17,
    not_failing=3,
    attack_success=RATE,
    turned=RATE,
)
MIGRATION = JudgeMigration(
    old=PIN,
    new=PIN,
    old_run="a",
    new_run="b",
    labels=LabelPin(path="l", sha256="0", labels=3),
    old_agreement=RATE,
    new_agreement=RATE,
    gain=KAPPA,
    may_replace=False,
    sentence="The new judge may not replace the old one.",
    old_coverage=COVERED,
    new_coverage=COVERED,
    shifts=(
        JudgeShift(grader="criteria", level="criteria", difference=KAPPA, same_verdict=RATE, flips=(FLIP,)),
        *(
            JudgeShift(
                grader="criteria", level="criterion", criterion=str(n), text=EVIL, difference=NONE, same_verdict=RATE
            )
            for n in range(25)
        ),
    ),
)
SHOWN: dict[str, RenderableType] = {
    "calibration": calibration_report(CALIBRATION),
    "about": calibration_line(CALIBRATION, None),
    "measured": measurements_report(agreement_rows(MEASURED), NOT_MEASURED),
    "test": judge_test_report(TEST),
    "migration": migration_report(MIGRATION),
}


def printed(what: RenderableType, *, encoding: str = "utf-8", width: int = 80) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    Console(file=stream, width=width, highlight=False, legacy_windows=False).print(what)
    stream.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_everything_fits_eighty_columns_in_any_encoding(name: str, encoding: str) -> None:
    text = printed(SHOWN[name], encoding=encoding)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        (RATE, "84.9 % [83–87] n 1,480"),
        (Figure(value=1.0, n=2), "100.0 % n 2"),
        (NONE, "–"),
    ],
)
def test_a_rate_has_its_interval_and_count(figure: Figure, said: str) -> None:
    assert figure_percent(figure) == said


def test_a_number_has_its_interval_and_a_missing_one_is_a_dash() -> None:
    assert figure_text(KAPPA) == "0.696 [0.66–0.73]"
    assert figure_text(NONE) == "–"


def test_coverage_comes_before_any_figure() -> None:
    text = printed(SHOWN["calibration"])
    covered = "covered 1,490 labelled grades = 1,480 compared + 10 cannot tell or unreadable"
    assert covered in text
    assert text.index(covered) < text.index("agreement with people")
    assert "silence counted as disagreement  80.0 % [78–82] n 1,490" in text
    assert "2 people" in text
    assert "ann, unnamed" in text
    assert "and 5 more (--json shows all)" in text
    assert "no order that is known" in text


def test_markup_in_foreign_text_is_shown_and_not_obeyed() -> None:
    assert "[bold]not" in printed(SHOWN["calibration"], width=200)


def test_the_worst_attack_comes_first_and_flips_are_named() -> None:
    text = printed(SHOWN["test"])
    assert text.index("loud") < text.index("quiet")
    assert "fail -> pass" in text
    assert "and 2 more (--json shows all)" in text
    assert "3 more grades pass the off-topic answer itself" in text


def test_where_nothing_fails_no_success_is_claimed() -> None:
    unbeaten = JudgeTest(judge=PIN, cases=1, grades=1)
    assert "there is nothing that an attack could turn" in printed(judge_test_report(unbeaten), width=200)


def test_a_migration_begins_with_its_answer() -> None:
    text = printed(SHOWN["migration"])
    assert text.startswith("The new judge may not replace the old one.")
    assert "--json shows every criterion" in text


@pytest.mark.parametrize(
    ("current", "said"), [(True, "this version"), (False, "another version of it"), (None, "version not known")]
)
def test_the_history_says_whether_it_is_about_this_version(current: bool | None, said: str) -> None:
    text = printed(calibration_line(CALIBRATION, current), width=120)
    assert f"2026-03-01 12:30 UTC  {said}  labels.jsonl" in text
    assert "ordered 84.9 %" in text


def test_precision_recall_and_f1_have_intervals_and_an_undefined_kappa_says_why() -> None:
    shown = printed(SHOWN["calibration"])
    assert any(line.split() == ["pass:", "precision", "0.849", "[0.83–0.87]"] for line in shown.splitlines())
    assert shown.count("  F1 ") == 2
    one_verdict = a_group(verdicts=replace(VERDICTS, kappa=NONE))
    text = printed(calibration_report(replace(CALIBRATION, groups=(one_verdict,))))
    assert "undefined: both always say the same" in text


@pytest.mark.parametrize(
    ("effect", "said"), [(0.0, "1.00"), (-7.0, "0.00091"), (-2.0, "0.14"), (8.0, "2,981"), (40.0, "2.4e+17")]
)
def test_odds_keep_their_digits(effect: float, said: str) -> None:
    assert odds_factor(effect) == said
