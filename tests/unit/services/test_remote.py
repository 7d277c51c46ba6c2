"""Datasets at addresses, with fsspec's file system in memory: it forgets everything at the end of the process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import write_rows
from house import mcq
from howsure.config import Settings
from howsure.errors import ConfigInvalid, Conflict, InputError, NotFound
from howsure.kit.builtins import builtin_kit
from howsure.policies.profiles import builtin_profiles
from howsure.services.options import RunOptions
from howsure.services.remote import Far, far_problem, fetched, is_address, read_part, unread
from howsure.services.running import new_run, utc_now
from howsure.services.runs import Again, planned, replanned, start
from howsure.services.validating import validate_files
from howsure.services.workspace import Workspace

WITH = pytest.mark.skipif(find_spec("fsspec") is None, reason="fsspec is not installed here")
WITHOUT = pytest.mark.skipif(find_spec("fsspec") is not None, reason="fsspec is installed here")


@pytest.fixture
def memory() -> Iterator[Any]:
    system = import_module("fsspec").filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("s3://bucket/cases.jsonl", True),
        ("memory://cases.jsonl", True),
        ("file:///data/cases.jsonl", True),
        ("https://host/cases.jsonl", True),
        ("cases.jsonl", False),
        ("/data/cases.jsonl", False),
        ("C://cases.jsonl", False),
        ("run:latest", False),
        ("document:dataset/d1@2", False),
        ("./s3://odd", False),
        ("-", False),
    ],
)
def test_what_is_an_address(text: str, is_one: bool) -> None:
    assert is_address(text) is is_one


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("s3://key:hush@bucket/a.jsonl", "s3://bucket/a.jsonl"),
        ("https://host/a.jsonl?X-Signature=hush", "https://host/a.jsonl"),
        ("ftp://hush@host/a.jsonl", "ftp://host/a.jsonl"),
    ],
)
def test_an_address_with_a_secret_in_it_is_refused_and_not_repeated(tmp_path: Path, address: str, shown: str) -> None:
    with pytest.raises(ConfigInvalid, match="must hold no user, password or query") as refused:
        fetched(address, tmp_path)
    assert str(refused.value).startswith(f"{shown}: ")
    assert "hush" not in str(refused.value)
    assert "hush" not in far_problem(address)


def test_a_file_of_this_machine_is_read_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a b.jsonl"
    assert fetched(f"file://{tmp_path}/a%20b.jsonl", tmp_path / "copies") == [Far(str(path), path)]
    assert not (tmp_path / "copies").exists()


@WITHOUT
def test_without_fsspec_it_is_said_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"s3://bucket/a needs fsspec: pip install 'howsure\[remote\]'"):
        fetched("s3://bucket/a", tmp_path)
    assert far_problem("s3://bucket/a") == "s3://bucket/a needs fsspec: pip install 'howsure[remote]'"


@WITH
def test_a_copy_lies_where_its_content_says_and_keeps_its_name(tmp_path: Path, memory: Any) -> None:
    memory.pipe("/set/cases 1.jsonl", b"{}\n")
    (first,) = fetched("memory://set/cases 1.jsonl", tmp_path / "copies")
    assert first.address == "memory://set/cases 1.jsonl"
    assert (first.path.name, first.path.read_bytes()) == ("cases-1.jsonl", b"{}\n")
    assert fetched(first.address, tmp_path / "copies") == [first]
    memory.pipe("/set/cases 1.jsonl", b"{}\n{}\n")
    (second,) = fetched(first.address, tmp_path / "copies")
    assert (second.path.name, first.path.read_bytes(), second.path.read_bytes()) == (
        "cases-1.jsonl",
        b"{}\n",
        b"{}\n{}\n",
    )
    assert sorted(each.name for each in (tmp_path / "copies").iterdir()) == sorted(
        [first.path.parent.name, second.path.parent.name]
    ), "nothing half-copied is left"


@WITH
def test_an_address_may_stand_for_all_data_files_below_it(tmp_path: Path, memory: Any) -> None:
    for name in ("b.jsonl", "deep/a.CSV", "readme.md"):
        memory.pipe(f"/set/{name}", name.encode())
    found = fetched("memory://set", tmp_path)
    assert [(each.address, each.path.name, each.path.read_text()) for each in found] == [
        ("memory:///set/b.jsonl", "b.jsonl", "b.jsonl"),
        ("memory:///set/deep/a.CSV", "a.CSV", "deep/a.CSV"),
    ]
    memory.pipe("/none/readme.md", b"")
    with pytest.raises(InputError, match=r"memory://none: no data file \(\.csv, "):
        fetched("memory://none", tmp_path)


@WITH
def test_a_part_of_a_file_is_read_alone(memory: Any) -> None:
    memory.pipe("/a.jsonl", b"0123456789")
    assert read_part("memory://a.jsonl", 2, 5) == b"234"
    with pytest.raises(InputError, match=r"memory://a\.jsonl gave 2 bytes where 6 were asked for: it has changed, or"):
        read_part("memory://a.jsonl", 8, 14)


@WITH
def test_what_is_not_there_is_named(tmp_path: Path, memory: Any) -> None:
    memory.pipe("/a.jsonl", b"{}")
    assert far_problem("memory://a.jsonl") == ""
    assert far_problem("memory://b.jsonl") == "no such file: memory://b.jsonl"
    with pytest.raises(NotFound, match=r"no such file: memory://b\.jsonl"):
        fetched("memory://b.jsonl", tmp_path)
    with pytest.raises(NotFound, match=r"no such file: memory://b\.jsonl"):
        read_part("memory://b.jsonl", 0, 1)


@WITH
def test_a_file_system_that_nobody_knows_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"gopher://host/a cannot be read here: .*gopher"):
        fetched("gopher://host/a", tmp_path)
    assert "gopher://host/a cannot be read here" in far_problem("gopher://host/a")


@WITH
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, memory: Any) -> None:
    memory.pipe("/a.jsonl", b"{}")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigInvalid, match="file cannot be written: "):
        fetched("memory://a.jsonl", tmp_path / "file")


def test_a_copy_has_a_name_before_there_is_one() -> None:
    assert unread("s3://bucket/deep/my cases.jsonl", Path("/x")) == Path("/x/my-cases.jsonl")


@WITH
async def test_a_run_over_an_address_pins_it_and_refuses_another_content(tmp_path: Path, memory: Any) -> None:
    rows = [mcq(number) for number in (1, 2)]
    answers = [{"example_id": f"q{number}", "response_text": "A"} for number in (1, 2)]
    memory.pipe("/set/house.jsonl", b"".join(json.dumps(each).encode() + b"\n" for each in rows))
    work = Workspace.made(Settings(database=str(tmp_path / "runs.db")), tmp_path, tmp_path)
    said = RunOptions(
        datasets=("memory://set/house.jsonl",),
        responses=(str(write_rows(tmp_path / "answers.jsonl", answers)),),
        judge="offline",
    )
    summary = await start(work, said, lambda _: lambda _: None)
    assert summary.run.counts.passed == 2
    assert [pin.path for pin in summary.run.pins.datasets] == ["memory://set/house.jsonl"]
    assert summary.run.name == "house.jsonl"
    assert len(list((tmp_path / ".howsure" / "remote").iterdir())) == 1


@WITH
async def test_a_run_whose_file_changed_at_its_address_does_not_go_on(tmp_path: Path, memory: Any) -> None:
    memory.pipe("/house.jsonl", json.dumps(mcq(1)).encode() + b"\n")
    work = Workspace.made(Settings(database=str(tmp_path / "runs.db")), tmp_path, tmp_path)
    answers = write_rows(tmp_path / "answers.jsonl", [{"example_id": "q1", "response_text": "A"}])
    said = RunOptions(datasets=("memory://house.jsonl",), responses=(str(answers),), judge="offline")
    async with await work.store() as store, AsyncExitStack() as stack:
        plan, _, name = await planned(work, store, said, utc_now(), stack)
        run = new_run(plan, name, utc_now())
        await store.create_run(run)
        memory.pipe("/house.jsonl", json.dumps(mcq(1, prompt="Another?")).encode() + b"\n")
        with pytest.raises(Conflict, match=r"house\.jsonl has changed"):
            await replanned(work, store, run, Again(), stack)


@WITH
def test_files_at_addresses_are_validated_under_their_addresses(tmp_path: Path, memory: Any) -> None:
    memory.pipe("/set/a.jsonl", b"".join(json.dumps(mcq(number)).encode() + b"\n" for number in (1, 1)))
    near = write_rows(tmp_path / "near.jsonl", [mcq(1)])
    found = validate_files(["memory://set/a.jsonl", str(near)], builtin_kit(builtin_profiles()))
    assert [(each.path, each.dialect, each.valid) for each in found] == [
        (str(near), "legal", True),
        ("memory://set/a.jsonl", "legal", False),
    ]
    assert [(problem.file, problem.line, problem.code) for problem in found[1].problems] == [
        ("memory://set/a.jsonl", 2, "duplicate-id")
    ]
