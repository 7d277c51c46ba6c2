"""A comparison on a terminal: wide, narrow, without Unicode, with hostile text. A comparison as Markdown and as
JSON."""

from __future__ import annotations

import json
from io import BytesIO, TextIOWrapper

import pytest
from msgspec.structs import replace
from rich.console import Console

from howsure.model.comparison import Comparison, Conclusion, DifferenceKind
from howsure.reports.comparisons import (
    SHOWN_OF_KIND,
    change_line,
    comparison_markdown,
    comparison_report,
    comparison_shape,
    difference_title,
)
from unit.reports.comparisons import FIRST, FLIPS, GRADER, RUBRIC, RULE, TAG, compared, comparison, difference, whole

HOSTILE = "q\x1b[31m[bold]\u202ered"


def printed(made: Comparison, width: int = 120, *, encoding: str = "utf-8") -> str:
    raw = BytesIO()
    file = TextIOWrapper(raw, encoding=encoding, newline="")
    Console(file=file, width=width, highlight=False, color_system=None).print(comparison_report(made))
    file.flush()
    return raw.getvalue().decode(encoding)


def test_it_tells_the_answer_the_flips_and_every_difference() -> None:
    shown = printed(comparison())
    lines = [line.rstrip() for line in shown.splitlines()]
    assert lines[0] == "before  against  after"
    assert lines[1].startswith("after is better than before: 85.0 % of 60 paired cases passed against 70.0 %")
    for expected in (
        "5 cases could not be compared: 2 only on the first side, 3 errored on the second side.",
        "1 and 3 repeats; a case's repeats are averaged.",
        "! The rubric differs: 1 of its rules is not the same.",
        "    rule R2 removed: Be kind",
        "! The judge differs: offline and openai:x: a difference may be the judge's.",
        "1 case got worse",
        "case  first   second  turned with it",
        "q7    passed  failed  choice, Asks for the order",
        "2 cases got better",
        "q2    0 of 3 passed  2 of 3 passed",
        "1 case flaky: the repeats do not agree",
        "q2    after  2 of 3 passed  agent",
        "All but the pass rate allow for 2 questions asked of the same data (Holm).",
    ):
        assert expected in lines, expected
    assert "The target differs" not in shown


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("pass rate", ["60", "70.0", "%", "85.0", "%", "+15.0", "+4.1", "to", "+26.2", "0.012", "better"]),
        ("RelevanceExplain", ["60", "3.5", "3.25", "−0.25", "−0.6", "to", "+0.1", "0.400", "cannot", "tell"]),
        ("tag returns", ["60", "70.0", "%", "85.0", "%", "−30.0", "−50.0", "to", "−10.0", "<0.001", "worse"]),
    ],
)
def test_each_difference_has_its_line(name: str, cells: list[str]) -> None:
    (line,) = [line for line in printed(comparison()).splitlines() if line.startswith(name)]
    assert line.removeprefix(name).split() == cells


def test_a_narrow_terminal_breaks_no_name_and_keeps_p() -> None:
    shown = printed(comparison(), width=70).splitlines()
    place = next(place for place, line in enumerate(shown) if line.startswith("RelevanceExplain"))
    assert shown[place].strip() == "RelevanceExplain"
    assert shown[place + 1].split() == ["60", "3.5", "3.25", "−0.25", "−0.6", "to", "+0.1", "0.400", "cannot", "tell"]


def test_hostile_names_are_shown_and_not_obeyed() -> None:
    flip = replace(FLIPS[0], case_id=HOSTILE, causes=(HOSTILE,))
    shown = printed(comparison(replace(whole(), flips=(flip,), first=replace(FIRST, name=HOSTILE))))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[bold]" in shown


def test_without_unicode_it_is_plain_ascii() -> None:
    shown = printed(comparison(), encoding="ascii")
    assert shown.isascii()
    assert "passed  failed" in shown
    assert "+15.0 points, likely +4.1 to +26.2" in shown


def test_many_slices_are_cut_to_those_that_tell_something() -> None:
    quiet = [difference(Conclusion.EQUAL, name=f"tag{n}", kind=DifferenceKind.TAG, adjusted=1.0) for n in range(40)]
    shown = printed(comparison(compared(differences=(*quiet, TAG))))
    assert "tag returns" in shown
    assert f"and {41 - SHOWN_OF_KIND} more that tell nothing sure (--json shows all)" in shown


def test_questions_without_an_answer_are_named_in_one_line() -> None:
    empty = difference(
        Conclusion.CANNOT_TELL, name="criteria", kind=DifferenceKind.GRADER, pairing=replace(TAG.pairing, paired=0)
    )
    shown = printed(comparison(compared(differences=(GRADER, empty))))
    assert "no value on both sides: criteria" in shown


def test_several_comparisons_follow_each_other_with_what_was_left_out() -> None:
    shown = printed(comparison(whole(), compared(), left_out=("candidate 'x' has no counterpart",)))
    assert shown.count("before  against  after") == 2
    assert "Not compared: candidate 'x' has no counterpart." in shown


def test_the_next_step_can_be_typed_as_it_stands() -> None:
    flip = replace(FLIPS[0], case_id="it's q7")
    shown = printed(comparison(compared(flips=(flip,))))
    assert "howsure show 22222222 'it'\"'\"'s q7'" in shown


