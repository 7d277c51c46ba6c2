"""What pages say first: sentences in place of graders and numbers, what decides before what is only measured, what was
expected in sight, candidates in one table, and what to do where there is nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from howsure.main import program
from howsure.model.case import opening
from howsure.model.expectation import ReferenceAnswer
from howsure.model.result import Result
from howsure.model.run import DatasetPin
from howsure.model.score import LIKERT, Score
from howsure.model.verdict import Verdict
from howsure.reports.figures import Rate, pass_rate_of
from howsure.reports.html.page import write_html
from unit.reports.northwind import refund_results
from web.pages_served import Served, serving
from web.stocked import AGAIN, NEWER, OLDER, SUPPORT, keep, otherwise, repeated
from web.visiting import Visitor

JUDGED = Score(
    name="final_response_quality", value=1.0, scale=LIKERT, pass_mark=3.0, judge="m", reason="It misses the deadline."
)
TOKENS = Score(name="token_usage", value=0.5)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("words"), working=False) as served:
        yield served


def test_where_there_is_nothing_a_button_says_what_to_do(served: Served) -> None:
    visitor = Visitor(served.base)
    for page in ("/agents", "/judges"):
        assert '<a class="button main" href="/start">Start a run</a>' in visitor.get(page).text, page
    assert (
        '<a class="button main" href="/library/rubrics/new">Write a new rubric</a>'
        in visitor.get("/library/rubrics").text
    )
    lost = visitor.get("/runs/none")
    assert (lost.status, '<a class="button main" href="/">To the runs</a>' in lost.text) == (404, True)


def test_a_page_says_a_sentence_and_what_decides_before_what_is_measured(served: Served) -> None:
    wanted = (ReferenceAnswer(answers=("No refund after 30 days.",)),)
    results = [
        replace(each, grades=(TOKENS, JUDGED, *each.grades), case=replace(each.case, expectations=wanted))
        for each in refund_results("v1")
    ]
    results += [replace(each, grades=(TOKENS, *each.grades)) for each in refund_results("v2")]
    served.do(keep(served.store, OLDER, results, pins={"candidates": ("v1", "v2")}))
    visitor = Visitor(served.base)
    case = visitor.get(f"/runs/{OLDER}/cases/2?verdict=all").text
    told = [
        "Tool usage accuracy is 0.50, 1.00 is needed: refunded outside the 30-day window.",
        "What decides",
        "tool usage accuracy <span",
        "Only measured: these do not decide the verdict",
        "final response quality <span",
        "token usage <span",
        '<details class="fold" open><summary><h2>Expected</h2>',
    ]
    places = [case.find(words, case.index("<h1")) for words in told]
    assert places == sorted(places), dict(zip(told, places, strict=True))
    assert places[0] > 0
    run = visitor.get(f"/runs/{OLDER}?verdict=all").text
    assert '<tr><th scope="row">v1</th><td class="rate">' in run
    assert "tool_usage_accuracy" not in run.split("<form")[0]


def test_no_page_has_an_id_or_a_folder_where_a_person_reads(served: Served) -> None:
    older = [replace(each, grades=(JUDGED, *each.grades)) for each in refund_results()]
    made = replace(older[2], case=replace(older[2].case, id="0c1f7c3a-7a39-4a5e-9b62-6c0d6a3f2f11"))
    older = [*older[:2], made, *older[3:]]
    pins: dict[str, object] = {
        "datasets": (DatasetPin(path="/home/ana/evals/refunds.json", sha256="0" * 64),),
        "target": "python:/home/ana/bots/shop.py:answer",
        "graders": ("+final_response_quality",),
        "profile": "standard",
        "marks": {"tool_usage_accuracy": 0.5},
    }
    served.do(keep(served.store, SUPPORT, older, pins=pins))
    served.do(keep(served.store, NEWER, otherwise(older), minutes=1, pins=pins))
    visitor = Visitor(served.base)
    label = {"who": "ana", "at": "0", "opinion": "fail"}
    asked = visitor.data(f"/label/{SUPPORT}?who=ana")
    assert [name for name, *_ in asked["graders"]] == ["final response quality"]
    assert asked["shown"]["asked"]["text"] == "Does the answer pass on final response quality?"
    visitor.post(f"/label/{SUPPORT}", {**label, "key": asked["shown"]["key"]})
    agreement = visitor.data(f"/label/{SUPPORT}/agreement")
    assert [each["name"] for each in agreement["measures"]] == ["final response quality"]
    compared = visitor.data(f"/compare?run={SUPPORT}&run={NEWER}")["pairs"][0]["told"]
    titles = [each["title"] for each in compared["apart"]]
    assert titles[:1] == ["pass rate"]
    assert "tool usage accuracy" in titles
    assert {each["graders"] for each in (*compared["worse"], *compared["better"])} == {"tool usage accuracy"}
    facts = dict(visitor.data(f"/runs/{SUPPORT}")["facts"])
    assert (facts["target"], facts["graders"]) == ("python:shop.py:answer", "+final response quality")
    assert facts["profile"] == "standard (tool usage accuracy ≥ 0.5)"
    assert "/home/ana" not in visitor.get(f"/runs/{SUPPORT}").text
    causes = [each for group in visitor.data(f"/runs/{SUPPORT}/triage")["priorities"] for each in group["causes"]]
    named = {case for each in causes for case, _ in each["cases"]}
    assert opening(made.case.input)[:20] in {name[:20] for name in named}
    assert made.case.id not in named


def in_scenarios() -> list[Result]:
    """Ten cases in five scenarios: pairs that end alike."""
    decided = [each for each in refund_results() if each.verdict in (Verdict.PASSED, Verdict.FAILED)]
    ordered = sorted(decided, key=lambda each: each.verdict is Verdict.FAILED)
    return [
        replace(each, case=replace(each.case, labels={"scenario_id": str(place // 2)}))
        for place, each in enumerate(ordered)
    ]


def typed(*words: str) -> str:
    """`howsure WORDS`, in a thread: the driver of a browser may have this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(CliRunner().invoke, program, words, env={"COLUMNS": "120"}).result().stdout


