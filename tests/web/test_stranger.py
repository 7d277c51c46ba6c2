"""What somebody reads who knows neither the command line nor the files: on every page and in the report there is no
option, no id of a grader, no folder of the server and no id that a machine made."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page

from howsure.model.run import DatasetPin
from howsure.model.simulation import Fault, Party
from howsure.reports.html.page import write_html
from unit.reports.northwind import stream, summary_of, support_results
from web.everything import SHOWN, Everything, fill
from web.looking import Watched, needs_chromium
from web.pages_served import Served, serving
from web.stocked import OLDER, keep, otherwise

pytestmark = needs_chromium
FIRST, SECOND = (str(UUID(int=number, version=4)) for number in (81, 82))
MADE = "0c1f7c3a-7a39-4a5e-9b62-6c0d6a3f2f11"
NOTE = "The judge was never asked: no grader here asks one (--graders +NAME adds one)."
PINS = {
    "datasets": (DatasetPin(path="/srv/evals/leave.json", sha256="ab" * 32, cases=4),),
    "target": "python:/srv/bots/shop.py:answer",
    "judge": "recorded:/srv/evals/judge.jsonl",
    "notes": (NOTE,),
    "profile": "strict",
    "marks": {"expected_outcome": 0.5},
    "agent_id": "65f0c2a1b4d3e8f901234567",
}
READABLE = """() => {
    document.querySelectorAll('details').forEach((fold) => { fold.open = true; });
    const seen = document.body.innerText;
    document.querySelectorAll('.pins').forEach((each) => each.remove());
    return [seen.length, document.body.innerText];
}"""
"""Everything that can be read but the pins of a run, which are there to be compared letter by letter."""
NOT_FOR_PEOPLE = {
    "an option": r"(?<![\w-])--[a-z][a-z-]+",
    "a folder": r"/(?:srv|home|tmp)/\S+",
    "a UUID": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-",
    "a hash": r"\b(?=[a-f]*\d)[0-9a-f]{12,64}\b",
    "a grader's id": r"\b(?:expected_outcome|tool_usage_accuracy|weighted_criteria|final_response_quality)\b",
    "an option's key": r"`\w+_\w+` is below",
}


def results() -> list:  # type: ignore[type-arg]
    fault = Fault(party=Party.AGENT, reason="`expected_outcome` is below its mark")
    first, *others = support_results()
    return [replace(first, case=replace(first.case, id=MADE), fault=fault), *others]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Everything]]:
    with serving(tmp_path_factory.mktemp("stranger"), working=False) as served:
        there = served.do(fill(served))
        served.do(keep(served.store, FIRST, results(), name="leave again", pins=PINS, minutes=40))
        served.do(keep(served.store, SECOND, otherwise(results()), name="leave newer", pins=PINS, minutes=50))
        yield served, there


def check_words(page: Page, where: str) -> str:
    length, text = page.evaluate(READABLE)
    assert length > 100, where
    found = {what: re.findall(pattern, text) for what, pattern in NOT_FOR_PEOPLE.items()}
    assert {what: each for what, each in found.items() if each} == {}, where
    return str(text)


def test_no_page_says_what_only_a_program_knows(browser: Browser, house: tuple[Served, Everything]) -> None:
    served, there = house
    own = [
        f"/runs/{FIRST}?verdict=all",
        f"/runs/{FIRST}/triage",
        f"/label/{FIRST}?position=0&blind=off",
        f"/label/{FIRST}/agreement",
        f"/compare?run={FIRST}&run={SECOND}",
        f"/compare?run={OLDER}&run={FIRST}",
        f"/agent?id={PINS['agent_id']}",
        f"/runs/{UUID(int=99, version=4)}",
    ]
    told = {}
    with Watched(browser, served.base) as watched:
        # Editors show files, whose words are those of the file.
        pages = [path for path in SHOWN if not path.endswith(("/edit", "/new", "/export", "/difference"))]
        for path in [*map(there.filled, pages), *own]:
            told[path] = check_words(watched.open(path), path)
        case = check_words(watched.open(f"/runs/{FIRST}/cases/0"), "case")
        compared = check_words(watched.open(f"/compare/case?run={FIRST}&run={SECOND}&case={MADE}"), "compare case")
    assert "Answerable: agent: expected outcome is below its mark" in case
    assert "Leave policy inquiry" in told[own[2]] and "Leave policy inquiry" in compared
    assert "The judge was never asked: no grader here asks one." in told[own[0]]
    assert "No case was graded by expected outcome: the profile strict sets marks there in vain." in told[own[0]]
    assert "recorded:judge.jsonl" in told[own[3]]


def test_neither_does_the_report(browser: Browser, tmp_path: Path) -> None:
    path, made = tmp_path / "report.html", results()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(write_html(summary_of(made, pins=PINS), stream(made), path))).result()
    with Watched(browser, path.as_uri()) as watched:
        watched.page.goto(path.as_uri())
        watched.page.wait_for_selector("html[data-ready]", state="attached")
        row = watched.page.locator(".case > button").first
        row.click()
        watched.page.wait_for_selector(".detail .turn")
        text = check_words(watched.page, "report")
        assert row.locator(".id").inner_text() == MADE[:8]
        assert "The judge was never asked: no grader here asks one." in text
        assert "agent: expected outcome is below its mark" in text
