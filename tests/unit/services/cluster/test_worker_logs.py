from __future__ import annotations

import json
from pathlib import Path

import pytest

from howsure.errors import ConfigInvalid
from howsure.model.case import Case, SingleTurn
from howsure.model.result import Result
from howsure.model.run import ModelSpending
from howsure.model.verdict import Verdict
from howsure.services.cluster.coordinator import ClusterProgress
from howsure.services.cluster.workers import WorkerLogs


def line(case: str, grader: str, candidate: str = "", repeat: int = 1) -> bytes:
    said = {"case_id": case, "candidate": candidate, "repeat": repeat, "grader": grader, "reply": "3"}
    return json.dumps(said).encode() + b"\n"


def result(case: str, candidate: str = "", repeat: int = 1) -> Result:
    asked = Case(id=case, input=SingleTurn(message="Hi"))
    return Result(case=asked, candidate=candidate, repeat=repeat, verdict=Verdict.PASSED)


def append(path: Path | None, *lines: bytes) -> None:
    """As the engine does it: opened to append, and never closed before the end."""
    assert path is not None
    with path.open("ab") as file:
        file.write(b"".join(lines))


def test_nothing_is_written_where_nobody_asked(tmp_path: Path) -> None:
    notes = WorkerLogs(tmp_path, traces=False, records=False)
    assert (notes.trace, notes.record) == (None, None)
    assert (notes.traced(), notes.recorded([result("a")])) == (b"", b"")


def test_calls_are_handed_in_once_as_they_come(tmp_path: Path) -> None:
    notes = WorkerLogs(tmp_path, traces=True, records=False)
    assert notes.traced() == b"", "nobody has opened the file yet"
    assert notes.trace is not None
    with notes.trace.open("ab") as file:
        for number in (b"1\n", b"2\n"):
            file.write(number)
            file.flush()
            assert notes.traced() == number
        file.write(b"3\n")
        file.flush()
    assert notes.traced() == b"3\n"
    assert (notes.traced(), notes.trace.stat().st_size) == (b"", 0), "a worker's disk does not fill up"


def test_replies_wait_until_their_result_is_stored(tmp_path: Path) -> None:
    notes = WorkerLogs(tmp_path, traces=False, records=True)
    append(notes.record, line("a", "one"), line("b", "one"), line("a", "two"))
    assert notes.recorded([result("a")]) == line("a", "one") + line("a", "two")
    append(notes.record, line("b", "two"))
    assert notes.recorded([]) == b""
    assert notes.recorded([result("c"), result("b")]) == line("b", "one") + line("b", "two")
    assert notes.recorded([result("b")]) == b"", "each once"


@pytest.mark.parametrize(("candidate", "repeat"), [("other", 1), ("", 2), ("other", 2)])
def test_replies_of_another_candidate_or_repeat_wait_for_theirs(tmp_path: Path, candidate: str, repeat: int) -> None:
    notes = WorkerLogs(tmp_path, traces=False, records=True)
    append(notes.record, line("a", "one", candidate, repeat))
    assert notes.recorded([result("a")]) == b""
    assert notes.recorded([result("a", candidate, repeat)]) == line("a", "one", candidate, repeat)


def progress(traced: tuple[bytes, ...] = (), recorded: tuple[bytes, ...] = ()) -> ClusterProgress:
    return ClusterProgress(verdicts={}, spent=ModelSpending(), traced=traced, recorded=recorded)


def test_the_driver_adds_to_the_files_that_were_asked_for(tmp_path: Path) -> None:
    trace, record = tmp_path / "t.jsonl", tmp_path / "r.jsonl"
    record.write_bytes(b"before\n")
    for news in (progress((b"1\n", b"2\n"), (b"r\n",)), progress(), progress((b"3\n",))):
        news.write_logs(str(trace), str(record))
    assert (trace.read_bytes(), record.read_bytes()) == (b"1\n2\n3\n", b"before\nr\n")


def test_the_driver_writes_nothing_that_was_not_asked_for(tmp_path: Path) -> None:
    progress((b"1\n",), (b"r\n",)).write_logs("", "")
    progress().write_logs(str(tmp_path / "t"), "")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"--record-judge .*/none/r: cannot be written: No such file or directory"):
        progress(recorded=(b"r\n",)).write_logs("", str(tmp_path / "none" / "r"))
