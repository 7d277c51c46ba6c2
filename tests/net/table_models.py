"""Rows of `howsure rank`, `howsure judge pairs`, `howsure judge raters`, `howsure judge drift` and of sampling by
information."""

from __future__ import annotations

from typing import Any

from net.rows import Row
from net.table_commands import BETTER, BETTER_FILE, BOTH, RUN
from net.worlds import answers, question

LIVE = "--judge openai-compatible:judge"


PICKS = {
    "picks.jsonl": [
        {"case_id": f"q{number}", "grader": "pairwise", "candidate": "juno vs orchid", "order": order,
         "reply": {"better": place}}
        for number in (1, 2, 3, 4)
        for order, place in (("ab", "first"), ("ba", "second"))
    ]
}  # fmt: skip
"""A judge that prefers juno to orchid on all four cases, in both orders."""
PAIRS = "judge pairs both --judge recorded:picks.jsonl"


def pairs(option: str, shows: str, given: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    more = {"run": f"{PAIRS} --json", "before": (BOTH,), "files": PICKS, **more}
    return Row(f"judge pairs {option}", shows, given, expect=expect, absent=absent, **more)


def rank(option: str, shows: str, given: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    more = {"run": "rank both --json", "before": (BOTH,), "files": PICKS, **more}
    return Row(f"rank {option}", shows, given, expect=expect, absent=absent, **more)


RANKING = [
    rank("RUNS", "candidates of several runs", "first second", {"candidates.0.name": "second"},
         {"candidates.0.name": "juno"}, other="both", run="rank --json", before=(RUN, BETTER, BOTH),
         files=BETTER_FILE),
    rank("--by", "the values of a grader", "--by choice", {"by": "choice"}, {"by": "verdict"}),
    rank("--judge", "whose pairs count", LIVE, {"judge": "openai-compatible:judge"}, {"exit": 2},
         before=(BOTH, PAIRS, f"judge pairs both {LIVE}")),
    rank("--candidate", "only these", "--candidate juno --candidate orchid", {"candidates.#": 2},
         {"candidates.#": 3}, run="rank both first --json", before=(BOTH, RUN)),
    rank("--confidence", "how sure", "--confidence 0.9", {"confidence": 0.9}, {"confidence": 0.95}),
    pairs("RUNS", "whose answers", "first second", {"without_judge": 1}, {"without_judge": 0},
          other="both", run=f"judge pairs --json {LIVE}", before=(RUN, BETTER, BOTH), files=BETTER_FILE),
    pairs("--judge", "who compares", "--judge recorded:picks.jsonl", {"consistent": 4}, {"exit": 2},
          run="judge pairs both --json"),
    pairs("--candidate", "only these", "--candidate juno --candidate orchid", {"pairs": 4}, {"pairs": 12, "exit": 3},
          run="judge pairs both first --judge recorded:picks.jsonl --json", before=(BOTH, RUN)),
    pairs("--limit", "only so many cases", "--limit 3", {"pairs": 3}, {"pairs": 4}),
    pairs("--seed", "other cases", "--seed 4", {"file said.jsonl": '"q1"'}, {"no file said.jsonl": '"q1"'},
          run=f"{PAIRS} --limit 1 --record-judge said.jsonl"),
    pairs("--budget", "a price has to be known", "--budget 1USD", {"exit": 2}, {},
          run=f"judge pairs both {LIVE} --json"),
    pairs("--no-cache", "nothing is kept for the next time", "--no-cache", {"replies": 0}, {"replies": 8},
          run=f"judge pairs both {LIVE}", look="cache --json"),
    pairs("--record-judge", "the replies are written down", "--record-judge said.jsonl",
          {"file said.jsonl": "juno vs orchid"}, {"no file said.jsonl": ""}),
    pairs("--max-concurrency", "none at a time is refused", "--max-concurrency 0", {"exit": 2}, {}),
]  # fmt: skip
PEOPLE = {
    name: [
        {"case_id": f"q{number}", "grader": "choice", "label": number % step != 0, "annotator": who}
        for number in range(1, 13)
        for who, step in raters.items()
    ]
    for name, raters in (("people.jsonl", {"ana": 3, "ben": 4, "cy": 3}), ("two.jsonl", {"ana": 3, "ben": 4}))
}


def raters(option: str, shows: str, given: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    more = {"run": "judge raters people.jsonl", "files": PEOPLE, **more}
    return Row(f"judge raters {option}", shows, given, expect=expect, absent=absent, **more)


RATERS = [
    raters("LABELS", "whose labels", "people.jsonl", {"groups.0.raters.#": 3}, {"exit": 2}, other="two.jsonl",
           run="judge raters --json"),
    raters("--run", "a run that is not there is refused", "--run nobody", {"exit": 2, "err": "nobody"}, {},
           before=(RUN,)),
    raters("--limit", "so many disputed answers", "--limit 1", {"out": "more (--json shows all)"},
           {"no out": "more (--json shows all)"}),
]  # fmt: skip
VERDICTS = {
    # Of four candidates, one is right on each case more than the one before it.
    "four.jsonl": [
        {"example_id": f"q{number}", "candidate_name": f"m{skill}", "response_text": "A" if number <= skill else "B"}
        for skill in (1, 2, 3, 4)
        for number in (1, 2, 3, 4)
    ],
}
FOUR = "run cases.jsonl --responses four.jsonl --name four --quiet"


def sample(option: str, shows: str, given: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    more = {"run": "sample cases.jsonl -n 2 -o out.jsonl --by information --json", "before": (FOUR, RUN), **more}
    return Row(f"sample {option}", shows, given, expect=expect, absent=absent, files=VERDICTS, **more)


SAMPLING = [
    sample("--by", "cases that stand for all", "--by information", {"method": "strata of equal difficulty"},
           {"no out": "method"}, run="sample cases.jsonl -n 2 -o out.jsonl --json"),
    sample("--from", "by whose verdicts", "--from four", {"candidates": 4}, {"candidates": 5}),
    sample("--predict", "what a run would reach on all cases", "--predict first", {"predictions.#": 1},
           {"predictions.#": 0}),
]  # fmt: skip
ANCHORS = {
    "many.jsonl": [question(number) for number in range(120)],
    "said.jsonl": answers(*((f"q{number}", "AB"[number % 3 == 0]) for number in range(120))),
}
KEPT = tuple(f"run many.jsonl --responses said.jsonl --name {name} --quiet" for name in ("anchors", "newer"))


def drift(option: str, shows: str, given: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    more = {"run": "judge drift anchors --json", "before": KEPT, "files": ANCHORS, **more}
    return Row(f"judge drift {option}", shows, given, expect=expect, absent=absent, **more)


DRIFT = [
    drift("ANCHORS", "whose answers are judged again", "anchors", {}, {"exit": 2}, other="nobody",
          run="judge drift --json"),
    drift("RUN", "the agent's change beside the judge's", "newer", {"candidates.0.agent.conclusion": "equal"},
          {"candidates.0.agent": None}),
    drift("--judge", "there has to be one", "--judge none", {"exit": 2}, {}),
    drift("--limit", "only so many cases", "--limit 100", {"candidates.0.judge.pairing.paired": 100},
          {"candidates.0.judge.pairing.paired": 120}),
    drift("--budget", "a price has to be known", "--budget 1USD", {"exit": 2}, {},
          run=f"judge drift anchors {LIVE} --json"),
]  # fmt: skip
ROWS = [*RANKING, *RATERS, *SAMPLING, *DRIFT]
