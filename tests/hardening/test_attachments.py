"""Break 9: attachments reached `.env` and the database beside a dataset. Files that are nobody's to show are refused by
name when a dataset is read, when a document is, and when a page shows one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

import howsure
from dialect_rows import reference_qa
from howsure.client.errors import Invalid
from howsure.judges.documents import Documents
from howsure.main import program
from howsure.model.case import Attachment, SingleTurn
from howsure.model.run import DatasetPin
from howsure.testing import a_case
from store.making import a_result, a_run, numbered
from web.pages_served import Served, serving
from web.visiting import Visitor

SECRET = "sesame-open-123"
HIDDEN, PRIVATE = "names a hidden file or folder", "names a database, settings or a key"
REFUSED = {
    ".env": HIDDEN,
    ".howsure/howsure.db": HIDDEN,
    "docs/.ssh/known_hosts": HIDDEN,
    "docs\\.env": HIDDEN,
    "docs/../.env": HIDDEN,
    "./.env": HIDDEN,
    "innocent.txt": HIDDEN,  # a link to .env
    "runs.db": PRIVATE,
    "RUNS.DB": PRIVATE,
    "runs.sqlite3": PRIVATE,
    "runs.db-wal": PRIVATE,
    "howsure.yaml": PRIVATE,
    "docs/server.pem": PRIVATE,
    "id_rsa": PRIVATE,
    "id_ed25519.pub": PRIVATE,
    "report.bin": "names a database",  # SQLite by its first bytes
    "../outside.txt": "leaves the dataset's folder by `..`",
    "/etc/passwd": "is absolute",
    "way-out.txt": "leads out of the dataset's folder through a link",
}
SHOWN = ("lease.txt", "docs/lease.txt", "docs/./lease.txt", "v1.2..txt")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a dataset, inside a hidden one: what is above it does not matter."""
    base = tmp_path_factory.mktemp("files") / ".work"
    data = base / "data"
    for name in ("docs/.ssh", ".howsure"):
        (data / name).mkdir(parents=True)
    (base / "outside.txt").write_text(SECRET)
    for name in REFUSED:
        if "\\" not in name and ".." not in name and not name.startswith("/"):
            (data / name).write_text(SECRET)
    for name, leads in (("innocent.txt", data / ".env"), ("way-out.txt", base / "outside.txt")):
        (data / name).unlink()
        (data / name).symlink_to(leads)
    (data / "report.bin").unlink()
    with sqlite3.connect(data / "report.bin") as database:
        database.execute(f"create table t as select '{SECRET}'")
    database.close()
    for name in SHOWN:
        (data / name).write_text("The lease ends in May.")
    return data


def dataset(path: Path, *names: str) -> Path:
    row = reference_qa("q1", reference_answers=["In May."], attachments=[{"path": name} for name in names])
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


def asking_for(*names: str) -> SingleTurn:
    return SingleTurn(message="Look", attachments=tuple(Attachment(path=name) for name in names))


@pytest.mark.parametrize(("name", "reason"), REFUSED.items())
def test_break_9_no_case_attaches_what_is_private(folder: Path, name: str, reason: str) -> None:
    for command in ("validate", "run"):
        done = CliRunner().invoke(program, [command, str(dataset(folder / "cases.jsonl", name)), "--json"])
        (problem,) = (json.loads(done.stdout).get("files") or [json.loads(done.stdout)])[0]["problems"]
        assert (done.exit_code, problem["message"]) == (2, f"the path {reason}")
        assert (problem["field"], problem["line"]) == ("attachments[0].path", 1)
        assert problem["code"] == ("attachment-private" if reason.startswith("names") else "attachment-escapes")
        assert SECRET not in done.output


@pytest.mark.parametrize(("name", "reason"), REFUSED.items())
def test_nobody_is_shown_what_is_private(folder: Path, name: str, reason: str) -> None:
    """A case may come by another way than a file that was checked."""
    documents, case = Documents([folder]), replace(a_case(), input=asking_for(name, "lease.txt"))
    text = documents.of(case)
    assert f"(this document is refused: the path {reason})" in text
    assert "The lease ends in May." in text
    assert SECRET not in text
    assert documents.images(case) == ()
    assert [flag.kind for flag in documents.flags(case)] == ["document_unread"]


def test_documents_are_shown(folder: Path) -> None:
    done = CliRunner().invoke(program, ["validate", str(dataset(folder / "cases.jsonl", *SHOWN)), "--json"])
    assert (done.exit_code, json.loads(done.stdout)["files"][0]["warnings"]) == (0, [])
    assert Documents([folder]).of(replace(a_case(), input=asking_for(*SHOWN))).count("The lease ends in May.") == 4


async def _stocked(served: Served, folder: Path) -> None:
    run = a_run(numbered(7), total=1)
    pin = DatasetPin(path=str(folder / "cases.jsonl"), sha256="ab" * 32)
    await served.store.create_run(replace(run, pins=replace(run.pins, datasets=(pin,))))
    result = a_result(0)
    await served.store.save(run.id, [replace(result, case=replace(result.case, input=asking_for(*REFUSED, *SHOWN)))])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("service"), working=False) as running:
        running.do(_stocked(running, folder))
        yield running


def test_the_page_serves_none_of_them(served: Served) -> None:
    for number, name in enumerate((*REFUSED, *SHOWN), start=1):
        reply = Visitor(served.base).get(f"/runs/{numbered(7)}/cases/0/attachments/{number}")
        assert reply.status == (200 if name in SHOWN else 404), name
        assert SECRET not in reply.text


@pytest.mark.parametrize("name", [".env", "../../howsure.db", "howsure.db", "../documents"])
def test_an_uploaded_dataset_reaches_none_of_the_services_files(served: Served, tmp_path: Path, name: str) -> None:
    with howsure.Client(served.base) as client, pytest.raises(Invalid) as caught:
        client.datasets.upload(dataset(tmp_path / "cases.jsonl", name))
    assert "attachment-" in str(caught.value.problems)
