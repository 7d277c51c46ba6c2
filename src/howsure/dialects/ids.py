"""The ids of a file and the line of each. For a large file only hashes are kept, some 25 bytes an id: nothing else
grows while a line format is read.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from zlib import crc32

import msgspec

from howsure.dialects.problems import Spot, shown
from howsure.errors import NUL, Problem, message_of
from howsure.model.case import Case
from howsure.model.plain_values import plain_copy

FEW = 10_000
"""Up to this many ids are kept as they are, which is faster and takes some 150 bytes each."""
BITS = 0xFFFF_FFFF_FFFF_FFFF


class SeenIds:
    """The ids seen so far, and the line of each."""

    def __init__(self, field: str = "id") -> None:
        self._first: dict[str, int] = {}
        self._many: IdHashes | None = None
        self._field = field

    def is_new(self, id: str, line: int) -> bool:
        """Whether the id can be used and was not seen on another line. It is remembered. `repeated` says why not."""
        if "\0" in id:
            return False
        if self._many is not None:
            return self._many.add_all((id,), line) or self._many.known(id) == line
        new = self._first.setdefault(id, line) == line
        if len(self._first) > FEW:
            self._condense()
        return new

    def all_new(self, ids: Sequence[str], line: int) -> bool:
        """Whether none of these ids, which stand on consecutive lines from `line`, was seen before. They are remembered
        then; if one was seen before, none of them is."""
        if len(set(ids)) != len(ids) or "\0" in "".join(ids):
            return False
        if self._many is not None:
            return self._many.add_all(ids, line)
        if not self._first.keys().isdisjoint(ids):
            return False
        self._first.update(zip(ids, range(line, line + len(ids)), strict=True))
        if len(self._first) > FEW:
            self._condense()
        return True

    def line_of(self, id: str) -> int:
        """The line on which a known id was first seen."""
        return self._first[id] if self._many is None else self._many.known(id)

    def repeated(self, id: str, spot: Spot) -> Problem:
        if "\0" in id:
            return nul_problem(id, spot.below(self._field))
        message = f"the id {shown(id)} stands on line {self.line_of(id)} already"
        return spot.below(self._field).problem("duplicate-id", message, found=shown(id), hint="ids must be unique")

    def _condense(self) -> None:
        hashes = IdHashes()
        for id, line in self._first.items():
            hashes.add_all((id,), line)
        self._first.clear()
        self._many = hashes


def unstorable_case(case: Case, spot: Spot) -> Problem | None:
    """The problem of a case that no database can hold; None where every one can."""
    if "\0" in case.id:
        return nul_problem(case.id, spot.below("id"))
    try:
        reason = "it holds what JSON has not (half a character, NaN, bytes …)" if plain_copy(case, Case)[1] else ""
    except (ValueError, TypeError, RecursionError, msgspec.MsgspecError) as error:
        reason = message_of(error)
    return spot.problem("unstorable-case", f"this case cannot be stored: {reason}") if reason else None


def nul_problem(id: str, spot: Spot) -> Problem:
    return spot.problem("nul", f"{NUL} stands in this id", found=shown(id), hint="take it out: no id may have it")


class IdHashes:
    """A hash table of 96-bit hashes, which stand for the ids themselves, and their lines, counted from 1. `_slots`
    holds positions in the other arrays, 0 for an empty slot."""

    def __init__(self) -> None:
        self._mask = (1 << 16) - 1
        self._slots = array("I", bytes(4 << 16))
        self._hashes = array("Q")
        self._checks = array("I")
        self._lines = array("I")

    def add_all(self, ids: Sequence[str], line: int) -> bool:
        """Whether none of these was seen before. If one was, none is added."""
        hashes, checks, slots, mask = self._hashes, self._checks, self._slots, self._mask
        before = count = len(hashes)
        for id in ids:
            hashed, check = hash(id) & BITS, crc32(id.encode("utf-8", "surrogatepass"))
            slot = hashed & mask
            while place := slots[slot]:
                if hashes[place - 1] == hashed and checks[place - 1] == check:
                    self._forget(before)
                    return False
                slot = (slot + 1) & mask
            count += 1
            slots[slot] = count
            hashes.append(hashed)
            checks.append(check)
            if 3 * count > 2 * mask:
                self._grow()
                slots, mask = self._slots, self._mask
        self._lines.extend(range(line, line + count - before))
        return True

    def known(self, id: str) -> int:
        """The line on which the id was first seen; 0 if it was not."""
        hashed, check = hash(id) & BITS, crc32(id.encode("utf-8", "surrogatepass"))
        slot = hashed & self._mask
        while place := self._slots[slot]:
            if self._hashes[place - 1] == hashed and self._checks[place - 1] == check:
                return self._lines[place - 1]
            slot = (slot + 1) & self._mask
        return 0

    def _forget(self, before: int) -> None:
        """Removes all but the first `before` hashes, the last one first, so that no chain of slots breaks."""
        for place in range(len(self._hashes), before, -1):
            slot = self._hashes[place - 1] & self._mask
            while self._slots[slot] != place:
                slot = (slot + 1) & self._mask
            self._slots[slot] = 0
        del self._hashes[before:], self._checks[before:]

    def _grow(self) -> None:
        mask = self._mask = 2 * self._mask + 1
        slots = self._slots = array("I", bytes(4 * (mask + 1)))
        for place, hashed in enumerate(self._hashes, 1):
            slot = hashed & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = place
