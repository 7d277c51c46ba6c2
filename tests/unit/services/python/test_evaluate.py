"""`howsure.evaluate` as users call it, with and without a loop, and what can be asked of the run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import howsure
from howsure.errors import ConfigInvalid, DatasetInvalid, InputError, NotFound, PlanRefused, UnknownName
from howsure.kit import Kit
from howsure.model.result import Result
from howsure.model.score import Score
from howsure.model.summary import GateOutcome
from howsure.model.transcript import Transcript
from howsure.targets.base import Reply, Stateless
from unit.services.places import house

SUMS = [
    {"id": "four", "input": "2 + 2?", "expected": "4"},
    {"id": "six", "input": "3 + 3?", "expected": "6"},
]


def adds(text: str) -> str:
    return str(sum(int(part) for part in text.rstrip("?").split("+")))


def always_four(text: str) -> str:
    return "4"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("HOWSURE_DATABASE_URL", "HOWSURE_JUDGE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_three_lines_are_enough() -> None:
    run = howsure.evaluate(SUMS, adds)
    assert run.passed
    assert run.sentence == "All 2 passed; with no more than that, up to about 65.8 % could still fail."
    assert repr(run) == f"<run {run.id[:8]} 'given cases': {run.sentence}>"


def test_several_targets_are_compared_as_candidates() -> None:
    run = howsure.evaluate(SUMS, [adds, always_four])
    first, second = (f"function:{each.__module__}:{each.__qualname__}" for each in (adds, always_four))
    assert {name: counts.passed for name, counts in run.summary.candidates.items()} == {first: 2, second: 1}


def test_a_run_tells_its_numbers_and_results_in_order() -> None:
    run = howsure.evaluate(SUMS, always_four, name="fours")
    assert (run.name, run.passed, run.pass_rate, len(run)) == ("fours", False, 0.5, 2)
    assert [(each.case.id, each.verdict.value) for each in run.results] == [("four", "passed"), ("six", "failed")]
    assert run.results[1].transcript is not None
    assert run.results[1].transcript.answer == "4"
    assert run.summary.graders[0].name == "reference_answer"
    assert bool(run)


async def test_it_works_where_a_loop_runs_already_and_is_awaited_there_too() -> None:
    async def slow(text: str) -> str:
        await asyncio.sleep(0)
        return adds(text)

    beside = howsure.evaluate(SUMS, slow)
    awaited = await howsure.evaluate_async(SUMS, slow)
    assert (beside.passed, awaited.passed) == (True, True)
    assert len(awaited.results) == 2


def test_without_a_target_the_recorded_answers_count() -> None:
    run = howsure.evaluate([{**SUMS[0], "answer": "4"}, {**SUMS[1], "answer": "7"}])
    assert (run.counts.passed, run.counts.failed) == (1, 1)
    assert run.summary.run.pins.request.target == "recorded"


def test_with_a_target_recorded_answers_are_left_alone() -> None:
    assert howsure.evaluate([{**SUMS[0], "answer": "5"}], adds).passed


def test_cases_of_an_earlier_run_can_be_tried_again() -> None:
    first = howsure.evaluate(SUMS, always_four)
    again = howsure.evaluate([each.case for each in first.results if each.verdict.value == "failed"], adds)
    assert (again.counts.passed, again.counts.total) == (1, 1)


def test_a_file_a_spec_and_options_as_on_the_command_line(here: Path) -> None:
    (here / "bot.py").write_text("def answer(text): return 'A'\n", encoding="utf-8")
    run = howsure.evaluate(house(here), "function:bot.py:answer", repeat=2, limit=2, gates="errors <= 0", judge="none")
    assert (run.counts.total, run.passed, run.gates.held) == (4, True, True)
    assert run.summary.run.pins.request.judge == ""


def test_objects_may_be_targets_graders_and_plugins() -> None:
    class Bot:
        async def open(self, case: howsure.Case) -> Stateless:
            return Stateless(lambda text: Reply.saying(adds(text)))

    class Short:
        name = "short"

        def wants(self, case: howsure.Case) -> bool:
            return True

        async def grade(self, case: howsure.Case, transcript: Transcript) -> Sequence[Score]:
            return [Score(name="short", value=float(len(transcript.answer) < 3), pass_mark=1)]

    told: list[str] = []

    def register(kit: Kit) -> None:
        told.append("registered")

    run = howsure.evaluate(SUMS, Bot(), graders=["reference_answer", Short()], plugins=[register])
    assert run.passed
    assert {each.name for each in run.summary.graders} == {"reference_answer", "short"}
    assert told == ["registered"]
    assert run.summary.run.pins.target_text.endswith(".Bot")
    more = howsure.evaluate(SUMS, Bot(), graders=["-reference_answer", Short()])
    assert {each.name for each in more.summary.graders} == {each.name for each in run.summary.graders} - {
        "reference_answer"
    }
    only = howsure.evaluate(SUMS, Bot(), graders="reference_answer")
    assert {each.name for each in only.summary.graders} == {"reference_answer"}


def test_progress_is_told_of_every_result() -> None:
    seen: list[Result] = []
    howsure.evaluate(SUMS, adds, progress=seen.extend)
    assert {each.case.id for each in seen} == {"four", "six"}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"reapeat": 3}, "evaluate takes no reapeat; it takes agent, anchors, batch_criteria,"),
        ({"gates": "pass_rat >= 1"}, "did you mean pass_rate or pass^3?"),
        ({"graders": ["nobody"]}, "unknown grader 'nobody'"),
        ({"repeat": 0}, "`repeat` must be 1 or more"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(options: dict[str, Any], error: str) -> None:
    with pytest.raises(howsure.InputError) as caught:
        howsure.evaluate(SUMS, adds, **options)
    assert error in str(caught.value)
    with pytest.raises(NotFound):
        howsure.load_run()


def test_a_stored_run_is_found_again_also_in_another_database(here: Path) -> None:
    made = howsure.evaluate(SUMS, adds, name="first", database=here / "other.db")
    assert howsure.load_run("first", database=here / "other.db").id == made.id
    with pytest.raises(NotFound):
        howsure.load_run("first")


def test_a_gate_is_true_only_where_it_held() -> None:
    run = howsure.evaluate(SUMS, always_four)
    assert run.gate("errors <= 0")
    ruled = run.gate("pass_rate >= 0.9", "errors <= 0")
    assert (bool(ruled), ruled.outcome) == (False, GateOutcome.INCONCLUSIVE)
    assert repr(ruled).startswith("<gate pass_rate >= 0.9: inconclusive. 50 % passed, over 2 cases;")
    assert "more cases" in ruled.reason
    with pytest.raises(PlanRefused):
        run.gate()


def test_runs_are_compared_and_shown_as_markdown() -> None:
    many = [{"id": f"s{at}", "input": f"{at} + 1?", "expected": str(at + 1)} for at in range(40)]
    before, after = howsure.evaluate(many, always_four, name="fours"), howsure.evaluate(many, adds, name="adds")
    versus = after.compare(before)
    assert versus.sentence.startswith("adds is better than fours: 100.0 % of 40 paired cases passed against 2.5 %")
    assert versus.comparison.pairs[0].verdict.conclusion.value == "better"
    assert repr(versus) == f"<comparison: {versus.sentence}>"
    assert versus._repr_markdown_().startswith("# fours against adds")
    assert after.compare("fours", margin=0.2).sentence == versus.sentence


def test_tables_in_both_libraries() -> None:
    run = howsure.evaluate(SUMS, always_four)
    table = run.to_frame()
    assert type(table).__module__.partition(".")[0] == "pandas"
    assert list(table["verdict"]) == ["passed", "failed"]
    assert list(table["reference_answer"]) == [1.0, 0.0]
    grades = run.to_frame("polars", of="grades")
    assert type(grades).__module__.partition(".")[0] == "polars"
    assert grades["passed"].to_list() == [True, False]
    with pytest.raises(UnknownName):
        run.to_frame("excel")
    with pytest.raises(PlanRefused):
        run.to_frame(of="cases")


def test_reports_are_written(here: Path) -> None:
    run = howsure.evaluate(SUMS, adds)
    assert run.write(here / "run.csv") == [here / "run.csv"]
    assert (here / "run.csv").read_text(encoding="utf-8").count("\n") == 3


def test_importing_howsure_loads_nothing_and_unknown_names_are_told() -> None:
    script = (
        "import sys, howsure; print([m for m in sys.modules if m.startswith('howsure') or m in ('msgspec', 'numpy')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['howsure.version', 'howsure']"
    with pytest.raises(AttributeError, match="module 'howsure' has no attribute 'eval'; it has HowsureError"):
        howsure.eval  # noqa: B018
    assert "evaluate" in dir(howsure)
    assert all(hasattr(howsure, name) for name in howsure.__all__)


def test_settings_of_the_folder_hold(here: Path) -> None:
    (here / "howsure.yaml").write_text("gates: [errors <= 0]\njudge: none\n", encoding="utf-8")
    run = howsure.evaluate(house(here), always_a)
    assert (run.summary.run.pins.request.gates, run.gates.held) == (("errors <= 0",), True)
    (here / "howsure.yaml").write_text("wrong: 1\n", encoding="utf-8")
    with pytest.raises(ConfigInvalid):
        howsure.evaluate(house(here), always_a)


def always_a(text: str) -> str:
    return "A"


def test_refusals_name_what_was_given_and_parameters() -> None:
    with pytest.raises(InputError) as caught:
        howsure.evaluate([{"foo": "x", "bar": 1}])
    assert str(caught.value).startswith("the given cases: not recognised: no column says what the user asks")
    assert 'map={"input": "foo"}' in str(caught.value)
    assert "--" not in str(caught.value)
    with pytest.raises(DatasetInvalid) as invalid:
        howsure.evaluate(
            [{"question": "x", "reference": "y", "id": "1"}, {"question": "z", "reference": "q", "id": "1"}]
        )
    assert str(invalid.value) == "the given cases: 1 problem"
    assert (invalid.value.problems[0].file, invalid.value.problems[0].line) == ("the given cases", 2)
