"""The pytest plug-in in sessions of its own: what a case means for its test, marks, thresholds, and one run in the
store, also where several workers make it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

# numpy cannot be loaded twice, and pytester forgets what a session inside this one has loaded.
import howsure.services.gate.rulings as _  # noqa: F401
from house import lines, mcq
from howsure.services.python.evaluate import load_run

pytest_plugins = ["pytester"]

INSTALLED = any(point.value == "howsure.pytest_plugin" for point in entry_points(group="pytest11"))
PLUGIN = [] if INSTALLED else ["-p", "howsure.pytest_plugin"]
# Plug-ins of other packages are not what is tested here, and each session would load them anew.
OTHERS = "-p no:anyio -p no:hypothesispytest -p no:platformdirs -p no:schemathesis"
SETTINGS = f"[pytest]\nasyncio_default_fixture_loop_scope = function\naddopts = {OTHERS}\n"
BOT = """
def bot(text):
    if "3" in text:
        raise ConnectionError("refused")
    return "B" if "2" in text else "A"
"""
PLAIN = f"""
import pytest
{BOT}
@pytest.mark.howsure_dataset("cases.jsonl", target=bot)
def test_support():
    pass
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with four questions: the bot passes the first and fourth, fails the second, and breaks at the third."""
    for name in ("HOWSURE_DATABASE_URL", "HOWSURE_JUDGE", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    pytester.makeini(SETTINGS)
    lines(pytester.path / "cases.jsonl", *(mcq(number) for number in range(1, 5)))
    return pytester


def session(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    return project.runpytest_inprocess(*PLUGIN, "-p", "no:xdist", *words)


def stored(name: str = "latest") -> dict[str, list[str]]:
    """The verdicts of a run, by case, as the store has them."""
    found: dict[str, list[str]] = {}
    for result in load_run(name).results:
        found.setdefault(result.case.id, []).append(result.verdict.value)
    return found


def test_each_case_is_a_test_called_by_its_id(project: pytest.Pytester) -> None:
    project.makepyfile(PLAIN)
    done = session(project, "-v")
    done.assert_outcomes(passed=2, failed=1, errors=1)
    done.stdout.fnmatch_lines(["*::test_support[[]q1[]] PASSED*", "*::test_support[[]q2[]] FAILED*"])
    assert done.ret == 1


def test_a_failed_case_says_what_was_asked_said_and_why(project: pytest.Pytester) -> None:
    project.makepyfile(PLAIN)
    done = session(project)
    done.stdout.fnmatch_lines(
        ["case q2 failed", "asked: Question 2?", "said:  B", "why: *chose B; correct is A", "more:  howsure show * q2"]
    )
    done.stdout.fnmatch_lines(["*ERROR at setup of test_support[[]q3[]]*"])
    done.stdout.fnmatch_lines(["why: *ConnectionError: refused*"])
    assert "Traceback" not in done.stdout.str()
    sections = done.stdout.str().partition("short test summary info")[0]
    assert (done.ret, sections.count("case q2 failed")) == (1, 1)


def test_the_run_is_in_the_store_and_one_line_tells_of_it(project: pytest.Pytester) -> None:
    project.makepyfile(PLAIN)
    done = session(project)
    run = load_run()
    assert stored() == {"q1": ["passed"], "q2": ["failed"], "q3": ["errored"], "q4": ["passed"]}
    assert (run.name, run.summary.run.state.value, run.counts.pending) == ("test_support", "completed", 0)
    done.stdout.fnmatch_lines([f"howsure: test_support: 2 of 3 passed (66.7 %*howsure show {run.id[:8]}"])
    assert sum(line.startswith("howsure: ") for line in done.outlines) == 1


def test_fixtures_give_the_case_and_what_came_of_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        def bot(text): return "A"

        @pytest.mark.howsure_dataset("cases.jsonl", target=bot)
        def test_answers(howsure_case, howsure_result):
            assert howsure_case.id.startswith("q")
            assert howsure_result.answer == "A" and howsure_result.passed
            assert howsure_result.result.grades[0].name == "choice"
            assert howsure_case.id != "q4", "an assert of the test's own"
        """
    )
    done = session(project)
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(["*an assert of the test's own*"])
    assert stored()["q4"] == ["passed"]


