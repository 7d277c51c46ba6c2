"""Attachments: served by their number, from the folder of the dataset and nowhere else; pictures and text are shown,
everything else is a file; nothing of it can run, and others do not see it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser

from howsure.model.case import Attachment, SingleTurn
from howsure.model.run import DatasetPin
from howsure.services.host.keys import KeyRequest, make_key
from howsure.store.keys import KeyScope
from howsure.web.pages.case import ATTACHMENT_POLICY, FILE, TEXT, find_attachment, folders_of
from store.making import a_result, a_run, numbered
from web.looking import Watched, needs_chromium
from web.pages_served import Served, serving
from web.visiting import Visitor

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000a49444154789c63000100000500010d0a2db40000000049454e44ae426082"
)
HTML = b"<script>alert('planted')</script>"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
NAMED = ("notes.txt", "photo.png", "page.html", "scan.pdf", "../secret.txt", "/etc/passwd", "gone.txt", "link.txt")
NUMBERS = {name: place for place, name in enumerate(NAMED, start=1)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("files")
    data = base / "data"
    data.mkdir()
    (base / "secret.txt").write_text("nobody's business")
    (data / "cases.jsonl").write_text("{}")
    (data / "notes.txt").write_text("Grüße & <b>words</b>")
    (data / "photo.png").write_bytes(PNG)
    (data / "page.html").write_bytes(HTML)
    (data / "scan.pdf").write_bytes(b"%PDF-1.7\n\xff\xfe\x00")
    (data / "link.txt").symlink_to(base / "secret.txt")
    return data


def address_of(number: int) -> str:
    return f"/runs/{numbered(7)}/cases/0/attachments/{number}"


async def _stocked(served: Served, folder: Path) -> None:
    run = a_run(numbered(7), total=1, organization_id="acme")
    pin = DatasetPin(path=str(folder / "cases.jsonl"), sha256="ab" * 32)
    await served.store.create_run(replace(run, pins=replace(run.pins, datasets=(pin,))))
    result = a_result(0)
    files = tuple(Attachment(path=name, kind="file", title=f"the {name}") for name in NAMED)
    asked = SingleTurn(message="Look at these", attachments=files)
    await served.store.save(run.id, [replace(result, case=replace(result.case, input=asked))])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("attachments"), working=False) as running:
        running.do(_stocked(running, folder))
        yield running


@pytest.mark.parametrize(
    ("name", "media", "manner"),
    [
        ("notes.txt", "text/plain; charset=utf-8", "inline"),
        ("photo.png", "image/png", "inline"),
        ("page.html", "text/plain; charset=utf-8", "inline"),
        ("scan.pdf", "application/octet-stream", "attachment"),
    ],
)
def test_a_file_is_shown_or_handed_over_and_runs_nothing(served: Served, name: str, media: str, manner: str) -> None:
    reply = Visitor(served.base).get(address_of(NUMBERS[name]))
    assert (reply.status, reply.headers["content-type"]) == (200, media)
    assert reply.headers["content-disposition"] == f"{manner}; filename*=UTF-8''{name}"
    assert reply.headers["content-security-policy"] == ATTACHMENT_POLICY
    assert "sandbox" in ATTACHMENT_POLICY and "script" not in ATTACHMENT_POLICY
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd", "gone.txt", "link.txt"])
def test_what_lies_elsewhere_is_not_there(served: Served, name: str) -> None:
    reply = Visitor(served.base).get(address_of(NUMBERS[name]))
    assert reply.status == 404
    assert "business" not in reply.text and "root:" not in reply.text


@pytest.mark.parametrize("number", ["0", "9", "-1", "x", "1e3", "..%2f..%2fsecret.txt", "%2e%2e"])
def test_an_address_names_a_number_and_nothing_else(served: Served, number: str) -> None:
    reply = Visitor(served.base).get(f"/runs/{numbered(7)}/cases/0/attachments/{number}")
    assert reply.status == 404
    assert "business" not in reply.text


def test_the_case_leads_to_each(served: Served) -> None:
    page = Visitor(served.base).get(f"/runs/{numbered(7)}/cases/0").text
    for name, number in NUMBERS.items():
        assert f'<a href="{address_of(number)}">the {name}</a>' in page


def test_others_see_none(tmp_path: Path, folder: Path) -> None:
    with serving(tmp_path, keys_needed=True, working=False) as locked:
        locked.do(_stocked(locked, folder))
        statuses = {}
        for organization in ("acme", "others"):
            wanted = KeyRequest(name=organization, scopes=[KeyScope.READ], organization_id=organization)
            _, secret = locked.do(make_key(locked.store, wanted))
            statuses[organization] = Visitor(locked.base).sign_in(secret).get(address_of(1)).status
        assert statuses == {"acme": 200, "others": 404}
        assert Visitor(locked.base).get(address_of(1)).status == 303


@needs_chromium
def test_markup_in_a_file_is_text_in_a_browser(browser: Browser, served: Served) -> None:
    with Watched(browser, served.base) as watched:
        page = watched.open(address_of(NUMBERS["page.html"]))
        assert page.locator("body").inner_text() == HTML.decode()
        watched.open(address_of(NUMBERS["photo.png"]))
        assert watched.trouble == []


def test_a_picture_is_known_by_its_bytes_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "drawing.svg").write_bytes(SVG)
    (tmp_path / "photo.png").write_bytes(HTML)
    (tmp_path / "long.txt").write_bytes(b"a" * 8191 + "ü".encode() + b"b")
    (tmp_path / "binary.txt").write_bytes(b"a\x00b")
    found = {name: find_attachment([tmp_path], name) for name in ("drawing.svg", "photo.png", "long.txt", "binary.txt")}
    assert {name: each.media for name, each in found.items() if each} == {
        "drawing.svg": TEXT,
        "photo.png": TEXT,
        "long.txt": TEXT,
        "binary.txt": FILE,
    }


@pytest.mark.parametrize("named", ["", ".", "..", "a\x00b", "x" * 5000, "~/x", "sub/../../secret.txt"])
def test_names_that_are_no_file_find_none(tmp_path: Path, named: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "secret.txt").write_text("x")
    assert find_attachment([tmp_path / "data"], named) is None


def test_what_was_uploaded_brought_no_folder() -> None:
    pins = replace(a_run().pins, datasets=(DatasetPin(path="document:dataset/a@1", sha256="x"),))
    assert folders_of(replace(a_run(), pins=pins)) == []
