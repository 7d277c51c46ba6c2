"""What comes through a pipe is kept under a name that says what is in it; anything else stays where it is."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from howsure.errors import ConfigInvalid, NotFound
from howsure.services.options import RunOptions
from howsure.services.piped import kept
from howsure.services.runs import start
from unit.services.places import Counting, house, unwatched, workplace

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
    assert kept(dataset, tmp_path / "piped") == dataset
    assert kept(str(tmp_path), tmp_path / "piped") == str(tmp_path)
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
    path = Path(kept(pipe("fifo", content), tmp_path / "new" / "piped"))
    assert path.parent == tmp_path / "new" / "piped"
    assert path.suffix == ending
    assert len(path.stem) == 16
    assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_the_same_content_has_the_same_name_and_other_content_another(tmp_path: Path, pipe: Pipe) -> None:
    folder = tmp_path / "piped"
    first = kept(pipe("one", b'{"a": 1}\n{"a": 2}\n'), folder)
    again = kept(pipe("two", b'{"a": 1}\n{"a": 2}\n'), folder)
    other = kept(pipe("one", b'{"a": 1}\n{"a": 3}\n'), folder)
    assert first == again
    assert other != first
    assert len(list(folder.iterdir())) == 2


def test_what_is_not_there_or_cannot_be_kept_is_told(tmp_path: Path, pipe: Pipe) -> None:
    with pytest.raises(NotFound, match=r"no such file: nowhere\.jsonl"):
        kept("nowhere.jsonl", tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigInvalid, match=r"cannot be kept in .*piped: Not a directory"):
        kept(pipe("fifo", b"x"), tmp_path / "file" / "piped")


async def test_a_run_of_a_pipe_pins_the_copy(tmp_path: Path, pipe: Pipe) -> None:
    content = Path(house(tmp_path, 3)).read_bytes()
    options = RunOptions(datasets=(pipe("fifo", content),), target="counting")
    done = await start(workplace(tmp_path, Counting()), options, unwatched)
    (pin,) = done.run.pins.datasets
    assert Path(pin.path).parent == tmp_path / ".howsure" / "piped"
    assert Path(pin.path).read_bytes() == content
    assert (pin.cases, done.run.counts.passed) == (3, 3)