def test_the_agent_may_come_from_a_fixture_new_for_every_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        made = []

        class Bot:
            def __init__(self): made.append(self)
            async def __call__(self, text): return "A"

        @pytest.fixture
        def howsure_target():
            return Bot()

        @pytest.mark.howsure_dataset("cases.jsonl")
        def test_support(): pass

        def test_each_had_its_own():
            assert len(made) == 4
        """
    )
    session(project).assert_outcomes(passed=5)
    assert stored("test_support") == {f"q{number}": ["passed"] for number in range(1, 5)}


def test_repeats_are_conversations_and_one_that_fails_fails_the_case(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        asked = []

        def moody(text):
            asked.append(text)
            return "A" if asked.count(text) < 3 else "B"

        @pytest.mark.howsure_repeat(3)
        @pytest.mark.howsure_dataset("cases.jsonl", target=moody, limit=1)
        def test_support(howsure_result):
            assert len(howsure_result.results) == 3
        """
    )
    done = session(project)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["case q1 failed (2 of 3 attempts passed)"])
    assert sorted(stored()["q1"]) == ["failed", "passed", "passed"]


@pytest.mark.parametrize(
    ("threshold", "wrong", "outcomes", "code"),
    [
        ("0.5", 2, {"passed": 39, "xfailed": 2}, 0),
        ("0.9", 30, {"passed": 10, "xfailed": 30, "failed": 1}, 1),
        ("0.9", 4, {"passed": 36, "xfailed": 4, "failed": 1}, 1),
        ("0.9, inconclusive='skip'", 4, {"passed": 36, "xfailed": 4, "skipped": 1}, 0),
    ],
    ids=["held", "failed", "inconclusive", "inconclusive but allowed"],
)
def test_a_threshold_holds_the_whole_dataset_by_its_interval(
    project: pytest.Pytester, threshold: str, wrong: int, outcomes: dict[str, int], code: int
) -> None:
    lines(project.path / "cases.jsonl", *(mcq(number) for number in range(1, 41)))
    project.makepyfile(
        f"""
        import pytest
        def bot(text):
            return "B" if int(text.split()[1][:-1]) <= {wrong} else "A"

        @pytest.mark.howsure_threshold({threshold})
        @pytest.mark.howsure_dataset("cases.jsonl", target=bot)
        def test_support(): pass
        """
    )
    done = session(project)
    done.assert_outcomes(**outcomes)
    assert done.ret == code
    assert load_run().summary.run.pins.request.gates == ("pass_rate >= " + threshold.partition(",")[0],)


def test_a_gate_is_a_test_in_the_terminal_and_in_junit(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        @pytest.mark.howsure_gate("errors <= 0", "pass_rate >= 0.99")
        @pytest.mark.howsure_dataset("cases.jsonl", target=lambda text: "B")
        def test_support(): pass
        """
    )
    done = session(project, "--junitxml=out.xml")
    done.assert_outcomes(xfailed=4, passed=1, failed=1)
    done.stdout.fnmatch_lines(["pass_rate >= 0.99: failed", "0 % passed, over 4 cases*"])
    cases = ElementTree.parse(project.path / "out.xml").getroot().iter("testcase")
    told = {case.attrib["name"]: [child.tag for child in case] for case in cases}
    assert told["test_support[errors <= 0]"] == []
    assert told["test_support[pass_rate >= 0.99]"] == ["failure"]


def test_a_part_of_a_dataset_is_held_to_nothing(project: pytest.Pytester) -> None:
    project.makepyfile(PLAIN.replace("target=bot", "target=bot, threshold=0.9"))
    done = session(project, "-k", "q1", "-rs")
    done.assert_outcomes(passed=1, skipped=1, deselected=3)
    done.stdout.fnmatch_lines(["*not decided: 3 cases were not selected"])
    assert load_run().counts.total == 1


def test_a_session_that_stops_early_leaves_an_interrupted_run(project: pytest.Pytester) -> None:
    project.makepyfile(PLAIN.replace("target=bot", "target=bot, threshold=0.9"))
    session(project, "-x", "-k", "not q2 and not q4")
    run = load_run()
    assert (run.counts.total, run.counts.pending, run.summary.run.state.value) == (2, 0, "completed")
    session(project, "--maxfail=1")
    run = load_run()
    assert (run.counts.pending, run.summary.run.state.value) == (1, "interrupted")


def test_other_parameters_make_runs_of_their_own(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        @pytest.fixture
        def howsure_target(letter):
            return lambda text: letter

        @pytest.mark.parametrize("letter", ["A", "B"])
        @pytest.mark.howsure_dataset("cases.jsonl", limit=2)
        def test_support(letter): pass
        """
    )
    session(project).assert_outcomes(passed=2, failed=2)
    assert stored("test_support[letter=A]") == {"q1": ["passed"], "q2": ["passed"]}
    assert stored("test_support[letter=B]") == {"q1": ["failed"], "q2": ["failed"]}


