"""The figures that the judge states about itself, in the code and in the docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.judges.offline.judge import OfflineJudge
from howsure.judges.offline.opinions import MEASURED, NOT_MEASURED, AgreementKind, MeasuredAgreement, agreement_rows

DOCS = Path(__file__).parents[4] / "docs" / "offline-judge.md"


def test_it_says_about_itself_what_was_measured() -> None:
    assert OfflineJudge().about() == MEASURED
    assert len({(each.what, each.data) for each in MEASURED}) == len(MEASURED)


@pytest.mark.parametrize("figure", MEASURED, ids=lambda each: f"{each.what}, {each.data}")
def test_the_docs_quote_every_figure(figure: MeasuredAgreement) -> None:
    quoted = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if f"{figure.value:.3f}" in line]
    assert any(f"{figure.decided:,} of {figure.n:,}" in line for line in quoted), "the docs quote another figure"


@pytest.mark.parametrize("figure", MEASURED, ids=lambda each: f"{each.what}, {each.data}")
def test_no_figure_is_impossible(figure: MeasuredAgreement) -> None:
    assert 0 < figure.decided <= figure.n
    assert -1 <= figure.value <= 1


def test_the_docs_give_the_command_beside_the_figures() -> None:
    assert "`python -m bench.offline_agreement`" in DOCS.read_text(encoding="utf-8")


def test_what_was_not_measured_is_named() -> None:
    assert [line.split(":")[0] for line in NOT_MEASURED] == [
        "criteria about tone, reasoning or conduct, rubric rules and expected outcomes",
        "ToolCallAccuracyExplain and the golden world's judged evals",
        "EmpathyExplain",
    ]


def test_a_figure_as_a_line_to_print() -> None:
    figure = MeasuredAgreement(what="x", data="y", kind=AgreementKind.CORRELATION, n=1200, decided=1100, value=0.3)
    assert agreement_rows((figure,)) == [("x", "y", "1,100 of 1,200", "0.300", AgreementKind.CORRELATION.value)]
