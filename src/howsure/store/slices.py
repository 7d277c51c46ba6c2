"""The verdicts of a run by the labels of its cases: by agent, band, task type, tag, file. Counted from columns, without
reading a body."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct
from sqlalchemy import Connection, select

from howsure.errors import NotFound
from howsure.model.run import Pins
from howsure.model.summary import SliceCounts
from howsure.model.verdict import Verdict
from howsure.store.codecs import decode_tags
from howsure.store.run_columns import read_faces, read_tuples
from howsure.store.runs import count_verdicts
from howsure.store.schema import results

TAG, FILE, CANDIDATE = "tag", "file", "candidate"
MAX_VALUES = 20
"""A label with more values than this names cases rather than groups of them; of tags, the most frequent are counted."""

Mark = tuple[str, str]
"""A label, and its value."""


class RunSlices(Struct, frozen=True):
    """The counts by label, and the names of all labels that cases have."""

    slices: tuple[SliceCounts, ...]
    labels: tuple[str, ...]


def count_slices(connection: Connection, run_id: str, pins: Pins, only: str = "") -> RunSlices:
    """For every label with some values, or for `only` this one, however many it has. NotFound where none has it."""
    faces = read_faces(connection, run_id)
    by_label = _lines_by_label(faces)
    files = [pin.path for pin in pins.datasets] if len(pins.datasets) > 1 else []
    if only and only not in {*by_label, CANDIDATE, *([FILE] if files else [])}:
        raise NotFound(f"no case has the label {only!r}; there is {', '.join(sorted({*by_label, CANDIDATE}))}")
    marks = _marks(faces, by_label, only)
    by_file = only == FILE or (not only and 2 <= len(files) <= MAX_VALUES)
    columns = (results.c.position, results.c.case_id, results.c.candidate, results.c.verdict)
    attempts = read_tuples(connection, select(*columns).where(results.c.run_id == run_id))
    alike = Counter(
        (marks[faces[case]], pins.dataset_name(position) if by_file else "", candidate, verdict)
        for position, case, candidate, verdict in attempts
    )
    verdicts: dict[tuple[Mark, str], Counter[Verdict]] = defaultdict(Counter)
    for (own_marks, file, candidate, verdict), number in alike.items():
        more = ((FILE, file),) if file else ((CANDIDATE, candidate),) if only == CANDIDATE else ()
        for mark in (*own_marks, *more):
            verdicts[mark, candidate][Verdict(verdict)] += number
    slices = (
        SliceCounts(label=mark[0], value=mark[1], candidate=name, counts=count_verdicts(own.total(), own))
        for (mark, name), own in sorted(verdicts.items())
    )
    return RunSlices(tuple(slices), tuple(name for name in by_label if name != TAG))


def _lines_by_label(faces: Mapping[str, bytes]) -> dict[str, list[bytes]]:
    """The lines for the values of each label, the most frequent first. As they are stored: most are never decoded."""
    number = Counter(line for face in faces.values() for line in _lines(face))
    groups: dict[bytes, list[bytes]] = {}
    for line in number:
        groups.setdefault(line.partition(b'":')[0] if line.startswith(b"=") else b"", []).append(line)
    return {_mark(own[0])[0]: sorted(own, key=number.__getitem__, reverse=True) for own in groups.values()}


def _marks(faces: Mapping[str, bytes], by_label: Mapping[str, list[bytes]], only: str) -> dict[bytes, tuple[Mark, ...]]:
    """What the cases with the same tags and labels count for."""
    if only:
        counted: Iterable[list[bytes]] = [by_label.get(only, [])]
    else:
        few = [lines[:MAX_VALUES] if name == TAG else lines for name, lines in by_label.items()]
        counted = (lines for lines in few if 2 <= len(lines) <= MAX_VALUES)
    known = {line: _mark(line) for lines in counted for line in lines}
    return {face: tuple(known[line] for line in _lines(face) if line in known) for face in set(faces.values())}


def _lines(face: bytes) -> list[bytes]:
    return face[1:-1].split(b"\n") if face else []


def _mark(line: bytes) -> Mark:
    known = decode_tags(b"\n%b\n" % line)
    return next(iter(known.labels.items()), None) or (TAG, known.tags[0])
