"""Datasets at addresses, with fsspec's file system in memory: it forgets everything at the end of the process."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
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
from howsure.kit.plugins import builtin_kit
from howsure.model.run_request import RunRequest
from howsure.policies.verdicts import builtin_profiles
from howsure.services.files import (
    RemoteFile,
    address_problem,
    clean_text,
    copy_path,
    fetch_files,
    is_address,
    keep_piped,
    native_path,
    read_part,
    stored_path,
)
from howsure.services.run.execute import new_run, utc_now
from howsure.services.run.start import pinned_request, plan_request, replan, start
from howsure.services.validate import validate_files
from howsure.services.workspace import Workspace
from unit.services.places import Counting, house, unwatched, workplace

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
        fetch_files(address, tmp_path)
    assert str(refused.value).startswith(f"{shown}: ")
    assert "hush" not in str(refused.value)
    assert "hush" not in address_problem(address)


def test_a_file_of_this_machine_is_read_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a b.jsonl"
    assert fetch_files(f"file://{tmp_path}/a%20b.jsonl", tmp_path / "copies") == [RemoteFile(str(path), path)]
    assert not (tmp_path / "copies").exists()


@WITHOUT
def test_without_fsspec_it_is_said_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"s3://bucket/a needs fsspec: pip install 'howsure\[remote\]'"):
        fetch_files("s3://bucket/a", tmp_path)
    assert address_problem("s3://bucket/a") == "s3://bucket/a needs fsspec: pip install 'howsure[remote]'"


@WITH
def test_a_copy_lies_where_its_content_says_and_keeps_its_name(tmp_path: Path, memory: Any) -> None:
    memory.pipe("/set/cases 1.jsonl", b"{}\n")
    (first,) = fetch_files("memory://set/cases 1.jsonl", tmp_path / "copies")
    assert first.address == "memory://set/cases 1.jsonl"
    assert (first.path.name, first.path.read_bytes()) == ("cases-1.jsonl", b"{}\n")
    assert fetch_files(first.address, tmp_path / "copies") == [first]
    memory.pipe("/set/cases 1.jsonl", b"{}\n{}\n")
    (second,) = fetch_files(first.address, tmp_path / "copies")
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
    found = fetch_files("memory://set", tmp_path)
    assert [(each.address, each.path.name, each.path.read_text()) for each in found] == [
        ("memory:///set/b.jsonl", "b.jsonl", "b.jsonl"),
        ("memory:///set/deep/a.CSV", "a.CSV", "deep/a.CSV"),
    ]
    memory.pipe("/none/readme.md", b"")
    with pytest.raises(InputError, match=r"memory://none: no data file \(\.csv, "):
        fetch_files("memory://none", tmp_path)


@WITH
def test_a_part_of_a_file_is_read_alone(memory: Any) -> None:
    memory.pipe("/a.jsonl", b"0123456789")
    assert read_part("memory://a.jsonl", 2, 5) == b"234"
    with pytest.raises(InputError, match=r"memory://a\.jsonl gave 2 bytes where 6 were asked for: it has changed, or"):
        read_part("memory://a.jsonl", 8, 14)


@WITH
def test_what_is_not_there_is_named(tmp_path: Path, memory: Any) -> None:
    memory.pipe("/a.jsonl", b"{}")
    assert address_problem("memory://a.jsonl") == ""
    assert address_problem("memory://b.jsonl") == "no such file: memory://b.jsonl"
    with pytest.raises(NotFound, match=r"no such file: memory://b\.jsonl"):
        fetch_files("memory://b.jsonl", tmp_path)
    with pytest.raises(NotFound, match=r"no such file: memory://b\.jsonl"):
        read_part("memory://b.jsonl", 0, 1)


@WITH
def test_a_file_system_that_nobody_knows_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"gopher://host/a cannot be read here: .*gopher"):
        fetch_files("gopher://host/a", tmp_path)
    assert "gopher://host/a cannot be read here" in address_problem("gopher://host/a")


@WITH
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, memory: Any) -> None:
    memory.pipe("/a.jsonl", b"{}")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigInvalid, match="file cannot be written: "):
        fetch_files("memory://a.jsonl", tmp_path / "file")


def test_a_copy_has_a_name_before_there_is_one() -> None:
    assert copy_path("s3://bucket/deep/my cases.jsonl", Path("/x")) == Path("/x/my-cases.jsonl")


@WITH
async def test_a_run_over_an_address_pins_it_and_refuses_another_content(tmp_path: Path, memory: Any) -> None:
    rows = [mcq(number) for number in (1, 2)]
    answers = [{"example_id": f"q{number}", "response_text": "A"} for number in (1, 2)]
    memory.pipe("/set/house.jsonl", b"".join(json.dumps(each).encode() + b"\n" for each in rows))
    work = Workspace.made(Settings(database=str(tmp_path / "runs.db")), tmp_path, tmp_path)
    said = RunRequest(
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
    said = RunRequest(datasets=("memory://house.jsonl",), responses=(str(answers),), judge="offline")
    async with await work.store() as store, AsyncExitStack() as stack:
        plan = await plan_request(work, store, said, utc_now(), stack)
        run = new_run(plan, utc_now())
        await store.create_run(run)
        memory.pipe("/house.jsonl", json.dumps(mcq(1, prompt="Another?")).encode() + b"\n")
        with pytest.raises(Conflict, match=r"house\.jsonl has changed"):
            await replan(work, store, run, pinned_request(run), stack)


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("naïve", "naïve"),
        ("", ""),
        (os.fsdecode(b"na\xc3\xafve"), "naïve"),
        ("na\udcc3\udcafve", "naïve"),
        ("odd\udcff", "odd\\xff"),
        ("日本語", "日本語"),
    ],
    ids=["ascii", "utf-8", "empty", "bytes", "a C locale's surrogates", "no text", "far from ascii"],
)
def test_text_without_lone_surrogates_is_left(text: str, expected: str) -> None:
    assert clean_text(text) == expected
    clean_text(text).encode("utf-8")


def test_a_stored_path_is_absolute_and_can_be_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dätä.jsonl").write_text("x", encoding="utf-8")
    text = stored_path(Path("dätä.jsonl"))
    assert text == str(tmp_path.resolve() / "dätä.jsonl")
    assert Path(native_path(text)).read_text(encoding="utf-8") == "x"


def test_links_are_followed_so_that_a_run_finds_what_it_read(tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text("x", encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    assert stored_path(tmp_path / "link.jsonl") == str((tmp_path / "real.jsonl").resolve())


def test_a_name_that_is_no_text_can_be_stored_and_shown(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"odd\xff.jsonl")
    path.write_text("x", encoding="utf-8")
    assert stored_path(path) == f"{tmp_path.resolve()}/odd\\xff.jsonl"


Pipe = Callable[[str, bytes], str]


@pytest.fixture
def pipe(tmp_path: Path) -> Pipe:
    """A FIFO of that name, with somebody who writes the bytes into it once."""

    def made(name: str, content: bytes) -> str:
        path = tmp_path / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
        return str(path)

    return made


def test_a_file_and_a_folder_stay_where_they_are(tmp_path: Path) -> None:
    dataset = house(tmp_path)
    assert keep_piped(dataset, tmp_path / "piped") == dataset
    assert keep_piped(str(tmp_path), tmp_path / "piped") == str(tmp_path)
    assert not (tmp_path / "piped").exists()


@pytest.mark.parametrize(
    ("content", "ending"),
    [
        (b'{"a": 1}\n{"a": 2}\n', ".jsonl"),
        (b'{"questions": []}', ".json"),
        (b'[\n{"a": 1}\n]', ".json"),
        (b"id,text\n1,hello\n", ".csv"),
    ],
)
def test_a_pipe_is_kept_by_what_is_in_it(tmp_path: Path, pipe: Pipe, content: bytes, ending: str) -> None:
    path = Path(keep_piped(pipe("fifo", content), tmp_path / "new" / "piped"))
    assert path.parent.parent == tmp_path / "new" / "piped"
    assert path.suffix == ending
    assert len(path.parent.name) == 16
    assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_the_same_content_has_the_same_name_and_other_content_another(tmp_path: Path, pipe: Pipe) -> None:
    folder = tmp_path / "piped"
    first = keep_piped(pipe("one", b'{"a": 1}\n{"a": 2}\n'), folder)
    again = keep_piped(pipe("two", b'{"a": 1}\n{"a": 2}\n'), folder)
    other = keep_piped(pipe("one", b'{"a": 1}\n{"a": 3}\n'), folder)
    assert first == again
    assert other != first
    assert len(list(folder.iterdir())) == 2


def test_what_is_not_there_or_cannot_be_kept_is_told(tmp_path: Path, pipe: Pipe) -> None:
    with pytest.raises(NotFound, match=r"no such file: nowhere\.jsonl"):
        keep_piped("nowhere.jsonl", tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigInvalid, match=r"cannot be kept in .*piped: Not a directory"):
        keep_piped(pipe("fifo", b"x"), tmp_path / "file" / "piped")


async def test_a_run_of_a_pipe_pins_the_copy(tmp_path: Path, pipe: Pipe) -> None:
    content = Path(house(tmp_path, 3)).read_bytes()
    options = RunRequest(datasets=(pipe("fifo", content),), target="counting")
    done = await start(workplace(tmp_path, Counting()), options, unwatched)
    (pin,) = done.run.pins.datasets
    assert Path(pin.path).parent.parent == tmp_path / ".howsure" / "piped"
    assert Path(pin.path).read_bytes() == content
    assert (pin.cases, done.run.counts.passed) == (3, 3)
