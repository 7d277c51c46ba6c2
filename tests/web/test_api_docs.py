"""The page of the API: it shows every operation, sends requests, asks nobody but us, and keeps to the strict policy."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Browser, expect

from howsure.services.host.keys import KeyRequest, make_key
from howsure.store.keys import KeyScope
from web.looking import Watched, needs_chromium
from web.pages_served import serving
from web.visiting import Visitor

pytestmark = needs_chromium


def test_every_operation_is_there_and_can_be_sent(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    with serving(tmp_path_factory.mktemp("docs"), working=False) as served, Watched(browser, served.base) as watched:
        described = json.loads(Visitor(served.base).get("/api/v1/openapi.json").text)
        number = sum(len(operations) for operations in described["paths"].values())
        page = watched.open("/docs")
        expect(page.locator("details[data-words]")).to_have_count(number)
        policy = watched.visit("/docs").headers["content-security-policy"]
        assert "script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        # Found by a word, filled in and sent.
        page.get_by_label("find").fill("rubrics_create")
        expect(page.locator("details[data-words]:visible")).to_have_count(1)
        create = page.locator("details[data-words]:visible")
        create.locator("summary").first.click()
        body = create.get_by_label("body (application/json)")
        assert json.loads(body.input_value())["rules"]
        create.get_by_text("body: RubricGiven").click()
        expect(create.locator("table").first).to_contain_text("severity_definitions")
        create.get_by_text("list of RuleShape").first.wait_for()
        create.get_by_role("button", name="Send POST").click()
        answer = create.get_by_label("answer", exact=True)
        expect(answer).to_contain_text("POST /api/v1/rubrics\n201 in ")
        expect(answer).to_contain_text("location: /api/v1/rubrics/")
        rubric = json.loads(answer.inner_text().split("\n\n", 1)[1])["rubric_id"]
        # A path is filled in, and a refusal is shown as it is.
        page.get_by_label("find").fill("rubrics_get")
        read = page.locator("details[data-words]:visible").first
        read.locator("summary").first.click()
        read.get_by_label("id (path)").fill(rubric)
        read.get_by_role("button", name="Send GET").click()
        expect(read.get_by_label("answer", exact=True)).to_contain_text('"version": 1')
        read.get_by_label("id (path)").fill("<b>none")
        read.get_by_role("button", name="Send GET").click()
        expect(read.get_by_label("answer", exact=True)).to_contain_text("there is no rubric <b>none")
        assert watched.findings() == []
        assert watched.strangers == []
        assert [each for each in watched.trouble if "404" not in each] == []


def test_where_keys_are_needed_one_is_sent(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    with serving(tmp_path_factory.mktemp("keys"), keys_needed=True, working=False) as served:
        _, secret = served.do(make_key(served.store, KeyRequest(name="dashboard", scopes=(KeyScope.READ,))))
        with Watched(browser, served.base) as watched:
            page = watched.open("/docs")
            page.get_by_label("find").fill("whoami")
            who = page.locator("details[data-words]:visible")
            who.locator("summary").first.click()
            who.get_by_role("button", name="Send GET").click()
            expect(who.get_by_label("answer", exact=True)).to_contain_text("401 in ")
            page.get_by_label("key", exact=True).fill(secret)
            who.get_by_role("button", name="Send GET").click()
            expect(who.get_by_label("answer", exact=True)).to_contain_text('"name": "dashboard"')
            assert watched.strangers == []
