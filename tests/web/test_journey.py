"""The whole way, in one browser: a dataset is brought in and run, its progress is watched as it happens, a failure is
opened and labelled, the rubric is put better, the same answers are judged anew, both gradings are compared, and it is
run once more. Once with a mouse, once with the keyboard alone, once on a telephone; and read without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from web.looking import Watched, needs_chromium
from web.pages_served import Served, serving

pytestmark = needs_chromium
DEMO = Path(__file__).parents[2] / "src" / "howsure" / "demo"
SIMULATION = DEMO / "simulation" / "support-simulation.csv"
PRIVACY = "Other people's data stay with us"
SOON = 60_000
MANY = 400
"""So often is Tab pressed before something counts as out of reach."""
HERE = "each => each === document.activeElement"


class Walker:
    """Somebody with a mouse, or a finger."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.page = watched.page

    def choose(self, what: Locator) -> None:
        what.click()

    def pick(self, what: Locator, words: str) -> None:
        what.select_option(label=words)

    def open_first(self) -> None:
        self.page.locator(".case-lines a").first.click()

    def write(self, what: Locator, text: str) -> None:
        what.fill(text)


class Typist(Walker):
    """Somebody with a keyboard alone: what cannot be reached by Tab and keys is not there."""

    def reach(self, what: Locator) -> None:
        for _ in range(MANY):
            if what.evaluate(HERE):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{what} cannot be reached by keyboard")

    def choose(self, what: Locator) -> None:
        expect(what).to_be_visible()
        self.reach(what)
        self.page.keyboard.press("Enter")

    def pick(self, what: Locator, words: str) -> None:
        self.reach(what)
        self.page.keyboard.type(words[:12])

    def open_first(self) -> None:
        self.page.keyboard.press("j")
        self.page.keyboard.press("Enter")

    def write(self, what: Locator, text: str) -> None:
        self.reach(what)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Served]:
    """Nobody works until it is said: so that what waits can be seen to wait."""
    with serving(tmp_path, working=False) as served:
        yield served


@pytest.mark.parametrize(
    ("walker", "width"), [(Walker, 1440), (Walker, 390), (Typist, 1440)], ids=["mouse", "telephone", "keyboard"]
)
def test_from_a_dataset_to_a_better_rubric(browser: Browser, house: Served, walker: type[Walker], width: int) -> None:
    with Watched(browser, house.base, viewport={"width": width, "height": 844}) as watched:
        somebody = walker(watched)
        load_the_demo(somebody)
        first = bring_and_run(somebody, house)
        graded = fix_the_rubric(somebody)
        run_again(somebody)
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
        assert watched.trouble == []
        assert watched.strangers == []
        read_without_scripts(browser, house, [first, graded])


def load_the_demo(somebody: Walker) -> None:
    page = somebody.watched.open("/")
    somebody.choose(page.get_by_role("button", name="Load the demo"))
    expect(page.locator("#lines .answer")).to_have_text("5 runs, 5 going on.", timeout=SOON)


def bring_and_run(somebody: Walker, house: Served) -> str:
    """A file becomes a run, which is watched."""
    page = somebody.page
    somebody.choose(page.get_by_role("link", name="Start a run"))
    page.set_input_files("input[type=file]", SIMULATION)
    somebody.choose(page.get_by_role("button", name="Bring it in"))
    page.wait_for_url("**/start?cases=dataset:*")
    somebody.pick(page.get_by_label("how the agent is reached"), "the answers that the cases bring")
    somebody.write(page.get_by_label("name (empty"), "first try")
    somebody.choose(page.get_by_role("button", name="Start the run"))
    page.wait_for_url("**/runs/*")
    expect(page.locator(".counts")).to_contain_text("13 pending = 13")
    house.work()
    # Nobody reloads the page: it is told, and shows what is new.
    expect(page.locator(".counts")).to_contain_text("0 pending = 13", timeout=SOON)
    expect(page.locator(".case-lines .id").first).to_be_visible(timeout=SOON)
    assert any(url.endswith("/events") for url in somebody.watched.asked)
    return page.url


