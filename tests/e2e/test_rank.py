"""`howsure rank` and `howsure judge pairs`: leaderboards whose ranks carry intervals, from verdicts and from pairs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import log
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import mcq
from house import asked_and_answered, lines

Howsure = Callable[..., Any]
CASES = 40
RIGHT = {"ada": 36, "bob": 20, "cy": 20, "dan": 4}
"""How many cases each has right: ada the first 36, bob the first 20, cy the last 20, dan the first 4."""


def answer(name: str, number: int) -> str:
    return "A" if (number >= CASES - RIGHT[name] if name == "cy" else number < RIGHT[name]) else "B"


@pytest.fixture
def four(howsure: Howsure, tmp_path: Path) -> None:
    questions = [mcq(f"q{number}", prompt=f"Question {number}?") for number in range(CASES)]
    answers = [
        {"case_id": f"q{number}", "candidate_name": name, "response_text": f"Answer: {answer(name, number)}"}
        for number in range(CASES)
        for name in RIGHT
    ]
    asked, said = asked_and_answered(tmp_path, questions, answers)
    assert howsure("run", asked, "--responses", said, "--name", "four", "--quiet").code == 0


@pytest.mark.usefixtures("four")
def test_the_leaderboard_of_a_run_has_shared_ranks_where_nobody_can_tell(howsure: Howsure) -> None:
    done = howsure("rank", "four")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "ada is first."
    table = [line.split()[:2] for line in done.out.splitlines() if line.split()[1:2] and line.split()[1] in RIGHT]
    assert sorted(table) == [["1st", "ada"], ["2nd–3rd", "bob"], ["2nd–3rd", "cy"], ["4th", "dan"]]
    board = howsure("rank", "four", "--json").json
    assert (board["by"], board["cases"], board["comparisons"]) == ("verdict", 40, 240)
    # Against bob: 16 won, 24 tied. Against cy: 20 won, 16 tied, 4 lost. Against dan: 32 won, 8 tied.
    ada = board["candidates"][0]
    assert (ada["won"], ada["tied"], ada["lost"]) == (68, 48, 4)


@pytest.mark.usefixtures("four")
def test_two_candidates_are_apart_by_the_logarithm_of_wins_to_losses(howsure: Howsure) -> None:
    board = howsure("rank", "four", "--candidate", "ada", "--candidate", "cy", "--json").json
    strengths = [each["strength"] for each in board["candidates"]]
    assert strengths[0] - strengths[1] == pytest.approx(log(20 / 4))


@pytest.mark.usefixtures("four")
def test_pairs_are_judged_blind_in_both_orders_and_a_lean_to_the_first_place_is_told(
    howsure: Howsure, tmp_path: Path
) -> None:
    order = list(RIGHT)

    def better(one: str, other: str, shown: str, number: int) -> str:
        """Cases 0 to 29: the name that comes first in the alphabet; the other ten: whatever is shown first."""
        return "first" if number >= 30 or (shown == "ab") == (one < other) else "second"

    replies = [
        {
            "case_id": f"q{number}",
            "grader": "pairwise",
            "candidate": f"{one} vs {other}",
            "order": shown,
            "reply": {"better": better(one, other, shown, number)},
        }
        for number in range(CASES)
        for one, other in combinations(order, 2)
        for shown in ("ab", "ba")
    ]
    judge = f"recorded:{lines(tmp_path / 'picks.jsonl', *replies)}"
    asked = howsure("judge", "pairs", "four", "--judge", judge, "--record-judge", tmp_path / "again.jsonl", "--json")
    assert asked.code == 0, asked.err
    done = asked.json
    # Where two chose the same letter there is nothing to compare.
    same = sum(answer(one, n) == answer(other, n) for n in range(CASES) for one, other in combinations(order, 2))
    assert (done["pairs"], done["without_judge"], done["judged"]) == (240, same, 240 - same)
    assert done["first_picks"] == done["flipped_picks"] > 0
    board = howsure("rank", "four", "--json").json
    assert (board["by"], board["judge"]) == ("pairs", judge)
    assert [each["name"] for each in board["candidates"]] == order
    assert board["first_interval"][0] > 0
    assert howsure("rank", "four", "--by", "verdict", "--json").json["by"] == "verdict"
    again = howsure("judge", "pairs", "four", "--judge", f"recorded:{tmp_path / 'again.jsonl'}", "--json").json
    assert {**again, "judge": ""} == {**done, "judge": ""}


@pytest.mark.usefixtures("four")
def test_what_cannot_be_ranked_is_refused_with_what_to_do(howsure: Howsure) -> None:
    for arguments, told in (
        (("judge", "pairs", "four"), "the judge 'offline' cannot compare answers: name one with --judge"),
        (("rank", "four", "--candidate", "ada"), "one candidate alone cannot be compared"),
        (("rank", "four", "--candidate", "eve"), "there is no candidate 'eve'; there are 'ada', 'bob', 'cy', 'dan'"),
        (("rank", "four", "--by", "pairs"), "no judge compared these candidates yet: `howsure judge pairs"),
        (("rank", "four", "--by", "charm"), "'ada' has no grader 'charm'; it has choice"),
    ):
        done = howsure(*arguments)
        assert (done.code, told in done.err) == (2, True), done.err
