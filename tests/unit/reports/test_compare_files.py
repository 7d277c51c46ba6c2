"""A comparison as Markdown and as JSON."""

from __future__ import annotations

import json

from msgspec.structs import replace

from howsure.reports.comparison_report import comparison_markdown
from howsure.reports.comparisons import comparison_shape
from unit.reports.comparisons import FIRST, FLIPS, RUBRIC, compared, comparison, whole


def test_the_document_has_the_flips_before_the_differences() -> None:
    text = comparison_markdown(comparison())
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# before against after",
        "## 1 case got worse",
        "## 2 cases got better",
        "## Differences",
        "## 1 flaky case",
    ]
    assert text.splitlines()[2].startswith("**after is better than before: 85.0 % of 60 paired cases passed")
    assert "> The judge differs: offline and openai:x" in text
    assert "- rule R2 removed: Be kind" in text
    assert "| q7 | passed | failed | choice, rubric:R1 |" in text
    assert "| q2 | 0 of 3 passed | 2 of 3 passed |  |" in text
    assert "| pass rate | 60 | 70.0 % | 85.0 % | +15.0 points | +4.1 to +26.2 | 0.012 | better |" in text
    assert "| tag returns | 60 | 70.0 % | 85.0 % | −30.0 points | −50.0 to −10.0 | &lt;0.001 | worse |" in text
    assert "| q2 | after | 2 of 3 passed | agent |" in text
    assert "- 5 cases could not be compared: 2 only on the first side, 3 errored on the second side" in text


def test_foreign_text_cannot_become_markup() -> None:
    evil = "<script>|*x*\n# h\x1b[31m"
    flip = replace(FLIPS[0], case_id=evil, graders=(evil,))
    text = comparison_markdown(comparison(replace(whole(), flips=(flip,), first=replace(FIRST, name=evil))))
    assert "<script>" not in text
    assert "\x1b" not in text
    assert "\n# h" not in text
    assert "&lt;script&gt;\\|\\*x\\*" in text


def test_long_lists_are_cut_and_said_to_be() -> None:
    many = tuple(replace(FLIPS[0], case_id=f"q{n}") for n in range(230))
    rubric = replace(RUBRIC, changes_left_out=12)
    text = comparison_markdown(comparison(compared(flips=many, unlike=(rubric,)), left_out=("that",)))
    assert "30 more are not shown here; a `.json` file has all." in text
    assert "- and 12 more" in text
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
    assert [flip["case_id"] for flip in pair["got_better"]] == ["q2", "q9"]
    assert pair["got_worse"][0] == {
        "case_id": "q7",
        "first": {"passed": 1, "judged": 1},
        "second": {"passed": 0, "judged": 1},
        "graders": ["choice", "rubric:R1"],
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
