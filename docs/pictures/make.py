"""The pictures of the documentation, made anew: `make pictures`. The demo runs in a temporary folder, its pages and
reports are opened in a real Chromium, and each is photographed at the size that the documentation shows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Browser, sync_playwright

import howsure

HERE = Path(__file__).parent
DEMO = HERE.parents[1] / "src" / "howsure" / "demo"
ADDRESS = "http://127.0.0.1:8765"
FAILED_CASE = "e17989d4-46cf-531c-9dbd-4f19be74c73e"
"""The neighbour's address, which the demo's agent gave away."""
CELL = 'run = howsure.evaluate(CASES, shop.answer, name="before", gates=["pass_rate >= 0.9", "errors <= 0"])\nrun'
CASES = [
    {"id": "delivered", "input": "Where is order 4?", "expected": "It was delivered on Monday."},
    {"id": "late", "input": "Where is order 5?", "expected": "It arrives on Friday."},
    {"id": "unknown", "input": "Where is order 7?", "expected": "There is no order 7."},
]
ANSWERS = {"4": "It was delivered on Monday.", "5": "It arrives on Friday."}


def shop(text: str) -> str:
    return ANSWERS.get(text.rstrip("?")[-1], "It is on its way.")


def command(*words: str) -> str:
    program = [sys.executable, "-m", "howsure", *words]
    return subprocess.run(program, capture_output=True, text=True, check=False).stdout


def run_of(candidate: str) -> str:
    """The id of a run over the answers of one candidate of the legal demo."""
    answers = map(json.loads, (DEMO / "legal" / "responses.jsonl").read_text(encoding="utf-8").splitlines())
    own = [{**each, "candidate_name": ""} for each in answers if each["candidate_name"] == candidate]
    file = Path(f"{candidate}.jsonl")
    file.write_text("".join(json.dumps(each) + "\n" for each in own), encoding="utf-8")
    words = ("run", str(DEMO / "legal" / "compliance.jsonl"), "--responses", str(file), "--name", candidate, "--json")
    run_id: str = json.loads(command(*words))["run_id"]
    return run_id


@contextmanager
def service() -> Iterator[None]:
    words = [sys.executable, "-m", "howsure", "serve", "--port", ADDRESS.rpartition(":")[2]]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                urlopen(f"{ADDRESS}/api/v1/health", timeout=5).close()
                break
            except (URLError, OSError):
                time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(20)


def photograph(browser: Browser, url: str, name: str, size: tuple[int, int], *, dark: bool = False) -> None:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light")
    page.goto(url)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=HERE / name)
    page.close()


def notebook_page() -> str:
    run = howsure.evaluate(CASES, shop, name="before", gates=["pass_rate >= 0.9", "errors <= 0"])
    style = "body{font:14px sans-serif;margin:16px} pre{background:#f7f7f7;border:1px solid #ddd;padding:8px}"
    return f"<style>{style}</style><pre>{CELL}</pre>{run._repr_html_()}"


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("pictures need Chromium (Debian: apt-get install chromium)")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.chdir(folder)
        runs = {each["name"]: each["run_id"] for each in json.loads(command("demo", "--json"))}
        before, after = run_of("juno-mini"), run_of("juno-large")
        command("report", runs["demo test-set"], "--output", "run.html")
        command("report", after, "--output", "baseline.html", "--baseline", before)
        Path("notebook.html").write_text(notebook_page(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        here, run = f"file://{folder}", runs["demo test-set"]
        photograph(browser, f"{here}/run.html", "report-light.png", (1100, 620))
        photograph(
            browser, f"{here}/run.html#case={FAILED_CASE}&by=&repeat=1", "report-case-dark.png", (1240, 640), dark=True
        )
        photograph(browser, f"{here}/baseline.html", "report-baseline.png", (1100, 700))
        photograph(browser, f"{here}/notebook.html", "notebook.png", (900, 365))
        with service():
            photograph(browser, f"{ADDRESS}/", "web-runs.png", (1440, 560))
            photograph(browser, f"{ADDRESS}/runs/{run}", "web-run.png", (1280, 760))
            photograph(browser, f"{ADDRESS}/runs/{run}/cases/3", "web-case-dark.png", (1280, 760), dark=True)
            photograph(browser, f"{ADDRESS}/label/{run}?what=rubric", "web-label.png", (1280, 640))
            photograph(browser, f"{ADDRESS}/compare?run={before}&run={after}", "web-compare.png", (1280, 760))
        browser.close()
        os.chdir(HERE)


if __name__ == "__main__":
    main()
