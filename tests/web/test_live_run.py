"""A live run of forty cases, watched ten times a second: at no moment do two numbers on the page contradict each
other. What a person reads is read here the same way, from the page as it is drawn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from playwright.sync_api import Browser

from web.looking import Watched, needs_chromium
from web.pages_served import Served, serving
from web.visiting import Visitor

pytestmark = needs_chromium

CASES = 40
LISTED = 16
"""Lines on a page of the list."""
BOT = """
import asyncio

async def answer(text):
    number = int(text.split()[-1].rstrip("?"))
    await asyncio.sleep(0.6)
    if number % 5 == 0:
        raise ConnectionError("the shop is closed")
    return "Now" if number % 3 else "I could not say"
"""
LOOK = """() => {
    const text = (selector) => document.querySelector(selector)?.innerText ?? "";
    const texts = (selector) => [...document.querySelectorAll(selector)].map((each) => each.innerText.trim());
    const count = (selector) => document.querySelectorAll(selector).length;
    return {
        state: text("#head .crumb").split("·").pop().trim(),
        headline: text("#head .answer"),
        counts: text(".counts"),
        chips: texts("#cases .chips .chip"),
        showing: text(".showing"),
        lines: count(".case-lines li:not(.quiet)"),
        failed: count(".case-lines li.failed"),
        wrong: texts(".wrong li"),
        facts: text(".facts"),
    };
}"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "bot.py").write_text(BOT)
    target = {"kind": "function", "function": "bot.py:answer"}
    with serving(tmp_path, targets={"shop": target}) as served:
        yield served


def started(visitor: Visitor) -> str:
    """The address of a run of forty questions."""
    rows = [
        {
            "schema_version": "legal_eval_v1",
            "id": f"q{number:02}",
            "dataset": "d",
            "task_type": "reference_qa",
            "prompt": f"When is number {number}?",
            "reference_answers": ["Now"],
        }
        for number in range(1, CASES + 1)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    brought = visitor.bring("/library/datasets/import?name=forty.jsonl", lines)
    assert brought.status == 201, brought.text
    fields = {"cases": f"dataset:{brought.json['id']}", "target": "shop", "judge": "offline"}
    return visitor.post("/start", fields).leads_to


def numbers_in(text: str) -> dict[str, int]:
    """`3 passed + 1 failed`: the number of each word."""
    return {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|errored|skipped|pending)", text)}


def contradictions(seen: dict[str, Any]) -> list[str]:
    """Everything on one page that does not agree with its counts."""
    counts = numbers_in(seen["counts"])
    done = sum(counts.values()) - counts["pending"]
    chips = {word: int(number) for word, number in (chip.rsplit(" ", 1) for chip in seen["chips"])}
    words = ("passed", "failed", "errored", "skipped")
    decided = re.match(r"(\d+) of (\d+) passed", seen["headline"])
    told = [int(each) for each in decided.groups()] if decided else None
    left = {word: int(number) for number, word in re.findall(r"(\d+) (errored|skipped|to do)", seen["headline"])}
    named = {"to do": "pending"}
    checks = {
        "the counts add up": seen["counts"].endswith(f"= {CASES}") and sum(counts.values()) == CASES,
        "chips": {word: chips[word] for word in words} == {word: counts[word] for word in words},
        "all": chips["all"] == done,
        "headline": told in (None, [counts["passed"], counts["passed"] + counts["failed"]]),
        "headline's rest": all(counts[named.get(word, word)] == number for word, number in left.items()),
        "list": list_agrees(seen, counts, done),
        "what goes wrong": not counts["failed"] or any(str(counts["failed"]) in line.split() for line in seen["wrong"]),
        "state": not (seen["state"] == "pending" and done) and not (seen["state"] == "completed" and counts["pending"]),
        "state twice": seen["state"] in (re.findall(r"state\s+(\w+)", seen["facts"]) or [seen["state"]]),
    }
    return [name for name, holds in checks.items() if not holds]


def list_agrees(seen: dict[str, Any], counts: dict[str, int], done: int) -> bool:
    """The list has those that failed; before any has, all that are done."""
    matching = counts["failed"] or done
    if not matching:
        return not seen["lines"] and "none of 0 results" in seen["showing"]
    others = seen["lines"] - seen["failed"] if counts["failed"] else 0
    return f" of {matching}" in seen["showing"] and seen["lines"] == min(matching, LISTED) and not others


def test_bug_02_no_two_numbers_of_a_live_run_contradict_each_other(browser: Browser, shop: Served) -> None:
    visitor = Visitor(shop.base)
    with Watched(browser, shop.base, viewport={"width": 1440, "height": 900}) as watched:
        page = watched.open(started(visitor))
        looks: list[dict[str, Any]] = []
        end = monotonic() + 90
        while monotonic() < end and not (looks and looks[-1]["state"] == "completed"):
            page.wait_for_timeout(100)
            if page.locator("#head .crumb").count():
                looks.append(page.evaluate(LOOK))
        assert looks[-1]["state"] == "completed", looks[-1]
        wrong = [(seen, found) for seen in looks if (found := contradictions(seen))]
        assert wrong == []
        # It was seen on the way, not only at its end.
        assert len({seen["counts"] for seen in looks if seen["state"] == "running"}) >= 3
        assert numbers_in(looks[-1]["counts"]) == {"passed": 21, "failed": 11, "errored": 8, "skipped": 0, "pending": 0}
        assert watched.trouble == []
