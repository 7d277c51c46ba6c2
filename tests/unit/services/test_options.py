"""The options of a run can be had back from its pins: all that decides what is asked and how it is graded."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.profile import Normalization
from howsure.model.run import DatasetPin, Pins
from howsure.services.options import RunOptions, options_of


def a_pin(path: str, dialect: str = "") -> DatasetPin:
    return DatasetPin(path=path, sha256="1", dialect=dialect)


def test_everything_that_is_pinned_comes_back() -> None:
    pins = Pins(
        datasets=(a_pin("/d/a.jsonl", "legal"),),
        target="chat:openai:x",
        responses=(a_pin("/d/r.jsonl"), a_pin("run:abc")),
        candidates=("juno",),
        repeat=3,
        judge="recorded:/d/jüdge.jsonl",
        graders=("choice",),
        evals=(a_pin("/d/e.yaml"),),
        batch_criteria=True,
        profile="prep_default",
        normalization=Normalization.MIN_MAX,
        component_scope="prompt",
        component_ids=("k1",),
        filters={"tag": ("hr",)},
        limit=5,
        state={"plan": "pro"},
        criteria_from=a_pin("/d/pöol.json"),
        simulator="openai:gpt-5",
        replays=2,
        concurrency=2,
        budget="2USD",
        gates=("pass_rate >= 0.9",),
    )
    assert options_of(pins, "again") == RunOptions(
        datasets=("/d/a.jsonl",),
        dialect="legal",
        target="chat:openai:x",
        responses=("/d/r.jsonl", "run:abc"),
        candidates=("juno",),
        judge="recorded:/d/jüdge.jsonl",
        graders=("choice",),
        evals=("/d/e.yaml",),
        batch_criteria=True,
        profile="prep_default",
        normalization=Normalization.MIN_MAX,
        component_scope="prompt",
        component_ids=("k1",),
        state={"plan": "pro"},
        criteria_from="/d/pöol.json",
        simulator="openai:gpt-5",
        replays=2,
        repeat=3,
        limit=5,
        filters={"tag": ("hr",)},
        concurrency=2,
        budget="2USD",
        gates=("pass_rate >= 0.9",),
        name="again",
    )


@pytest.mark.parametrize(
    ("dialects", "expected"),
    [(("legal",), "legal"), (("legal", "legal"), "legal"), (("legal", "golden"), "")],
    ids=["one file", "two of a kind", "two kinds: each is detected again"],
)
def test_files_of_one_dialect_are_read_as_it_again(dialects: tuple[str, ...], expected: str) -> None:
    pins = Pins(datasets=tuple(a_pin(str(number), each) for number, each in enumerate(dialects)), target="recorded")
    assert options_of(pins, "").dialect == expected


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("simulator", ""),
        ("criteria_from", ""),
        ("replays", 0),
        ("graders", None),
        ("limit", None),
        ("normalization", None),
        ("judge", ""),
        ("cache", True),
        ("repeat", 1),
    ],
)
def test_what_was_not_said_stays_unsaid(field: str, value: Any) -> None:
    pins = Pins(datasets=(a_pin("a"),), target="recorded")
    assert getattr(options_of(pins, ""), field) == value
