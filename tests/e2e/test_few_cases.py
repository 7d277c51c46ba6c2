"""`howsure sample --by information`: a few cases that stand for all; and small slices beside the whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dialect_rows import mcq
from house import lines

Howsure = Callable[..., Any]
CASES = 60


def answers(candidates: range, cases: range, seed: int = 1) -> list[dict[str, Any]]:
    """Candidate c passes the cases from 10 on that its skill reaches, give or take; cases below 10 everybody passes."""
    random, rows = Random(seed), []
    for candidate in candidates:
        skill = 10 + 5 * (candidate % 10)
        for number in cases:
            right = number < 10 or number < skill + random.gauss(0, 6)
            rows.append(
                {"case_id": f"q{number}", "candidate_name": f"m{candidate}", "response_text": "A" if right else "B"}
            )
    return rows


@pytest.fixture
def file(tmp_path: Path) -> Path:
    areas = ("civil", "criminal", "tax", "family")
    rows = [mcq(f"q{n}", prompt=f"Question {n}?", dataset=areas[min(n // 17, 3)]) for n in range(CASES)]
    return lines(tmp_path / "cases.jsonl", *rows)


def stored(howsure: Howsure, folder: Path, file: Path, name: str, rows: list[dict[str, Any]]) -> None:
    path = lines(folder / f"{name}.jsonl", *rows)
    done = howsure("run", file, "--responses", path, "--name", name, "--quiet")
    assert done.code == 0, done.err


@pytest.mark.parametrize(("candidates", "methods"), [(8, {"strata of equal difficulty"}),
                                                     (40, {"strata of equal difficulty", "item model"})])  # fmt: skip
def test_twelve_of_sixty_cases_predict_the_rate_over_all(
    howsure: Howsure, tmp_path: Path, file: Path, candidates: int, methods: set[str]
) -> None:
    stored(howsure, tmp_path, file, "many", answers(range(candidates), range(CASES)))
    part = tmp_path / "part.jsonl"
    done = howsure("sample", file, "-n", 12, "--by", "information", "-o", part, "--json")
    assert done.code == 0, done.err
    found = done.json
    assert (found["cases"], found["of"], found["candidates"]) == (12, 60, candidates)
    assert found["method"] in methods
    assert set(found["tell_nothing"]) >= {f"q{n}" for n in range(8)}
    assert found["error"] < found["random_error"]
    chosen = [n for n in range(CASES) if f'"q{n}"' in part.read_text(encoding="utf-8")]
    assert len(chosen) == 12
    rows = answers(range(104, 105), range(CASES), seed=9)
    stored(howsure, tmp_path, part, "few", [row for row in rows if int(row["case_id"][1:]) in chosen])
    again = howsure("sample", file, "-n", 12, "--by", "information", "--from", "many", "--predict", "few",
                    "-o", tmp_path / "again.jsonl", "--json")  # fmt: skip
    (predicted,) = again.json["predictions"]
    low, high = predicted["interval"]
    assert predicted["known"] == 12
    assert low <= sum(row["response_text"] == "A" for row in rows) / CASES <= high


def test_too_few_candidates_are_refused_with_what_to_do(howsure: Howsure, tmp_path: Path, file: Path) -> None:
    stored(howsure, tmp_path, file, "two", answers(range(2), range(CASES)))
    done = howsure("sample", file, "-n", 12, "--by", "information", "-o", tmp_path / "part.jsonl")
    assert done.code == 2
    assert "2 stored candidates tried nearly all of these cases; it takes 3" in done.err
    assert howsure("sample", file, "-n", 12, "--predict", "two", "-o", tmp_path / "part.jsonl").code == 2


def test_slices_are_shown_as_they_are_and_drawn_to_the_whole(howsure: Howsure, tmp_path: Path, file: Path) -> None:
    stored(howsure, tmp_path, file, "one", answers(range(4, 5), range(CASES)))
    done = howsure("show", "one", "--by", "dataset", "--json")
    slices = {each["value"]: each for each in done.json["shrunken"]}
    assert slices["family"]["judged"] == 9
    whole = done.json["passed"] / CASES
    for each in slices.values():
        assert abs(each["shrunken"] - whole) < abs(each["rate"] - whole)
        assert each["shrunken_interval"][0] <= each["shrunken"] <= each["shrunken_interval"][1]
    assert "drawn to the whole" in howsure("show", "one", "--by", "dataset").out
