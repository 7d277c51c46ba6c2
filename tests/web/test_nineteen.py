"""The nineteen bugs that a walk through the pages found, each as what a person now sees in a browser instead."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Dialog, Locator, Page, expect

from howsure.model.access_scope import EVERYWHERE
from howsure.model.expectation import text_id
from howsure.model.run import DatasetPin
from howsure.model.verdict import Verdict
from howsure.reports.headlines import page_words
from howsure.reports.html.comparison import baseline_comparisons
from howsure.services.compare.compare import CompareRequest, compare_stored
from howsure.services.host.run_control import save_rubric
from web.everything import SHOWN, Everything, fill
from web.looking import LARGEST, Watched, needs_chromium
from web.pages_served import Served, serving
from web.stocked import OLDER, PAGES, SUPPORT, keep
from web.visiting import Visitor
from web.walked import BIG_A, BIG_B, FIRST, LONG, SECOND, SPANS, TEXT, THIRD, UNJUDGED, many, one_result, stock_walked

pytestmark = needs_chromium

WIDTHS = (320, 390, 640, 641, 700, 701, 768, 800, 801, 860, 900, 1024, 1300, 1301, 1440, 2560)
"""The review's widths, and both sides of every width at which the looks change."""
UNFOLD = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
CUT = """[...document.querySelectorAll('.runs td, .runs th, .runs a')]
    .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== 'visible')
    .map((each) => each.textContent.trim())"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Everything]]:
    """Something on every page; for reading."""
    with serving(tmp_path_factory.mktemp("house"), working=False) as served:
        yield served, served.do(fill(served))


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """What the walk stumbled over; for reading."""
    with serving(tmp_path_factory.mktemp("walked"), working=False) as served:
        served.do(stock_walked(served.store))
        yield served


def test_bug_01_no_page_scrolls_sideways_and_no_name_is_cut(browser: Browser, house: tuple[Served, Everything]) -> None:
    served, there = house
    wide: list[tuple[str, int, int]] = []
    with Watched(browser, served.base) as watched:
        for path in dict.fromkeys([*map(there.filled, SHOWN), *there.others, *PAGES.values()]):
            page = watched.open(path)
            page.evaluate(UNFOLD)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                found = page.evaluate("document.documentElement.scrollWidth")
                wide += [(path, width, found)] if found > width else []
                assert page.evaluate(CUT) == [], (path, width)
        assert wide == []
        page = watched.open("/")
        page.set_viewport_size({"width": 1440, "height": 900})
        heads = page.locator(".runs thead th").all_inner_texts()
        assert heads[1:3] == ["run", "started"]
        assert page.locator(".runs tbody th").last.inner_text() == "support-v1"
        assert page.locator(".runs .when").last.inner_text() == "2026-11-15 09:30"


def test_bug_01_neither_does_one_with_names_that_have_no_place_to_break(browser: Browser, tmp_path: Path) -> None:
    """As other tools name their runs, files and cases; and a folder of somebody's machine is none of a case's name."""
    name, case_id = (
        "logs__eee_data_intercode_ctf_local_path_of_a_run.json",
        "tests.shop.test_refunds::test_within[en-GB]",
    )
    path = "/usr/local/home/ana/agents/travel/eval/inspire_me_about_the_Americas_and_Peru.test.json"
    results = [one_result(0, Verdict.FAILED, id=case_id), one_result(1, Verdict.FAILED, id=path)]
    pins = {"datasets": (DatasetPin(path=f"/srv/{name}", sha256="ab" * 32, cases=2),)}
    with serving(tmp_path, working=False) as served, Watched(browser, served.base) as watched:
        for id, called in ((FIRST, name), (SECOND, f"{name}.again")):
            served.do(keep(served.store, id, results, name=called, pins=pins))
        compared = f"/compare?run={FIRST}&run={SECOND}"
        pages = ("", "/cases/0", "/cases/1", "/triage", "/regrade")
        shown = ["/", "/label", compared, *(f"/runs/{FIRST}{page}" for page in pages)]
        for address in [*shown, f"/compare/case?run={FIRST}&run={SECOND}&case={quote(case_id)}", f"/label/{FIRST}"]:
            page = watched.open(address)
            page.evaluate(UNFOLD)
            page.wait_for_load_state("networkidle")
            for width in (320, 390, 768, 1440):
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (address, width)
            assert "/usr/local" not in page.locator("body").inner_text(), address
        expect(watched.open(f"/runs/{FIRST}/cases/1").locator(".crumb code")).to_have_text(path.rsplit("/", 1)[1])


def test_bug_03_the_offline_banner_is_only_where_something_was_judged(
    browser: Browser, walked: Served, house: tuple[Served, Everything]
) -> None:
    with Watched(browser, walked.base) as watched:
        page = watched.open(f"/runs/{UNJUDGED}")
        expect(page.locator("h1")).to_have_text("by program")
        assert "offline" not in page.locator("#head .warning").all_inner_texts()
        assert page.locator(".warning").count() == 0
        page.get_by_text("Who judged").click()
        expect(page.locator("main")).to_contain_text("Nobody: every grade was computed by program.")
    with Watched(browser, house[0].base) as watched:
        expect(watched.open(f"/runs/{SUPPORT}").locator(".warning")).to_contain_text("Judged offline")


def test_bug_04_a_criterion_is_told_in_words_and_never_as_a_hash(browser: Browser, walked: Served) -> None:
    with Watched(browser, walked.base) as watched:
        page = watched.open(f"/compare?run={FIRST}&run={SECOND}")
        expect(page.locator(".flips")).to_contain_text(f"{TEXT} (2)")
        assert text_id(f"{TEXT} (2)") not in page.content()
    comparison = walked.do(compare_stored(walked.store, CompareRequest(runs=(FIRST, SECOND))))
    (report,) = baseline_comparisons(comparison)
    assert [case.graders for case in report.better] == [f"criteria, {TEXT} (2)"]


def test_bug_05_three_runs_have_their_own_letters(browser: Browser, walked: Served) -> None:
    with Watched(browser, walked.base) as watched:
        page = watched.open(f"/compare?run={FIRST}&run={SECOND}&run={THIRD}")
        heads = [
            [head for head in table.locator("thead th").all_inner_texts() if len(head) == 1 and head != "n"]
            for table in page.locator(".against table.rates").all()
        ]
        assert [each for each in heads if each] == [["A", "B"], ["A", "C"]]
        titles = page.locator(".against > h2").all_inner_texts()
        assert titles == ["A version-1 → B version-2", "A version-1 → C version-3"]


def test_bug_06_times_are_those_of_the_agent(browser: Browser, walked: Served) -> None:
    with Watched(browser, walked.base) as watched:
        page = watched.open(f"/runs/{SPANS}")
        expect(page.locator(".case-lines .who")).to_have_text("1.61 s")
        page.locator(".case-lines a").click()
        expect(page.locator(".measured-of")).to_contain_text("1.61 s")
        # Where nobody recorded a time there is none: not that of the replay.
        assert not re.search(r"\d s", watched.open(f"/runs/{LONG}").locator(".case-lines .who").first.inner_text())


def test_bug_07_cost_and_tokens_are_those_of_the_answers(browser: Browser, walked: Served) -> None:
    with Watched(browser, walked.base, viewport={"width": 1440, "height": 900}) as watched:
        page = watched.open("/")
        line = page.get_by_role("row", name="with spans")
        expect(line.locator("[data-word=cost]")).to_have_text("$0.0021")
        expect(line.locator("[data-word='a case takes']")).to_have_text("1.61 s")
        expect(page.get_by_role("row", name="a long list").locator("[data-word=cost]")).to_have_text("–")
        page = watched.open(f"/runs/{SPANS}/cases/0")
        expect(page.locator(".measured-of")).to_have_text("1.61 s · 812 tokens · $0.0021")
        expect(watched.open(f"/runs/{SPANS}").locator(".facts")).to_contain_text("1.61 s each, 812 tokens, $0.0021")


def test_bug_08_a_run_has_one_interval_on_every_page(browser: Browser, house: tuple[Served, Everything]) -> None:
    with Watched(browser, house[0].base) as watched:
        assert "7 of 10 passed (70.0 %, likely 40–89 %)" in watched.open(f"/runs/{OLDER}").locator("#head").inner_text()
        page = watched.open("/agent?id=northwind-support")
        assert "[40–89]" in page.get_by_role("row", name="support-v1").inner_text()
        points = page.locator(".trend a title").all_text_contents()
        assert [point for point in points if "support-v1" in point] == [
            "support-v1, 2026-11-15 09:30: 70.0 % [40–89] n 10"
        ]


def test_bug_09_agents_have_names_and_nobody_reads_a_folder_of_the_server(browser: Browser, walked: Served) -> None:
    with Watched(browser, walked.base) as watched:
        page = watched.open("/")
        assert page.get_by_label("agent").locator("option").all_inner_texts() == ["any", "Northwind support (5)"]
        page.get_by_label("agent").select_option("northwind-support")
        expect(page.locator(".chips .chip")).to_have_text("agent: Northwind support ✕")
        page = watched.open("/label")
        shown = page.locator("main").inner_text()
        assert "Northwind support" in shown and "recorded:judge.jsonl" in shown
        assert "northwind-support" not in shown and "/srv/secret" not in shown


@pytest.mark.parametrize("shelf", ["rubrics", "test-sets", "question-sets"])
def test_bug_10_a_template_says_what_is_missing_in_it(browser: Browser, walked: Served, shelf: str) -> None:
    with Watched(browser, walked.base) as watched:
        page = watched.open(f"/library/{shelf}/new")
        first = page.locator("#problems").inner_text()
        page.locator("#text").press("End")
        with page.expect_response("**/check"):
            page.locator("#text").press_sequentially(" ")
        expect(page.locator("#problems")).to_have_text(first, use_inner_text=True)
        wrong = page.locator("#problems li.failed").count()
        assert ("Nothing is wrong with it." in first) == (wrong == 0)


def test_bug_11_leaving_an_editor_with_changes_asks(browser: Browser, walked: Served) -> None:
    with Watched(browser, walked.base) as watched:
        page = watched.open("/library/rubrics/new")
        asked: list[str] = []

        def stay(dialog: Dialog) -> None:
            asked.append(dialog.type)
            dialog.dismiss()

        page.remove_listener("dialog", watched._dialog)
        page.on("dialog", stay)
        page.locator("#text").press_sequentially("hello")
        page.locator("[data-go=r]").click()
        page.wait_for_timeout(300)
        assert (asked, page.url) == (["beforeunload"], f"{walked.base}/library/rubrics/new")
        # Whoever changed nothing, or took it back, is not asked.
        for _ in "hello":
            page.locator("#text").press("Backspace")
        page.locator("[data-go=r]").click()
        expect(page).to_have_url(f"{walked.base}/")
        assert asked == ["beforeunload"]


def focused(page: Page) -> Locator:
    """The name of the case whose line has the focus."""
    return page.locator("[data-line]:has(:focus) .id")


def press(page: Page, key: str) -> None:
    """When the page's keys are there: its text is seen before its script has run."""
    page.wait_for_load_state()
    page.keyboard.press(key)


