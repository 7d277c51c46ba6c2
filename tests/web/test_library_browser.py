"""The library, the start of a run and the settings in a real browser: problems appear while somebody types, everything
can be read without scripts, in the dark, on a telephone and by a machine that reads aloud."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from howsure.model.access_scope import EVERYWHERE
from howsure.model.document import DocumentKind
from howsure.services.host import documents
from howsure.services.host.keys import KeyRequest, make_key
from howsure.store.keys import KeyScope
from web.looking import Watched, needs_chromium
from web.pages_served import Served, serving

pytestmark = needs_chromium
RULE = {"id": "KIND", "name": "Is kind", "severity": "high", "description": "It stays friendly."}
CASE = {"item_id": "hello", "type": "single_turn", "name": "Hello", "inputs": {"message": "hello"}}
LONG = "An-agent-whose-name-is-much-longer-than-any-telephone-is-wide-and-has-no-spaces-in-it"


class Shop:
    """A service with something in its library."""

    def __init__(self, served: Served, rubric: str, test_set: str) -> None:
        self.served = served
        self.rubric = rubric
        self.test_set = test_set

    @property
    def addresses(self) -> list[str]:
        return [
            "/library/rubrics",
            "/library/datasets",
            "/library/test-sets/new",
            self.rubric,
            self.test_set,
            f"{self.rubric}/edit",
            f"{self.rubric}/difference?from=1&to=2",
            f"{self.test_set}/export?to=golden",
            "/start",
            "/settings",
        ]


async def _filled(served: Served) -> tuple[str, str]:
    host, rubric, cases = served.host, DocumentKind.RUBRIC, DocumentKind.TEST_SET
    body = {"name": "House rules", "agent_id": LONG, "rules": [RULE]}
    made = await documents.add_document(
        host, rubric, documents.DocumentChange(body=body, author="ana", note="first"), EVERYWHERE
    )
    milder = {**body, "rules": [{**RULE, "severity": "low"}, {"id": "B", "name": "Brief", "severity": "low"}]}
    await documents.change_document(
        host, rubric, made.id, documents.DocumentChange(body=milder, author="bo", note="milder"), EVERYWHERE
    )
    asked = {"name": "Greetings", "agent_id": "moss", "items": [{**CASE, "expected": {"success_criteria": ["Hi"]}}]}
    test_set = await documents.add_document(host, cases, documents.DocumentChange(body=asked), EVERYWHERE)
    await make_key(served.store, KeyRequest(name=LONG, scopes=list(KeyScope), agent_ids=(LONG,)))
    return f"/library/rubrics/{made.id}", f"/library/test-sets/{test_set.id}"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with serving(tmp_path_factory.mktemp("shop"), working=False) as served:
        yield Shop(served, *served.do(_filled(served)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_every_page_can_be_used_by_everybody(shop: Shop, browser: Browser, scheme: str, width: int) -> None:
    with Watched(browser, shop.served.base, viewport={"width": width, "height": 800}, color_scheme=scheme) as watched:
        for address in shop.addresses:
            watched.page.goto(shop.served.base + address)
            assert watched.page.evaluate("document.documentElement.scrollWidth") == width, address
            assert watched.findings() == [], address
        assert watched.trouble == []
        assert watched.strangers == []


def test_problems_appear_beside_the_line_while_typing(shop: Shop, browser: Browser) -> None:
    with Watched(browser, shop.served.base) as watched:
        page = watched.page
        page.goto(f"{shop.served.base}{shop.rubric}/edit")
        expect(page.locator(".gutter .at")).to_have_count(1)
        text = page.input_value("#text")
        page.fill("#text", text.replace('"severity": "low"', '"severity": "mild"', 1))
        expect(page.locator("#problems h2")).to_contain_text("1 problem to put right before it can be kept")
        line = text.split('"severity": "low"')[0].count("\n") + 1
        expect(page.locator("#problems button").first).to_have_text(f"line {line}")
        expect(page.locator(".gutter .at.failed")).to_have_text(str(line))
        page.locator("#problems button").first.click()
        chosen = page.locator("#text").evaluate("each => each.value.slice(each.selectionStart, each.selectionEnd)")
        assert chosen.strip() == '"severity": "mild",'
        page.fill("#text", text)
        expect(page.locator("#problems h2")).to_contain_text("Nothing is wrong")
        assert watched.trouble == []


def test_a_new_version_is_written_compared_and_restored(shop: Shop, browser: Browser) -> None:
    with Watched(browser, shop.served.base) as watched:
        page = watched.page
        page.goto(f"{shop.served.base}/library/rubrics/new")
        page.fill("#text", json.dumps({"name": "Made here", "rules": [RULE]}, indent=2))
        page.click("text=Keep it")
        expect(page.locator("h1")).to_have_text("Made here")
        page.click("a.button:has-text('Edit')")
        page.fill("#text", page.input_value("#text").replace("Is kind", "Is very kind"))
        page.fill("input[name=note]", "clearer")
        page.click("text=Keep it as a new version")
        expect(page.locator(".answer")).to_contain_text("Version 2, the newest: 1 rule")
        page.click("text=against version 1")
        expect(page.locator("h1")).to_have_text("1 change from version 1 to 2.")
        expect(page.locator("del")).to_have_text("Is kind")
        expect(page.locator("ins")).to_have_text("Is very kind")
        page.click("text=Make version 1 the newest again")
        expect(page.locator(".answer")).to_contain_text("Version 3, the newest: 1 rule")
        watched.answers = [""]
        page.click("button:has-text('Delete')")
        page.wait_for_url("**/library/rubrics")
        assert watched.trouble == []


def test_without_scripts_everything_can_be_read_and_written(shop: Shop, browser: Browser) -> None:
    with Watched(browser, shop.served.base, java_script_enabled=False) as watched:
        page = watched.page
        for address in shop.addresses:
            page.goto(shop.served.base + address)
            expect(page.locator("h1")).not_to_be_empty()
        page.goto(f"{shop.served.base}/library/rubrics/new")
        page.fill("#text", '{"name": "x", "rules": [{"id": "a"}]}')
        page.click("text=Keep it")
        expect(page.locator("#problems h2")).to_contain_text("problems to put right")
        expect(page.locator("#text")).to_have_value('{"name": "x", "rules": [{"id": "a"}]}')
