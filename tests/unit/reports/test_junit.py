"""A run as JUnit XML: valid against the shape CI servers share, and read by a real parser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import junitparser
import pytest
import xmlschema
from msgspec.structs import replace

from hostile import hostile_results, hostile_summary
from howsure.model.result import Failure, Result
from howsure.model.run import DatasetPin
from howsure.model.score import Part, Score, Unscored, UnscoredReason
from howsure.model.summary import GateOutcome, GateRuling, Summary
from howsure.model.verdict import Verdict
from howsure.reports.junit import OUTPUT_LENGTH, REPLACED, write_junit
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import a_result, refund_results, stream, summary_of, support_results

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).parents[2] / "data" / "junit.xsd"))


async def written(folder: Path, results: Sequence[Result], summary: Summary | None = None) -> Path:
    path = folder / "results.xml"
    await write_junit(summary or summary_of(results), stream(results), path)
    return path


def read(path: Path) -> tuple[Any, list[Any]]:
    """The suite and its tests, as a parser of others sees them."""
    (suite,) = junitparser.JUnitXml.fromfile(str(path))
    return suite, list(suite)


def properties(test: Any) -> dict[str, str]:
    return {each.name: each.value for found in test.iterchildren(junitparser.Properties) for each in found}


@pytest.mark.parametrize(
    "results",
    [
        refund_results(),
        [*refund_results("v1"), *refund_results("v1", repeat=2), *refund_results("v2")],
        support_results(),
        hostile_results(),
        [],
    ],
    ids=["one candidate", "candidates and repeats", "criteria and rules", "hostile", "nothing"],
)
async def test_it_is_valid_and_every_attempt_is_one_test(results: list[Result], tmp_path: Path) -> None:
    path = await written(tmp_path, results)
    assert [str(error) for error in SCHEMA.iter_errors(str(path))] == []
    suite, tests = read(path)
    assert len(tests) == len(results) == suite.tests


async def test_no_two_attempts_share_a_name(tmp_path: Path) -> None:
    results = [*refund_results("v1"), *refund_results("v1", repeat=2), *refund_results("v2")]
    _, tests = read(await written(tmp_path, results))
    assert len({(test.classname, test.name) for test in tests}) == 36


async def test_the_schema_of_the_test_can_tell_wrong_from_right(tmp_path: Path) -> None:
    text = (await written(tmp_path, refund_results())).read_text("utf-8")
    for wrong in ('tests="-1"', 'tests="many"', 'total="12"'):
        assert not SCHEMA.is_valid(text.replace('tests="12"', wrong))
    assert not SCHEMA.is_valid(text.replace("<failure ", "<skipped ").replace("</failure>", "</skipped>"))


async def test_verdicts_become_what_a_ci_server_knows(tmp_path: Path) -> None:
    suite, tests = read(await written(tmp_path, refund_results()))
    counts = (suite.tests, suite.failures, suite.errors, suite.skipped)
    assert counts == (12, 3, 1, 1)
    kinds = [type(test.result[0]).__name__ if test.result else "passed" for test in tests]
    assert kinds[:3] == ["passed", "passed", "Failure"]
    assert kinds[10:] == ["Error", "Skipped"]
    assert tests[2].result[0].message == "tool_usage_accuracy 0.5 is below 1: refunded outside the 30-day window"
    assert (tests[10].result[0].type, tests[10].result[0].message) == (
        "TargetFailed",
        "target 'recorded': ConnectionError: refused",
    )
    assert tests[11].result[0].message == "needs a judge"


async def test_scores_and_marks_are_properties_and_what_has_no_value_says_why(tmp_path: Path) -> None:
    _, tests = read(await written(tmp_path, refund_results("v1", repeat=2)))
    assert properties(tests[2]) == {
        "verdict": "failed",
        "candidate": "v1",
        "repeat": "2",
        "score.tool_usage_accuracy": "0.5",
        "mark.tool_usage_accuracy": "1",
        "score.response_correctness": "2",
        "score.token_usage": "0.00042",
        "score.latency_metrics": "0.84",
    }
    assert properties(tests[11])["score.response_correctness"] == "no_judge"


async def test_tests_are_named_by_dataset_candidate_case_and_repeat(tmp_path: Path) -> None:
    suite, tests = read(await written(tmp_path, refund_results("v1", repeat=2)))
    assert suite.name == "refund_policy"
    assert (tests[0].classname, tests[0].name) == ("refund_policy.v1", "refund-01 [repeat 2]")
    assert (tests[0].time, suite.time, suite.timestamp) == (0.84, 60.0, "2026-11-15T09:30:00")


async def test_a_run_over_several_files_is_named_by_itself(tmp_path: Path) -> None:
    pins = {"datasets": tuple(DatasetPin(path=f"{name}.json", sha256="a") for name in "ab")}
    suite, _ = read(await written(tmp_path, [], summary_of([], pins=pins)))
    assert suite.name == "support-v1 on refund policy"


async def test_the_suite_tells_of_the_run_and_its_gates(tmp_path: Path) -> None:
    gate = GateRuling(expression="pass_rate >= 0.9", outcome=GateOutcome.FAILED, reason="0.7 is below")
    summary = replace(summary_of(refund_results()), gates=(gate,))
    suite, _ = read(await written(tmp_path, refund_results(), summary))
    told = {each.name: each.value for each in suite.properties()}
    assert told["howsure.gate.pass_rate >= 0.9"] == "failed"
    assert told["howsure.judge"] == "recorded:judge.jsonl"
    assert told["howsure.summary"].startswith("7 of 10 passed (70.0 %")


async def test_a_failure_lists_the_criteria_and_rules_that_do_not_hold(tmp_path: Path) -> None:
    part = Part(id="c1", text="Names the accrual rate")
    missed = Score(name="criteria", value=0.0, pass_mark=1.0, part=part, reason="it does not")
    held = Score(name="criteria", value=1.0, pass_mark=1.0, part=Part(id="c2", text="Is polite"))
    broken = Unscored(
        name="criteria", why=UnscoredReason.ERROR, reason="unreadable", part=Part(id="c3", text="Is short")
    )
    result = a_result(Verdict.FAILED, reasons=("criteria 0.50 < 1.00",), grades=(missed, held, broken))
    _, (test,) = read(await written(tmp_path, [result]))
    assert test.result[0].text == "criteria 0.50 < 1.00\ncriteria (Names the accrual rate): it does not"


async def test_the_output_is_what_was_asked_and_answered_and_has_a_bound(tmp_path: Path) -> None:
    long = a_result(case=a_case(message="q" * 10_000), transcript=a_transcript("a" * 1_000_000))
    _, (test,) = read(await written(tmp_path, [long]))
    out = test.system_out
    assert out.startswith("asked:\nqqq")
    assert "… 6,000 more characters\n\nanswered:\naaa" in out
    assert out.endswith("… 996,000 more characters")
    assert len(out) < 2 * OUTPUT_LENGTH + 100


async def test_what_xml_cannot_hold_is_shown_as_symbols_and_counted(tmp_path: Path) -> None:
    bad = "\x00\x1b[31m\x0b\ufffe\uffff\ud800"
    result = a_result(
        Verdict.ERRORED,
        case=a_case(id=f"id{bad}", message="plain"),
        transcript=a_transcript(bad),
        reasons=("plain",),
        failures=(Failure(kind="TargetFailed", message=bad),),
    )
    path = await written(tmp_path, [result])
    assert SCHEMA.is_valid(str(path))
    _, (test,) = read(path)
    assert test.name == "id␀␛[31m␋\\ufffe\\uffff\\ud800"
    assert test.system_out.endswith("answered:\n␀␛[31m␋\\ufffe\\uffff\\ud800")
    assert properties(test)[REPLACED] == "12"


async def test_text_that_needs_no_change_is_not_said_to_have_changed(tmp_path: Path) -> None:
    _, tests = read(await written(tmp_path, refund_results()))
    assert not any(REPLACED in properties(test) for test in tests)
    assert "Was kostet der Rückversand für 4477? 🚚" in tests[6].system_out


async def test_no_planted_text_becomes_an_element(tmp_path: Path) -> None:
    results = hostile_results()
    path = await written(tmp_path, results, hostile_summary(results))
    assert SCHEMA.is_valid(str(path))
    text = path.read_text("utf-8")
    for planted in ("<script", "<img", "<injected", "<!DOCTYPE", "<!ENTITY", "<![CDATA", "\x1b", "\u202e", "&e;"):
        assert planted not in text
