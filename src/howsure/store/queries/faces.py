"""The tags and labels of cases: from their column, or, of cases that were written before there was one, from their
bodies."""

from __future__ import annotations

from collections import Counter

import msgspec
from sqlalchemy import ColumnElement, Connection, select

from howsure.store.bodies import Marks, read_marks
from howsure.store.queries.columns import Face, tuples
from howsure.store.schema import cases

_face = msgspec.json.Decoder(Face).decode


def faces(connection: Connection, run_id: str, *among: ColumnElement[bool]) -> list[Face]:
    """The tags and labels of every case, or of those that `among` chooses, in the order of the plan."""
    wanted = select(cases.c.case_id, cases.c.face).where(cases.c.run_id == run_id, *among).order_by(cases.c.position)
    found = tuples(connection, wanted)
    # Many cases have the same: each is read once.
    marks = {body: read_marks(body) for body in {bytes(body) for _, body in found if body is not None}}
    older = _older_faces(connection, run_id) if any(body is None for _, body in found) else {}
    return [
        older[case_id] if body is None else Face(case_id, (known := marks[bytes(body)]).tags, known.labels)
        for case_id, body in found
    ]


def marked(connection: Connection, run_id: str) -> list[tuple[Marks, int]]:
    """The tags and labels that cases have, and how many cases have just these, in the order of the plan."""
    wanted = select(cases.c.face).where(cases.c.run_id == run_id).order_by(cases.c.position)
    found = Counter(None if body is None else bytes(body) for (body,) in tuples(connection, wanted))
    older = _older_faces(connection, run_id).values() if None in found else ()
    known = [(read_marks(body), number) for body, number in found.items() if body is not None]
    return [*known, *((Marks(face.tags, face.labels), 1) for face in older)]


def _older_faces(connection: Connection, run_id: str) -> dict[str, Face]:
    """Of cases that were written before tags had a column: from their bodies."""
    wanted = select(cases.c.body).where(cases.c.run_id == run_id, cases.c.face.is_(None))
    return {face.id: face for face in (_face(body) for (body,) in tuples(connection, wanted))}