def test_titles_say_what_kind_of_thing_it_is() -> None:
    rule = difference(name="R1", kind=DifferenceKind.RULE, text="Be kind")
    slice = difference(name="difficulty=easy", kind=DifferenceKind.SLICE)
    assert [difference_title(each) for each in (difference(), GRADER, rule, TAG, slice)] == [
        "pass rate",
        "RelevanceExplain",
        "rule R1 Be kind",
        "tag returns",
        "difficulty=easy",
    ]
    assert change_line(RULE) == "rule R2 removed: Be kind"
    assert change_line(replace(RULE, case_id="q1", kind="input", id="", text="")) == "input of case q1 removed"


def test_the_document_has_the_flips_before_the_differences() -> None:
    text = comparison_markdown(comparison())
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# before against after",
        "## 1 case got worse",
        "## 2 cases got better",
        "## Differences",
        "## 1 case flaky: the repeats do not agree",
    ]
    assert text.splitlines()[2].startswith("**after is better than before: 85.0 % of 60 paired cases passed")
    assert "> The judge differs: offline and openai:x" in text
    assert "- rule R2 removed: Be kind" in text
    assert "| q7 | passed | failed | choice, Asks for the order |" in text
    assert "| q2 | 0 of 3 passed | 2 of 3 passed |  |" in text
    assert "| pass rate | 60 | 70.0 % | 85.0 % | +15.0 | +4.1 to +26.2 | 0.012 | better |" in text
    assert "| tag returns | 60 | 70.0 % | 85.0 % | −30.0 | −50.0 to −10.0 | &lt;0.001 | worse |" in text
    assert "| q2 | after | 2 of 3 passed | agent |" in text
    assert "\n5 cases could not be compared: 2 only on the first side, 3 errored on the second side.\n" in text
    assert ", paired by case: 60\n- differences up to 5% of a scale count as none\n" in text


def test_foreign_text_cannot_become_markup() -> None:
    evil = "<script>|*x*\n# h\x1b[31m"
    flip = replace(FLIPS[0], case_id=evil, causes=(evil,))
    text = comparison_markdown(comparison(replace(whole(), flips=(flip,), first=replace(FIRST, name=evil))))
    assert "<script>" not in text
    assert "\x1b" not in text
    assert "\n# h" not in text
    assert "&lt;script&gt;\\|\\*x\\*" in text


def test_long_lists_are_cut_and_said_to_be() -> None:
    many = tuple(replace(FLIPS[0], case_id=f"q{n}") for n in range(230))
    rubric = replace(RUBRIC, changes_left_out=12)
    text = comparison_markdown(comparison(compared(flips=many, unlike=(rubric,)), left_out=("that",)))
    assert "\nand 30 more (--json shows all)\n" in text
    assert "- and 12 more (--json shows all)" in text
    assert "Not compared: that." in text


def test_json_has_every_number_and_the_sentence() -> None:
    shape = json.loads(json.dumps(comparison_shape(comparison(cluster="scenario_id", left_out=("x",)))))
    assert {name: shape[name] for name in ("unit", "cluster", "margin", "confidence", "not_compared")} == {
        "unit": "case",
        "cluster": "scenario_id",
        "margin": 0.05,
        "confidence": 0.95,
        "not_compared": ["x"],
    }
    (pair,) = shape["comparisons"]
    assert (pair["conclusion"], pair["alike"]) == ("better", False)
    assert pair["sentence"].startswith("after is better than before")
    assert pair["first"] == {"name": "before", "run_id": FIRST.run_id, "run_name": "before"}
    assert [flip["case_id"] for flip in pair["got_worse"]] == ["q7"]
    assert [flip["case_id"] for flip in pair["got_better"]] == ["q9", "q2"]
    assert pair["got_worse"][0] == {
        "case_id": "q7",
        "first": {"passed": 1, "judged": 1},
        "second": {"passed": 0, "judged": 1},
        "graders": ["choice", "rubric:R1"],
        "causes": ["choice", "Asks for the order"],
        "case_changed": False,
    }
    assert [(each["what"], each["bearing"]) for each in pair["unlike"]] == [
        ("rubric", "forbids"),
        ("judge", "flags"),
        ("target", "expected"),
    ]
    assert pair["unlike"][0]["changes"] == [{"turn": "removed", "kind": "rule", "id": "R2", "text": "Be kind"}]
    assert pair["flaky"] == [{"case_id": "q2", "side": "second", "passed": 2, "judged": 3, "blame": "agent"}]


def test_a_difference_in_json_says_what_it_rests_on() -> None:
    (pair,) = comparison_shape(comparison())["comparisons"]
    assert pair["verdict"] == {
        "name": "verdict",
        "kind": "verdict",
        "text": None,
        "direction": "higher",
        "scale": [0, 1],
        "n": 60,
        "clusters": 60,
        "first": 0.7,
        "second": 0.85,
        "difference": 0.15,
        "interval": [0.041, 0.262],
        "p_value": 0.0117,
        "p_adjusted": None,
        "method": "exact_mcnemar",
        "conclusion": "better",
        "margin": 0.05,
        "needed_cases": None,
        "raised": 11,
        "lowered": 2,
        "same": 47,
        "pairing": {
            "total": 65,
            "paired": 60,
            "only_first": 2,
            "only_second": 0,
            "without_value": 3,
            "why": [{"side": "second", "why": "errored", "count": 3}],
            "changed": 0,
        },
    }
    grader = pair["differences"][0]
    assert (grader["p_adjusted"], grader["needed_cases"], grader["scale"]) == (0.4, 140, [1, 5])