EXPLAIN = (DatasetPin(path="talks.jsonl", sha256="b" * 64, dialect="explain", cases=10),)


@pytest.mark.parametrize(
    ("made", "pins", "likely", "alone"),
    [
        # Ten cases were decided twice.
        (repeated, {"repeat": 2}, "75.0 % [44–95]", "75.0 % [53–89]"),
        (in_scenarios, {"datasets": EXPLAIN}, "70.0 % [30–97]", "70.0 % [40–89]"),
    ],
    ids=["repeats", "scenarios"],
)
def test_results_that_belong_together_have_one_interval_wherever_it_is_shown(
    tmp_path: Path, made: Callable[[], list[Result]], pins: dict[str, Any], likely: str, alone: str
) -> None:
    """`alone`: the interval if every result stood for itself, which nobody may read."""
    with serving(tmp_path, working=False) as served:
        pins = {**pins, "agent_id": "shop", "gates": ("pass_rate >= 0.5",)}
        served.do(keep(served.store, AGAIN, made(), name="again", pins=pins))
        visitor, summary = Visitor(served.base), served.do(served.store.summary(AGAIN))
        counts = summary.run.counts
        assert Rate(counts.passed, counts.passed + counts.failed).brief == alone
        assert pass_rate_of(counts).brief == likely
        percent, bounds = likely.rstrip("]").split(" [")
        read = f"{counts.passed} of {counts.passed + counts.failed} passed ({percent}, likely {bounds} %)."
        served.do(write_html(summary, served.store.iterate(AGAIN), tmp_path / "report.html"))
        told = {
            "list of runs": visitor.get("/").text,
            "run": visitor.get(f"/runs/{AGAIN}").text,
            "agent": visitor.get("/agent?id=shop&graders=yes").text,
            "report": (tmp_path / "report.html").read_text("utf-8"),
        }
        database = ("--database", str(tmp_path / "howsure.db"))
        told["howsure show"] = typed("show", AGAIN, *database)
        for where, text in told.items():
            assert f"[{bounds}]" in text.replace("</span>", ""), where
            assert alone.split(" ")[-1] not in text, where
        for where in ("run", "report", "howsure show"):
            assert read in " ".join(told[where].split()), where
        wire = visitor.data(f"/api/v1/runs/{AGAIN}")
        for each in (wire, json.loads(typed("show", AGAIN, *database, "--json"))):
            assert "–".join(f"{100 * end:.0f}" for end in each["pass_rate_interval"]) == bounds
        (gate,) = visitor.data(f"/runs/{AGAIN}")["gates"]
        (ends,) = re.findall(r"likely ([\d.]+) % to ([\d.]+)", gate["reason"])
        assert [float(end) for end in ends] == pytest.approx(list(map(float, bounds.split("–"))), abs=0.55)
