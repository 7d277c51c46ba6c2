"""Markdown of agents in a real browser: rendered and readable on the page of a case, in Compare, on Label and in the
report, with a switch to the text as it was written; and inert, whatever it holds and wherever it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Locator, Page, expect

from howsure.model.case import SingleTurn
from howsure.model.expectation import ReferenceAnswer
from howsure.model.result import Result
from howsure.model.score import Part, Score
from howsure.model.transcript import Message, Role, Transcript
from howsure.model.verdict import Verdict
from howsure.reports.html.page import write_html
from howsure.testing import a_case
from unit.reports.northwind import stream, summary_of
from web.looking import LARGEST, Watched, needs_chromium
from web.pages_served import Served, serving
from web.stocked import keep

pytestmark = needs_chromium
FIRST, SECOND = (str(UUID(int=number, version=4)) for number in (71, 72))
READABLE = (
    "# Your refund\n\nThe order **4476** can be refunded, see [the terms](https://shop.example/terms).\n\n"
    "1. we check\n2. we pay\n   - by card\n\n| item | price |\n| --- | ---: |\n| kettle | 18.00 |\n\n"
    "```python\nrefund(4476)\n```\n![receipt](https://shop.example/receipt.png)\n"
)
ATTACKS = {
    "scripts": "**a** <script>alert(1)</script>\n\n```html\n</pre><script>alert(1)</script>\n```\n",
    "svg": "# <svg/onload=alert(1)>\n\n- <svg><script>alert(1)</script></svg>\n- <math href='javascript:alert(1)'>",
    "links": "[a](javascript:alert(1)) [b](//evil.invalid) <https://evil.invalid/c> [d][e]\n\n[e]: https://evil.invalid/e",
    "pictures": "![a](https://evil.invalid/a.png) ![b](//evil.invalid/b 'b')\n\n| ![c](//evil.invalid/c) |\n|--|\n",
    "data addresses": "[a](data:text/html;base64,PHNjcmlwdD4=) ![b](data:image/svg+xml,%3Csvg%20onload=alert(1)%3E)",
    "raw html": "*a* <img src=//evil.invalid/x onerror=alert(1)><iframe src=//evil.invalid></iframe><base href=//evil>"
    "<link rel=stylesheet href=//evil.invalid/s><style>@import '//evil.invalid'</style><form action=//evil.invalid>",
    "directions": "**pay \u202egnp.exe** &#x202e;`\u2066x\u2069` [\u202e](\u202e) \x1b[2J",
    "a line of 1 MB": "**x** " + "y" * 1_000_000,
    "signs of 1 MB": '<"&>**' * 170_000,
    "nested lists": "\n".join("  " * depth + "- a" for depth in range(200)),
    "10,000 nested lists": "- " * 10_000 + "a",
    "a wide table": "|a" * 5_000 + "|\n" + "|-" * 5_000 + "|\n" + "|b" * 5_000 + "|",
    "many cells": "|a|b|\n|-|-|\n" + '|<|"|\n' * 3_000,
    "deep json": "[" * 10_000 + "]" * 10_000,
}
FOREIGN = (
    "main script, img, iframe, object, embed, base, form[action*='evil'], link[href*='evil'], main style, "
    "foreignObject, math, .markdown a:not(.anchor), .markdown svg, .markdown [href], .markdown [src], [onerror]"
)


def attacked(name: str, text: str, position: int, repeat: int) -> Result:
    """The text in every field that is rendered, and quoted by the judge."""
    part = Part(id="c", text="Is it kind?")
    grade = Score(
        name="criteria",
        value=0.0,
        pass_mark=1.0,
        part=part,
        judge="m",
        reason=text,
        evidence=(text[:40],) if len(text) < 100_000 else (),
    )
    said = [(Role.SYSTEM, text), (Role.USER, text), (Role.ASSISTANT, text), (Role.USER, text), (Role.ASSISTANT, text)]
    case = replace(a_case(ReferenceAnswer(answers=(text,))), id=name, input=SingleTurn(message=text, context=text))
    return Result(
        case=case,
        verdict=Verdict.FAILED,
        reasons=(text,),
        grades=(grade, replace(grade, name="quality", part=None)),
        transcript=Transcript(answer=text, messages=tuple(Message(role=role, content=each) for role, each in said)),
        position=position,
        repeat=repeat,
    )


def attacks(ending: str = "") -> list[Result]:
    named = [(name, repeat) for name in ("readable", *ATTACKS) for repeat in (1, 2)]
    texts = {**ATTACKS, "readable": READABLE}
    return [attacked(name, texts[name] + ending, place, repeat) for place, (name, repeat) in enumerate(named)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("markdown"), working=False) as served:
        pins = {"judge": "offline", "repeat": 2}
        served.do(keep(served.store, FIRST, attacks(), name="one", pins=pins))
        served.do(keep(served.store, SECOND, attacks(" and **more**"), name="two", pins=pins, minutes=5))
        yield served


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    results = attacks()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(write_html(summary_of(results), stream(results), path))).result()
    return path


def addresses(name: str) -> dict[str, str]:
    place = 2 * ("readable", *ATTACKS).index(name)
    compared = f"/compare/case?run={FIRST}&run={SECOND}&case={name.replace(' ', '+')}"
    return {
        "case": f"/runs/{FIRST}/cases/{place}",
        "case as written": f"/runs/{FIRST}/cases/{place}?raw=yes",
        "compare": compared,
        "compare as written": f"{compared}&raw=yes",
        "label": f"/label/{FIRST}?position={place}",
        "label as written": f"/label/{FIRST}?position={place}&raw=yes",
    }


@pytest.mark.parametrize("name", ATTACKS)
def test_hostile_markdown_is_inert_on_every_page_that_renders_it(browser: Browser, served: Served, name: str) -> None:
    with Watched(browser, served.base, viewport={"width": 390, "height": 800}) as watched:
        for where, address in addresses(name).items():
            response = watched.visit(address)
            assert (response.status, len(response.body()) <= LARGEST) == (200, True), (where, len(response.body()))
            watched.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
            assert watched.page.locator(FOREIGN).count() == 0, where
            assert watched.page.locator(".turn").count() >= 2, where
            check_still(watched, where)
        assert watched.strangers == []


def test_hostile_markdown_is_inert_in_the_report(browser: Browser, report: Path) -> None:
    with Watched(browser, report.as_uri(), viewport={"width": 390, "height": 800}) as watched:
        watched.page.goto(report.as_uri())
        watched.page.wait_for_selector("html[data-ready]", state="attached")
        for row in watched.page.locator(".case > button").all():
            row.click()
            watched.page.wait_for_selector(".detail .turn")
            assert watched.page.locator(FOREIGN).count() == 0
            assert watched.page.locator("script:not([type])").count() == 1
            check_still(watched, row.inner_text()[:40])
        assert [url for url in watched.asked if not url.startswith(("file:", "data:"))] == []


def check_still(watched: Watched, where: str) -> None:
    assert watched.trouble == [], where
    seen = watched.page.evaluate("document.body.innerText")
    assert not set(seen) & set("\u202e\u2066\u2069\x1b"), where
    assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), where


def check_readable(said: Locator) -> None:
    expect(said.locator(".heading")).to_contain_text("Your refund")
    expect(said.locator("strong").first).to_have_text("4476")
    expect(said.locator("ol > li")).to_have_count(2)
    expect(said.locator("td")).to_have_text(["kettle", "18.00"])
    expect(said.locator("pre")).to_contain_text("refund(4476)")
    assert "the terms (https://shop.example/terms)" in said.inner_text()
    expect(said.locator("a:not(.anchor), img")).to_have_count(0)


@pytest.mark.parametrize("where", ["case", "compare", "label"])
def test_markdown_is_rendered_and_one_click_shows_it_as_written(browser: Browser, served: Served, where: str) -> None:
    with Watched(browser, served.base) as watched:
        page = watched.open(addresses("readable")[where])
        check_readable(page.locator(".turn .markdown").last)
        page.locator("a[data-raw]").click()
        check_as_written(page)
        page.locator("a[data-raw]").click()
        check_readable(page.locator(".turn .markdown").last)


def test_the_report_renders_markdown_and_shows_it_as_written(browser: Browser, report: Path) -> None:
    with Watched(browser, report.as_uri()) as watched:
        page = watched.page
        page.goto(f"{report.as_uri()}#case=readable")
        check_readable(page.locator(".turn .markdown").last)
        expect(page.locator(".aside .markdown table")).to_have_count(1)
        page.get_by_role("button", name="as written").click()
        check_as_written(page)
        page.reload()
        check_as_written(page)


def check_as_written(page: Page) -> None:
    expect(page.locator(".turn .said").last).to_contain_text("| item | price |")
    expect(page.locator(".markdown")).to_have_count(0)


def test_the_answer_is_not_folded_while_other_long_turns_are(browser: Browser, served: Served, report: Path) -> None:
    number = 2 * ("readable", *ATTACKS).index("a line of 1 MB")
    with Watched(browser, served.base) as watched:
        page = watched.open(f"/runs/{FIRST}/cases/{number}")
        answer = page.locator(".turn.assistant .words").last
        expect(answer.locator("details.long")).to_have_count(0)
        assert len(answer.inner_text()) > 19_900
        page.goto(f"{report.as_uri()}#case=a+line+of+1+MB")
        answer = page.locator(".turn.assistant").last
        expect(answer).to_be_visible()
        expect(answer.locator(".folded")).to_have_count(0)
        expect(page.locator(".turn.user .folded").first).to_be_visible()