def test_howsure_run_runs_a_dataset_in_one_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        f"""
        import pytest
        {BOT.replace(chr(10), chr(10) + "        ")}
        def test_whole(howsure_run):
            run = howsure_run("cases.jsonl", bot, limit=2)
            assert (run.counts.passed, run.counts.failed) == (1, 1)
            assert not run.gate("pass_rate >= 0.9")

        async def test_inside_a_loop(howsure_run):
            assert howsure_run([{{"input": "A?", "expected": "A"}}], bot, name="short").passed
        """
    )
    done = session(project, "-o", "asyncio_mode=auto")
    done.assert_outcomes(passed=2)
    assert stored("test_whole") == {"q1": ["passed"], "q2": ["failed"]}
    done.stdout.fnmatch_lines(["howsure: test_whole: 1 of 2 passed*", "howsure: short: The one case passed*"])


def test_files_of_howsure_datasets_are_tests_without_any_python(project: pytest.Pytester) -> None:
    (project.path / "evals").mkdir()
    lines(project.path / "evals" / "shop.jsonl", *(mcq(number) for number in range(1, 4)))
    project.makefile(".py", agent=BOT)
    project.makeini(
        f"{SETTINGS}howsure_datasets = evals/*.jsonl\nhowsure_target = function:agent.py:bot\nhowsure_repeat = 2\n"
    )
    done = session(project, "-v")
    done.assert_outcomes(passed=1, failed=1, errors=1)
    done.stdout.fnmatch_lines(["evals/shop.jsonl::q1 PASSED*"])
    assert stored() == {"q1": ["passed"] * 2, "q2": ["failed"] * 2, "q3": ["errored"] * 2}