def test_bug_12_page_line_and_focus_survive_a_case_and_back(browser: Browser, walked: Served) -> None:
    with Watched(browser, walked.base, viewport={"width": 1440, "height": 900}) as watched:
        page = watched.open(f"/runs/{LONG}")
        assert page.get_by_role("link", name="Previous cases").count() == 0
        page.get_by_role("link", name="More cases").click()
        expect(page.locator(".showing")).to_have_text("17–32 of 40")
        second = page.url
        page.locator(".case-lines a").nth(4).click()
        expect(page.locator("h1")).to_contain_text("Failed")
        press(page, "u")
        expect(page.locator(".showing")).to_have_text("17–32 of 40")
        expect(focused(page)).to_have_text("case-20")
        # Whoever went on to the next page case by case comes back to that page.
        page.locator(".case-lines a").nth(15).click()
        press(page, "n")
        expect(page.locator(".crumb")).to_contain_text("case-32")
        press(page, "u")
        expect(page.locator(".showing")).to_have_text("33–40 of 40")
        expect(focused(page)).to_have_text("case-32")
        page.get_by_role("link", name="Previous cases").click()
        expect(page.locator(".showing")).to_have_text("17–32 of 40")
        page.goto(second)
        page.locator(".case-lines a").nth(2).click()
        page.go_back()
        expect(page.locator(".showing")).to_have_text("17–32 of 40")
        expect(focused(page)).to_have_text("case-18")
        page.get_by_label("order").select_option("file")
        page.wait_for_url("**order=file**")
        expect(page.locator("select:focus")).to_have_attribute("name", "order")
        page.locator("#cases .chip", has_text="all").click()
        page.wait_for_url("**verdict=all**")
        expect(page.locator(".chip:focus")).to_have_text("all 40")


