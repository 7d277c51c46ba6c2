"""One walk through the pages: a file becomes a run, its failures are looked at and labelled, the labels say how far to
believe the judge, and the rule is put better. In a browser, and nothing goes wrong on the way."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from web.pages_served import serving

CHROMIUM = shutil.which("chromium")
DEMO = Path(__file__).parents[2] / "src" / "assay" / "demo"
RUBRIC = DEMO / "test-set" / "rubric.json"
SIMULATION = DEMO / "simulation" / "support-simulation.csv"


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")
def test_from_a_file_to_a_better_rubric(tmp_path: Path) -> None:
    trouble: list[str] = []
    with serving(tmp_path) as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("response", lambda reply: trouble.append(reply.url) if reply.status >= 400 else None)

        page.goto(f"{served.base}/library/rubrics")
        page.set_input_files("input[type=file]", RUBRIC)
        page.click("text=Bring it in")
        expect(page.locator("h1")).to_have_text("Moss: how we want to be served")
        rubric = page.url

        page.goto(f"{served.base}/start")
        page.set_input_files("input[type=file]", SIMULATION)
        page.click("text=Bring it in")
        page.wait_for_url("**/start?cases=dataset:*")
        page.select_option("select[name=target]", "recorded")
        page.select_option("select[name=rubric]", index=1)
        page.fill("input[name=name]", "first try")
        page.click("text=Start the run")
        page.wait_for_url("**/runs/*")
        run = page.url.rsplit("/", 1)[1]
        expect(page.locator("#live")).to_contain_text("0 pending", timeout=30_000)

        page.goto(f"{served.base}/runs/{run}/cases/0")
        page.click("main a:text-is('Label')")
        expect(page.locator("h1")).to_contain_text("What would you say? 0 of")
        with page.expect_navigation():
            page.keyboard.press("2")
        expect(page.locator(".answered")).to_contain_text("too few to say")
        page.click("text=agreement >> nth=0")
        expect(page.locator("h1")).to_have_text("1 label, on nothing that the judge said pass or fail of.")

        page.goto(f"{rubric}/edit")
        text = json.loads(page.input_value("#text"))
        text["rules"][0]["severity"] = "low"
        page.fill("#text", json.dumps(text, indent=2))
        page.fill("input[name=note]", "people were milder")
        page.click("text=Keep it as a new version")
        expect(page.locator(".answer")).to_contain_text("Version 2, the newest")
        page.click("text=Start a run with it")
        expect(page.locator("select[name=rubric] option:checked")).to_contain_text("v2")
        browser.close()
    assert trouble == []
