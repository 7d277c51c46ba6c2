"""`howsure compare`, as a user types it: the right sentence for a run that is better, one that is the same and one that
nobody can tell; unlike runs flagged; and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import explain, mcq, write_rows

Howsure = Callable[..., Any]

CASES = 60
POLICY_IDS = ("default_v1", "lexam_mcq_v1", "prbench_v1")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    rows = [mcq(f"q{n}", dataset="house", metadata={"policy_id": POLICY_IDS[n % 3]}) for n in range(CASES)]
    return write_rows(tmp_path / "house.jsonl", rows)


@pytest.fixture
def run(howsure: Howsure, tmp_path: Path, dataset: Path) -> Callable[..., str]:
    """Makes a run in which the first so many of sixty questions are answered wrongly."""

    def made(name: str, wrong: int, *options: str, first: int = 0) -> str:
        said = ["B" if first <= n < first + wrong else "A" for n in range(CASES)]
        rows = [{"case_id": f"q{n}", "response_text": text} for n, text in enumerate(said)]
        answers = write_rows(tmp_path / f"{name}.jsonl", rows)
        done = howsure("run", dataset, "--responses", answers, "--name", name, "--quiet", *options)
        assert done.code == 0, done.err
        return name

    return made


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_a_run_that_is_truly_better_is_called_better(howsure: Howsure, run: Callable[..., str]) -> None:
    done = howsure("compare", run("before", 18), run("after", 4))
    assert done.code == 0, done.err
    assert (
        "after is better than before: 93.3 % of 60 paired cases passed against 70.0 % (+23.3 points, likely +14"
        in squeezed(done.out)
    )
    assert "14 cases got better" in done.out
    assert "0 cases got worse" in done.out


def test_a_run_that_is_worse_is_called_worse_and_its_cases_are_named(howsure: Howsure, run: Callable[..., str]) -> None:
    done = howsure("compare", run("before", 4), run("after", 18))
    assert "after is worse than before" in squeezed(done.out)
    assert "q4    passed  failed  choice" in done.out
    assert "howsure show" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_same_answers_are_no_difference(howsure: Howsure, run: Callable[..., str]) -> None:
    done = howsure("compare", run("before", 10), run("after", 10))
    assert (
        "Cannot tell yet whether after is better or worse than before: all 60 paired cases came out the same, likely "
        "−6.0 to +6.0 points." in squeezed(done.out)
    )
    wider = howsure("compare", "before", "after", "--margin", "0.1")
    assert (
        "No difference larger than 6.0 points between before and after: all 60 paired cases came out the same."
        in squeezed(wider.out)
    )


def test_a_small_difference_cannot_be_told_yet(howsure: Howsure, run: Callable[..., str]) -> None:
    done = howsure("compare", run("before", 10), run("after", 8, first=4))
    said = squeezed(done.out)
    assert "Cannot tell yet whether after is better or worse than before" in said
    assert "paired cases would tell" in said


def test_json_has_the_conclusion_for_other_programs(howsure: Howsure, run: Callable[..., str]) -> None:
    shape = howsure("compare", run("before", 18), run("after", 4), "--json", "--by", "policy_id").json
    (pair,) = shape["comparisons"]
    assert (pair["conclusion"], pair["alike"]) == ("better", True)
    assert pair["verdict"]["p_value"] == pytest.approx(2 / 2**14)
    assert (pair["verdict"]["raised"], pair["verdict"]["lowered"]) == (14, 0)
    assert [each["name"] for each in pair["differences"]] == [
        "choice",
        *(f"policy_id={policy}" for policy in POLICY_IDS),
    ]
    assert [each["what"] for each in pair["unlike"]] == ["target"]


def test_reports_are_written_by_their_ending(howsure: Howsure, run: Callable[..., str], tmp_path: Path) -> None:
    done = howsure("compare", run("before", 18), run("after", 4), "-o", "out.md", "-o", "out.json")
    assert done.code == 0, done.err
    assert (tmp_path / "out.md").read_text(encoding="utf-8").startswith("# before against after\n")
    assert json.loads((tmp_path / "out.json").read_bytes())["comparisons"][0]["conclusion"] == "better"


def test_unlike_runs_are_compared_and_flagged_with_what_differs(
    howsure: Howsure, run: Callable[..., str], dataset: Path, tmp_path: Path
) -> None:
    run("before", 10)
    rows = dataset.read_text(encoding="utf-8").replace('"prompt": "Is it?"', '"prompt": "Is it not?"', 1)
    dataset.write_text(rows.replace('["A"]', '["B"]', 1), encoding="utf-8")
    run("after", 10, "--judge", "none")
    done = howsure("compare", "before", "after")
    said = squeezed(done.out)
    assert done.code == 0, done.err
    assert "Mind that the test set and judge are not the same on both sides." in said
    assert "The test set differs: 1 case of the same id asks or expects something else." in said
    assert "correct_choice of case q0 changed" in said
    assert "The judge differs: offline and no judge" in said


def test_two_candidates_of_one_run(howsure: Howsure, dataset: Path, tmp_path: Path) -> None:
    rows = [
        {"case_id": f"q{n}", "candidate_name": name, "response_text": "A" if name == "large" or n > 20 else "B"}
        for n in range(CASES)
        for name in ("small", "large")
    ]
    answers = write_rows(tmp_path / "answers.jsonl", rows)
    assert howsure("run", dataset, "--responses", answers, "--name", "both", "-q").code == 0
    done = howsure("compare", "both", "--candidate", "small=large")
    assert "large is better than small" in squeezed(done.out)


def test_single_agent_against_multi_agent(howsure: Howsure, tmp_path: Path) -> None:
    """The question of the Explain world: both answer the same scenarios in one run."""
    rows = [
        explain(n, agent_name=agent, scenario_id=f"SCN-{n:03}")
        for n in range(1, 13)
        for agent in ("assessment-agent", "learning-path-curator")
    ]
    dataset = write_rows(tmp_path / "cases.explain.jsonl", rows)
    replies = [
        {
            "case_id": row["case_id"],
            "grader": "CoherenceExplain",
            "reply": {"score": 2 if row["agent_name"] == "assessment-agent" else 5, "reason": "so"},
        }
        for row in rows
    ]
    judge = write_rows(tmp_path / "judge.jsonl", replies)
    ran = howsure("run", dataset, "--judge", f"recorded:{judge}", "--name", "agents", "-q", "--dialect", "explain")
    assert ran.code == 0, ran.err
    done = howsure("compare", "agents", "--by", "agent_name", "--pair", "scenario_id")
    assert done.code == 0, done.err
    assert (
        "learning-path-curator is better than assessment-agent: 100.0 % of 12 paired scenario_id values passed "
        "against 0.0 %" in squeezed(done.out)
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["before"], "one run alone has nothing to be compared with"),
        (["before", "nowhere"], "nowhere"),
        (["before", "before"], "is named twice"),
        (["before", "after", "--margin", "5"], "--margin is a share of the scale"),
        (["before", "after", "--candidate", "=x"], "--candidate expects A=B"),
        (["before", "after", "-o", "out.pdf"], "the ending must be one of .md, .json"),
        (["before", "after", "-o", "nowhere/out.md"], "there is no folder nowhere"),
        (["before", "--by", "planet", "--pair", "dataset"], "has the label 'planet'"),
    ],
)
def test_what_the_user_must_act_on_ends_with_two(
    howsure: Howsure, run: Callable[..., str], words: list[str], said: str
) -> None:
    run("before", 1)
    run("after", 1)
    done = howsure("compare", *words)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_showing_help_loads_no_event_loop() -> None:
    """Nor anything else that takes longer than the rest of it together."""
    script = "import sys, howsure.main; sys.exit(bool({'asyncio', 'rich', 'sqlalchemy', 're2'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=240).returncode == 0


def test_starting_a_run_loads_no_numbers_library() -> None:
    """numpy and scipy cost a second: only those who compare pay for it."""
    script = "import sys, howsure.main, howsure.cli.run; sys.exit(bool({'numpy', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=240).returncode == 0