def test_bug_13_a_large_comparison_stays_under_300_kilobytes(tmp_path_factory: pytest.TempPathFactory) -> None:
    with serving(tmp_path_factory.mktemp("large"), working=False) as served:
        count = 1000
        served.do(keep(served.store, BIG_A, many(Verdict.PASSED, Verdict.FAILED, count), name="before"))
        served.do(keep(served.store, BIG_B, many(Verdict.FAILED, Verdict.PASSED, count), name="after", minutes=1))
        reply = Visitor(served.base).get(f"/compare?run={BIG_A}&run={BIG_B}")
        assert "Broken by the newer: 500" in reply.text and "Fixed by the newer: 500" in reply.text
        assert len(reply.text.encode()) < LARGEST


def test_bug_14_a_large_tool_result_opens_in_a_frame(browser: Browser, walked: Served) -> None:
    with Watched(browser, walked.base, viewport={"width": 1440, "height": 900}) as watched:
        page = watched.open(f"/runs/{SPANS}/cases/0")
        page.locator(".call summary").click()
        expect(page.locator(".call pre").last).to_contain_text("line 599")
        assert page.evaluate("document.documentElement.scrollHeight") < 2000
        page.locator(".call pre").last.focus()
        page.keyboard.press("End")
        expect(page.get_by_role("group", name="result of search")).to_be_visible()


