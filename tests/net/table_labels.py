"""Rows of `howsure label`, and of labels that correct what a judge says."""

from __future__ import annotations

from typing import Any

from net.rows import Row
from net.table_common import COMMANDS, LABELS
from net.table_run import EVALS

DRAW = COMMANDS["label next"]
SAVE = COMMANDS["label save"]
FILES = {"labels.jsonl": [{**label, "drawn": 1} for label in LABELS]}
FEW = "labels are too few to correct anything"
STYLE = [{"case_id": "q1", "grader": "house_style", "label": 4}]


def drawn(option: str, shows: str, given: str, expect: dict[str, Any], absent: dict[str, Any], *, other: str = "",
          run: str = "label next latest") -> Row:  # fmt: skip
    return Row(f"label next {option}", shows, given, f"{run} --json", expect, absent, other=other, world=DRAW.world,
               before=DRAW.before, files=FILES)  # fmt: skip


ROWS = [
    drawn("RUN", "which run", "latest", {"answers": 2}, {"exit": 2}, run="label next", other="nobody"),
    drawn("--number", "how many answers", "--number 1", {"answers": 1, "of": 2}, {"answers": 2, "of": 2}),
    drawn("--by", "doubt: there must be grades with degrees", "--by doubt", {"exit": 2}, {"answers": 2}),
    drawn("--by", "random: each answer alike likely", "--by random", {"questions.0.drawn": 1.0}, {"exit": 2},
          other="--by doubt"),
    drawn("--by", "verdict: rare ones are likelier", "--by verdict", {"answers": 2}, {"exit": 2}, other="--by doubt"),
    drawn("--labels", "what the file has is not drawn again", "--labels labels.jsonl", {"answers": 0, "labelled": 2},
          {"answers": 2, "labelled": 0}),
    drawn("--output", "the lines to fill in", "-o there.jsonl", {"file there.jsonl": '"label":""'},
          {"no file there.jsonl": ""}),
    Row("label save FILE", "what is kept", "labels.jsonl", "label save --json", {"labels": 2}, {"exit": 2},
        other="set.json", world=SAVE.world, before=SAVE.before, files=SAVE.files),
    Row("label save RUN", "whose answers the labels are about", "latest", "label save labels.jsonl --json",
        {"labels": 2}, {"exit": 2}, other="nobody", world=SAVE.world, before=SAVE.before, files=SAVE.files),
    Row("gate --labels", "two labels are too few", "--labels labels.jsonl", "gate --gate 'pass_rate[criteria] >= 1%'",
        {"exit": 2, "err": FEW}, {"exit": 0}, world=SAVE.world, before=SAVE.before, files=FILES),
    Row("compare --labels", "two labels are too few", "--labels stored", "compare first second",
        {"exit": 2, "err": FEW}, {}, world=SAVE.world, files=SAVE.files,
        before=(f"{SAVE.before[0]} --name first", "label save labels.jsonl first",
                f"{SAVE.before[0]} --name second", "label save labels.jsonl second")),
    Row("judge migrate --margin", "how much worse will do", "--margin 0.99",
        f"{COMMANDS['judge migrate'].run} --json",
        {"exit": 101, "margin": 0.99}, {"exit": 101, "margin": 0.05}, world="test-set", files={"labels.jsonl": LABELS}),
    Row("judge calibrate --evals", "labels about an eval of one's own", "--evals evals.yaml",
        "judge calibrate style.jsonl cases.jsonl --responses answers.jsonl --judge offline", {"exit": 0}, {"exit": 2},
        files={"evals.yaml": EVALS, "style.jsonl": STYLE}),
]  # fmt: skip
