"""Signing in at a real provider of identities (Canaille, a process of its own), in a real browser: the role is that of
the groups, and signing out ends the session at once. `make test-oidc` installs the provider."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import socket

import pytest
from playwright.sync_api import Browser, Page, expect

from howsure.config import GroupRole, OidcSettings
from howsure.model.access_scope import AccessRole
from unit.reports.northwind import refund_results
from web.looking import needs_chromium
from web.pages_served import Served, serving
from web.stocked import OLDER, keep
from web.visiting import Visitor

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-frameworks" / "oidc" / "bin" / "python"
PASSWORD = "correct horse battery staple"
SECRET = "HOWSURE_TEST_CLIENT_SECRET"

pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="there is no provider to sign in at: run `make test-oidc`"),
    needs_chromium,
]


def free_port() -> int:
    with socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def provider(port: int, base: str) -> Iterator[None]:
    words = [str(port), f"{base}/sign-in/provider/callback", f"{base}/sign-in"]
    started = subprocess.Popen(
        [PYTHON, Path(__file__).parent / "provider.py", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert started.stdin is not None and started.stdout is not None
    try:
        assert started.stdout.readline() == "ready\n"
        yield
    finally:
        started.stdin.close()
        started.stdout.close()
        started.wait(30)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv(SECRET, "s3cret-of-howsure")
    port = free_port()
    settings = OidcSettings(
        issuer=f"http://127.0.0.1:{port}",
        client_id="howsure",
        client_secret=f"${{{SECRET}}}",
        name="Canaille",
        roles={"evaluators": GroupRole(role=AccessRole.RUNNER, organization="acme")},
    )
    with serving(tmp_path, keys_needed=True, working=False, oidc=settings) as running:
        running.do(keep(running.store, OLDER, refund_results(), name="of acme", organization_id="acme"))
        # Another name than the provider's: to the browser they are two sites, as they are in earnest.
        running.base = running.base.replace("127.0.0.1", "localhost")
        with provider(port, running.base):
            yield running


def sign_in(page: Page, name: str) -> None:
    page.get_by_role("link", name="Sign in with Canaille").click()
    page.locator("input[name=login]").fill(name)
    page.keyboard.press("Enter")
    page.locator("input[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")


def test_signing_in_gives_the_role_of_the_group_and_signing_out_ends_it(browser: Browser, served: Served) -> None:
    context = browser.new_context(base_url=served.base)
    page = context.new_page()
    page.goto(f"/runs/{OLDER}")
    sign_in(page, "ana")
    page.wait_for_url(f"**/runs/{OLDER}")
    leave = page.get_by_role("button", name="Sign out Ana Example")
    expect(leave).to_be_visible()
    cookie = "; ".join(f"{each['name']}={each['value']}" for each in context.cookies(served.base))
    thief = Visitor(served.base)
    asked = {
        path: thief.get(path, Cookie=cookie).status for path in ("/", "/start", "/settings", "/library/rubrics/new")
    }
    assert asked == {"/": 200, "/start": 200, "/settings": 403, "/library/rubrics/new": 403}
    (session,) = thief.get("/settings/sessions", Accept="application/json", Cookie=cookie).json["lines"]
    assert (session["organization"], session["name"].startswith("Ana Example (")) == ("acme", True)
    leave.click()
    page.wait_for_url(lambda url: not url.startswith(served.base) or url.endswith("/sign-in"))
    assert thief.get("/", Cookie=cookie).leads_to.startswith("/sign-in")
    context.close()


def test_whoever_is_in_no_listed_group_is_refused_in_words(browser: Browser, served: Served) -> None:
    context = browser.new_context(base_url=served.base)
    page = context.new_page()
    page.goto("/")
    sign_in(page, "bo")
    expect(page.get_by_role("alert")).to_contain_text("None of your groups may use this service")
    assert Visitor(served.base).get("/").status == 303
    context.close()