def test_bug_15_versions_say_whose_they_are_and_a_file_is_the_same_by_every_door(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with serving(tmp_path_factory.mktemp("doors"), working=False) as served:
        served.do(stock_walked(served.store))
        run = served.do(served.store.run(SPANS))
        served.do(save_rubric(served.host, run, "me", EVERYWHERE))
        with Watched(browser, served.base) as watched:
            page = watched.open(f"/runs/{SPANS}/regrade")
            assert page.get_by_label("rubric").locator("option:checked").inner_text() == (
                "Northwind support rubric v1, as it is here now (this run used a file that calls itself version 7)"
            )
        visitor = Visitor(served.base)
        item = {"item_id": "hello", "type": "single_turn", "name": "Hello", "inputs": {"message": "hello"}}
        item["success_criteria"] = ["It greets"]
        file = json.dumps({"name": "Greetings", "agent_id": "moss", "items": [item]}).encode()
        for door in ("datasets", "test-sets"):
            reply = visitor.bring(f"/library/{door}/import?name=greetings.json&agent_id=moss", file)
            assert reply.status == 201, reply.text
            assert reply.json["address"].startswith("/library/test-sets/")
            assert reply.json["cases"].startswith("test_set:")


MEANINGFUL = """() => {
    const channels = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const parse = (text) => text.startsWith("color(srgb")
        ? channels(text.slice(10)).slice(0, 3).map((each) => each * 255) : channels(text).slice(0, 3);
    const linear = (each) => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4;
    const light = (text) => {
        const [red, green, blue] = parse(text).map((each) => linear(each / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const page = light(getComputedStyle(document.body).backgroundColor);
    const ratio = (text) => {
        const own = light(text);
        return (Math.max(own, page) + 0.05) / (Math.min(own, page) + 0.05);
    };
    const style = (each, name) => getComputedStyle(each)[name];
    const all = (selector) => [...document.querySelectorAll(selector)];
    const fields = all("input:not([type=hidden], [type=checkbox], [type=file]), select, textarea, button:not(.plain)")
        .filter((each) => !each.disabled && each.offsetParent && style(each, "borderTopWidth") !== "0px");
    const drawn = all(`.strip .likely, .strip .tick, .strip .axis, .fall rect, .chart .count-of, .interval .likely,
        .interval .axis, .trend .likely, .trend .point, .counts-bar rect:not(.pending)`);
    const found = [
        ...[...fields, ...all(".counts-bar")].map((each) => [each, style(each, "borderTopColor")]),
        ...drawn.map((each) => [each, style(each, each.classList.contains("open") ? "stroke" : "fill")]),
        ...all(".mark.passed, .mark.failed, .mark.errored").map((each) => [each, style(each, "backgroundColor")]),
    ];
    return found.filter(([, colour]) => ratio(colour) < 3)
        .map(([each, colour]) => `${each.outerHTML.slice(0, 80)} ${colour} ${ratio(colour).toFixed(2)}`);
}"""
LEVELS = "[...document.querySelectorAll('h1, h2, h3, h4')].map((each) => Number(each.tagName[1]))"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bug_16_everything_that_means_something_can_be_seen_and_pointed_at(
    browser: Browser, house: tuple[Served, Everything], scheme: Any
) -> None:
    """What axe finds is tried on every page in test_every_page; this is what it does not compute."""
    served, there = house
    with Watched(browser, served.base, color_scheme=scheme, viewport={"width": 1440, "height": 900}) as watched:
        for path in dict.fromkeys([*map(there.filled, SHOWN), *there.others, *PAGES.values()]):
            page = watched.open(path)
            page.evaluate(UNFOLD)
            assert page.evaluate(MEANINGFUL) == [], path
            levels = page.evaluate(LEVELS)
            assert all(after <= before + 1 for before, after in pairwise(levels)), (path, levels)
        page = watched.open(PAGES["run"])
        sizes = page.evaluate(
            "[...document.querySelectorAll('.matrix thead a')].map((each) => each.getBoundingClientRect())"
            ".map((box) => Math.min(box.width, box.height))"
        )
        assert sizes and min(sizes) >= 24


def test_bug_17_no_page_names_an_option_of_the_command_line(browser: Browser, house: tuple[Served, Everything]) -> None:
    served, there = house
    text = """() => {
        const all = document.body.cloneNode(true);
        all.querySelectorAll("code").forEach((each) => each.remove());
        return all.innerText;
    }"""
    with Watched(browser, served.base) as watched:
        for path in dict.fromkeys([*map(there.filled, SHOWN), *there.others]):
            assert re.findall(r"(?<![\w-])--[a-z][\w-]*", watched.open(path).evaluate(text)) == [], path
        page = watched.open(f"/start?cases=test_set:{there.test_set}")
        page.get_by_label("how the agent is reached").select_option("recorded")
        page.get_by_role("button", name="Start the run").click()
        said = page.locator("[role=alert]").inner_text()
        assert "1 answer is missing: hello." in said
        assert "Choose under “how the agent is reached” who answers them." in said
        number = page.get_by_label("each case how often")
        number.fill("0")
        assert "1" in number.evaluate("(each) => each.validationMessage")
        assert number.evaluate("(each) => each.validity.patternMismatch") is False


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ("x.json: may be any of golden, plain; name one with --from", "x.json: may be any of golden, plain"),
        (
            "these runs have several candidates ('a', 'b'): say --candidate",
            "these runs have several candidates ('a', 'b'): choose runs that have one",
        ),
        (
            "style needs a model; use --judge MODEL or --graders -style",
            "style needs a model; choose a judge that is a model",
        ),
        ("--repeat must be 1 or more, not 0", "how often each case is tried must be 1 or more, not 0"),
        ("`howsure triage 12 --json` does it", "`howsure triage 12 --json` does it"),
        ("nothing to do -- really", "nothing to do -- really"),
    ],
)
def test_bug_17_advice_says_what_to_choose_on_the_page(told: str, read: str) -> None:
    assert page_words(told) == read


