"""Ids in one output that comes from several sources: equal cases once, and different ones never under one id."""

from __future__ import annotations

from hashlib import sha256

import msgspec
from msgspec import structs

from howsure.dialects.simulation import question_of
from howsure.errors import Problem
from howsure.model.case import Case
from howsure.services.conversion.sources import Source


class Ids:
    """Remembers ids and what they stood for. `alone`: one source, which has looked after its ids already."""

    def __init__(self, *, alone: bool) -> None:
        self._alone = alone
        self._known: dict[str, bytes] = {}
        self.problems: list[Problem] = []

    def know(self, case: Case) -> None:
        self._known[case.id] = _content(case)

    def unique(self, case: Case, source: Source, *, repeats: bool) -> Case | None:
        """The case under an id of its own; None: it is there already, word for word. `repeats`: the source tells
        conversations, of which there may be several about one question."""
        if self._alone:
            return case
        if case.id not in self._known:
            self.know(case)
            return case
        if self._known[case.id] == _content(case):
            return None
        if source.foreign or repeats:
            return self._numbered(case, repeats)
        message = f"the id {case.id!r} stands for another case in another source"
        hint = "ids must be unique: rename one, or convert the files apart"
        self.problems.append(Problem(code="duplicate-id", message=message, file=str(source.path), hint=hint))
        return None

    def _numbered(self, case: Case, repeats: bool) -> Case | None:
        """The next free number; conversations about the same question are its repeats."""
        question, number = question_of(case)
        while True:
            number += 1
            id = f"{question}#{number}" if repeats else f"{question}-{number}"
            labels = {**case.labels, "repeat": str(number)} if repeats else case.labels
            numbered = structs.replace(case, id=id, labels=labels)
            if id not in self._known:
                self.know(numbered)
                return numbered
            if self._known[id] == _content(numbered):
                return None


def _content(case: Case) -> bytes:
    """What a case says, without its name among equals."""
    bare = structs.replace(case, id="", labels={**case.labels, "repeat": ""})
    return sha256(msgspec.json.encode(bare)).digest()
