"""Replies as models write them, each with what an honest reader says of it: tests/data/judge_replies.jsonl. What was
asked is a rating on a scale, a yes or no (`check`), or which of two answers is better (`pair`)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from howsure.judges.base import JudgeReply
from howsure.judges.pairwise import read_pick
from howsure.judges.replies import read_check, read_rating, unreadable_kind
from howsure.judges.rulings import NotApplicable, UnparsableReply
from howsure.model.flag import UnreadableKind
from howsure.model.score import LIKERT, UNIT, Scale

REPLIES = Path(__file__).parents[2] / "data" / "judge_replies.jsonl"
READ: dict[str, Callable[[str], Any]] = {
    "1-5": lambda reply: read_rating(reply, LIKERT, whole=True),
    "1-10": lambda reply: read_rating(reply, Scale(1, 10)),
    "0-1": lambda reply: read_rating(reply, UNIT),
    "0-100": lambda reply: read_rating(reply, Scale(0, 100)),
    "check": read_check,
    "pair": read_pick,
}
KINDS = {
    UnreadableKind.EMPTY: "empty",
    UnreadableKind.REFUSED: "refused",
    UnreadableKind.NO_GRADE: "no grade",
    UnreadableKind.SEVERAL_GRADES: "several grades",
    UnreadableKind.OFF_SCALE: "off scale",
    UnreadableKind.NOT_JSON: "not json",
    UnreadableKind.CUT_OFF: "cut off",
}


def said(asked: str, reply: str) -> Any:
    try:
        ruling = READ[asked](reply)
    except UnparsableReply as error:
        return KINDS[unreadable_kind(error, JudgeReply(content=reply))]
    if isinstance(ruling, NotApplicable):
        return "not applicable"
    match asked:
        case "pair":
            return ruling.place.value
        case "check":
            return "yes" if ruling.passed else "no"
        case _:
            return ruling.value


@pytest.mark.parametrize("asked", READ)
def test_every_reply_is_read_as_an_honest_reader_would(asked: str) -> None:
    """`unreadable` stands for any kind."""
    lines = [json.loads(line) for line in REPLIES.read_text(encoding="utf-8").splitlines()]
    wrong = []
    for line in lines:
        if line["asked"] == asked:
            found = said(asked, line["reply"])
            if found != line["reads"] and (line["reads"] != "unreadable" or found not in KINDS.values()):
                wrong.append((line["reply"], line["reads"], found))
    assert wrong == []
    assert sum(line["asked"] == asked for line in lines) >= 25


LONG = 50_000
HOSTILE = (
    "Score: ", "Score: 4 ", "score\n", "I would give it a ", "it gets a 4 for ", "the answer is good and ", "wait, ",
    "Oh wait, no. ", "[[", "[[4]] ", "<score>", "<score> ", "\\boxed{", "$", "“", "'", "\"", "Yes but ", "so so ",
    "While it is ", "Response A is better because ", "Response A is better because it is!", "while better ", "1", "1 ",
    "1/", "(1-5) ", "_", "*", " ", "\n", "A\n", "actually, ", "both a, ", "given that ", "</think>", "评分：",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_reply_is_read_in_a_time_that_grows_with_its_length(piece: str) -> None:
    """A pattern that tries again from every place would need minutes for these."""
    reply = piece * (LONG // len(piece)) + "?"
    began = time.process_time()
    for asked in ("1-5", "check", "pair"):
        said(asked, reply)
    assert time.process_time() - began < 6