def fix_the_rubric(somebody: Walker) -> str:
    """A failure of the demo: opened, labelled, its rule made milder, judged anew, compared."""
    page = somebody.page
    page.goto(f"{somebody.watched.base}/?q=test-set")
    expect(page.locator("#lines .answer")).to_contain_text("none going on", timeout=SOON)
    somebody.choose(page.get_by_role("link", name="demo test-set"))
    somebody.choose(page.locator(".wrong a", has_text=PRIVACY))
    page.wait_for_url("**part=PROTECT_CUSTOMER_DATA*")
    somebody.open_first()
    expect(page.locator("h1")).to_contain_text("Failed")
    case = page.url
    somebody.choose(page.get_by_role("main").get_by_role("link", name="Label", exact=True))
    expect(page.locator("h1")).to_contain_text("What would you say? 0 of")
    somebody.choose(page.get_by_role("button", name="fail"))
    expect(page.locator(".answered")).to_contain_text("Saved")
    page.goto(case)
    expect(page.locator(".people")).to_have_text("local: fail")
    somebody.choose(page.get_by_role("button", name="Edit its rubric"))
    text = page.locator("#text")
    somebody.write(text, text.input_value().replace('"severity": "high"', '"severity": "low"', 1))
    expect(page.locator("#problems h2")).to_contain_text("Nothing is wrong")
    somebody.write(page.get_by_label("why (kept"), "people were milder")
    somebody.choose(page.get_by_role("button", name="Keep it as a new version"))
    expect(page.locator(".answer")).to_contain_text("Version 2, the newest")
    page.goto(case.partition("/cases/")[0])
    somebody.choose(page.get_by_role("link", name="Grade again"))
    offered = "v2, as it is here now (this run used a file that calls itself version 1)"
    expect(page.get_by_label("rubric").locator("option:checked")).to_contain_text(offered)
    somebody.choose(page.get_by_role("button", name="Grade again"))
    expect(page.locator(".counts")).to_contain_text("9 passed", timeout=SOON)
    # When it has ended, all of it is shown.
    expect(page.locator("[sse-connect]")).to_have_count(0, timeout=SOON)
    expect(page.locator(".counts")).to_contain_text("0 pending")
    somebody.choose(page.get_by_role("link", name="Compare with what it grades again"))
    expect(page.locator("h1")).to_have_text("A demo test-set → B demo test-set, graded again", timeout=SOON)
    expect(page.locator(".against")).to_contain_text("Fixed by the newer: 1")
    expect(page.locator(".against")).to_contain_text("The rubric differs")
    return page.url


def run_again(somebody: Walker) -> None:
    page = somebody.page
    page.goto(f"{somebody.watched.base}/library/rubrics")
    somebody.choose(page.get_by_role("link", name="Moss: how we want to be served"))
    somebody.choose(page.get_by_role("link", name="Start a run with it"))
    expect(page.get_by_label("rubric").locator("option:checked")).to_contain_text("v2")
    somebody.pick(page.locator("select[name=cases]"), "support-simulation.csv v1")
    somebody.pick(page.get_by_label("how the agent is reached"), "the answers that the cases bring")
    somebody.choose(page.get_by_role("button", name="Start the run"))
    page.wait_for_url("**/runs/*")
    expect(page.locator(".counts")).to_contain_text("0 pending = 13", timeout=SOON)


def read_without_scripts(browser: Browser, house: Served, addresses: list[str]) -> None:
    with Watched(browser, house.base, java_script_enabled=False) as watched:
        for address in addresses:
            watched.page.goto(address)
            expect(watched.page.locator("main")).not_to_be_empty()
        watched.open("/")
        expect(watched.page.locator("tbody tr")).to_have_count(8)
        watched.page.get_by_role("link", name="first try").click()
        watched.page.locator(".case-lines a").first.click()
        expect(watched.page.locator(".talk .turn").first).to_be_visible()
        expect(watched.page.locator(".grade").first).to_be_visible()