def test_bug_18_sentences_lists_and_chips_read_as_a_person_would_write_them(
    browser: Browser, house: tuple[Served, Everything], walked: Served
) -> None:
    with Watched(browser, walked.base) as watched:
        page = watched.open(f"/compare?run={FIRST}&run={THIRD}")
        fixed = page.locator(".flips section", has_text="Fixed by the newer").locator("li a").all_inner_texts()
        assert fixed == ["case-02", "case-04"]
        page = watched.open(f"/runs/{LONG}?q=thirty")
        expect(page.locator("#cases .chip", has_text="thirty")).to_have_text("search: thirty ✕")
    comparison = walked.do(compare_stored(walked.store, CompareRequest(runs=(FIRST, THIRD))))
    (pair,) = comparison.pairs
    more = tuple(pair.differences[:1]) * 47
    (report,) = baseline_comparisons(replace(comparison, pairs=(replace(pair, differences=more),)))
    assert report.apart_left_out == "7 more differences, which could not be compared or tell nothing sure"
    with Watched(browser, house[0].base) as watched:
        shown = watched.open(f"/runs/{OLDER}/triage").locator("h3").all_inner_texts()
        assert not [title for title in shown if title.startswith("Then")]
        assert "Mend the agent" in shown


def test_bug_19_what_goes_wrong_keeps_its_distance_without_a_matrix(browser: Browser, walked: Served) -> None:
    with Watched(browser, walked.base, viewport={"width": 1440, "height": 900}) as watched:
        page = watched.open(f"/runs/{SPANS}")
        assert page.locator(".matrix").count() == 0
        gap = page.evaluate(
            "document.querySelector('#wrong-title').getBoundingClientRect().top"
            " - document.querySelector('#head').getBoundingClientRect().bottom"
        )
        assert gap >= 24