def test_what_cannot_be_judged_is_skipped_with_its_reason(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        CASES = [{"input": "Hello", "criteria": ["greets"]}]

        @pytest.mark.howsure_dataset(CASES, target=lambda text: "Hi", judge="none")
        def test_support(howsure_result): pass
        """
    )
    done = session(project, "-rs")
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines(["SKIPPED*judge*"])


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ('"nothing.jsonl", target=bot', "no such file: *nothing.jsonl"),
        ('"cases.jsonl", target=bot, inconclusive="maybe"', "inconclusive: expected fail or skip, found 'maybe'"),
        ("", "@pytest.mark.howsure_dataset expects one dataset*"),
        ('[{"input": "", "expected": "x"}]', "*expected what the user says, found ''*"),
        ('"cases.jsonl", target=bot, color="red"', "evaluate takes no color*"),
    ],
)
def test_a_mark_that_is_wrong_is_told_at_collection(project: pytest.Pytester, mark: str, told: str) -> None:
    project.makepyfile(PLAIN.replace('"cases.jsonl", target=bot', mark))
    done = session(project)
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines([f"*{told}"])
    done.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("mark", "told"),
    [('target="nobody"', "unknown target 'nobody'*"), ("judge='offline'", "4 answers are missing: q1, q2*")],
)
def test_a_plan_that_is_refused_is_an_error_of_every_case(project: pytest.Pytester, mark: str, told: str) -> None:
    project.makepyfile(PLAIN.replace("target=bot", mark))
    done = session(project)
    done.assert_outcomes(errors=4)
    done.stdout.fnmatch_lines([told])


def test_howsure_case_without_the_mark_is_told(project: pytest.Pytester) -> None:
    project.makepyfile("def test_lost(howsure_case): pass")
    done = session(project)
    done.stdout.fnmatch_lines(["howsure_case needs the mark howsure_dataset on the test"])
    done.assert_outcomes(errors=1)
    assert done.ret == 1


def test_hostile_text_is_shown_and_not_obeyed(project: pytest.Pytester) -> None:
    project.makepyfile(
        r"""
        import pytest
        CASES = [{"id": "a\x1b[31mb", "input": "in\x1b[2J\u202eput", "expected": "yes"}]

        @pytest.mark.howsure_dataset(CASES, target=lambda text: "no\x1b]0;owned\x07")
        def test_support(): pass
        """
    )
    done = session(project)
    done.assert_outcomes(failed=1)
    shown = done.stdout.str()
    assert "\x1b" not in shown
    assert "\u202e" not in shown


@pytest.mark.slow
@pytest.mark.thorough
def test_workers_write_into_one_run_and_one_line_tells_of_it(project: pytest.Pytester) -> None:
    project.makepyfile(PLAIN.replace("target=bot", "target=bot, repeat=2, gates=['errors <= 0']"))
    done = project.runpytest_subprocess(*PLUGIN, "-n", "2", "-v")
    done.assert_outcomes(passed=2, xfailed=1, errors=1, failed=1)
    done.stdout.fnmatch_lines(["*errors <= 0: failed*"])
    told = [line for line in done.outlines if line.startswith("howsure: ")]
    assert len(told) == 1
    assert stored() == {"q1": ["passed"] * 2, "q2": ["failed"] * 2, "q3": ["errored"] * 2, "q4": ["passed"] * 2}
    listed = subprocess.run(
        [sys.executable, "-m", "howsure", "runs", "--json"],
        capture_output=True,
        text=True,
        check=True,
        cwd=project.path,
    )
    assert [run["name"] for run in _runs(json.loads(listed.stdout))] == ["test_support"]
    assert len(load_run().results) == 8


def _runs(printed: Any) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = printed if isinstance(printed, list) else printed["runs"]
    return runs


@pytest.mark.thorough
def test_howsure_run_and_datasets_together_under_two_workers(project: pytest.Pytester) -> None:
    project.makepyfile(
        f"""
        import pytest
        {BOT.replace(chr(10), chr(10) + "        ")}
        @pytest.mark.howsure_dataset("cases.jsonl", target=bot, limit=2)
        def test_support(): pass

        @pytest.mark.parametrize("number", range(6))
        def test_whole(howsure_run, number):
            assert howsure_run("cases.jsonl", bot, limit=1).gate("errors <= 0")
        """
    )
    done = project.runpytest_subprocess(*PLUGIN, "-n", "2")
    done.assert_outcomes(passed=7, failed=1)
    assert sum(line.startswith("howsure: ") for line in done.outlines) == 7


def test_importing_the_plugin_costs_next_to_nothing() -> None:
    script = (
        "import sys, pytest; before = set(sys.modules); import howsure.pytest_plugin;"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['howsure', 'howsure.pytest_plugin', 'howsure.version']"


def test_a_session_that_does_not_use_it_loads_nothing_and_writes_nothing(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys
        def test_other():
            assert "howsure.pytest_plugin.case_runner" not in sys.modules
        """
    )
    done = project.runpytest_subprocess(*PLUGIN, "-p", "no:xdist")
    done.assert_outcomes(passed=1)
    assert not Path(project.path / ".howsure").exists()
    assert not any("howsure:" in line for line in done.outlines)
