"""Cases as golden questions, and files of them, one question after the other: a large file needs little memory. A case
that holds what the format has no place for is refused, never cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from howsure.dialects.documents import Alike, Json, Reason, beyond, checking, foreign_expectations, indented, unplaced
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import put_back
from howsure.dialects.golden_schema import FIELDS, FILE_FIELDS, KEPT, LISTS, SHAPE, agent_of, labels
from howsure.dialects.json_places import Spot
from howsure.dialects.reference_data import reference_document, reference_faults
from howsure.dialects.reference_plain import comes_back
from howsure.errors import Problem
from howsure.model.case import Case, Scenario, Script, SingleTurn, user_turns
from howsure.model.expectation import AgentsInvolved, FinalState, ToolCalls, Trajectory

_NOWHERE = Spot("")


def write_questions(cases: Iterable[Case], path: Path, unfinished: Path) -> bool:
    """Writes the file of this path into another. Whether it is sure that it can be read."""
    given = Alike(checking(cases, path, unwritable), FILE_FIELDS, path)
    questions = _Questions(given, agent_of(path))
    with open(unfinished, "wb") as file:
        file.writelines(questions.pieces())
    return questions.sure


def question_document(case: Case, agent: str) -> Json:
    """The case as a question of a file whose name says `agent`."""
    given = case.metadata
    document: Json = {
        "id": case.id,
        "user_inputs": list(user_turns(case.input)),
        "agents_evaluated": involved(case),
        **{key: given[key] for key in KEPT if key in given},
        "reference_data": reference_document(case.expectations, given.get("reference_data", {})),
    }
    if case.state:
        document["initial_state"] = case.state
    if labels(given.get("metadata", {}), agent=agent) != case.labels:
        document["agent"] = case.labels.get("agent", "")
    put_back(document, given.get(UNKNOWN, {}))
    return document


def involved(case: Case) -> list[str]:
    """The agents that should take part."""
    return [name for one in case.expectations if isinstance(one, AgentsInvolved) for name in one.names]


class _Questions:
    """The pieces of a file, and whether it is `sure` that all questions in it can be read: a look at each tells."""

    def __init__(self, cases: Alike, agent: str) -> None:
        self._cases = cases
        self._agent = agent
        self._ids: set[str] = set()
        self.sure = True

    def pieces(self) -> Iterator[bytes]:
        between = b""
        for case in self._cases:
            yield between or self._opening()
            between = b",\n    "
            question = question_document(case, self._agent)
            self.sure = self.sure and self._is_sound(case, question)
            yield indented(question, 2)
        yield b"\n  ]\n}\n" if between else self._opening().rstrip() + b"]\n}\n"

    def _opening(self) -> bytes:
        """The fields beside the list, and its beginning."""
        beside = self._cases.shared
        self.sure = self.sure and beside.keys().isdisjoint(LISTS)
        return indented({**beside, LISTS[0]: []}, 0).removesuffix(b"]\n}") + b"\n    "

    def _is_sound(self, case: Case, question: Json) -> bool:
        new = case.id not in self._ids
        self._ids.add(case.id)
        known = new and question.keys() <= FIELDS.keys()
        return known and (_is_simple(case) or (SHAPE.fits(question) and not _faults(question)))


def _is_simple(case: Case) -> bool:
    """Whether the question of a case is sure to be a sound one."""
    given = case.metadata
    return (
        type(given.get("metadata", {})) is dict
        and "updated_datetime" not in given
        and case.id.strip() != ""
        and all(map(str.strip, user_turns(case.input)))
        and all(map(str.strip, involved(case)))
        and comes_back(case.expectations, given.get("reference_data", {}))
    )


def _faults(question: Json) -> list[Problem]:
    return reference_faults(question["reference_data"], _NOWHERE)


def unwritable(case: Case) -> Iterator[Reason]:
    """Why the format cannot hold the case; nothing where it can."""
    if not _is_plain(case):
        yield from _reasons(case)


def _is_plain(case: Case) -> bool:
    """Whether a look is enough to see that it can: most cases are golden ones."""
    kinds = [type(one) for one in case.expectations]
    given = case.metadata
    return (
        type(case.input) is Script
        and _NATIVE.issuperset(kinds)
        and len(set(kinds)) == len(kinds)
        and given.keys() <= _PLACES
        and not (case.name or case.profile or case.tags or case.tools or case.recorded)
        and labels(given.get("metadata", {}), agent=case.labels.get("agent", "")) == case.labels
    )


_NATIVE = {ToolCalls, Trajectory, FinalState, AgentsInvolved}
_PLACES = {*KEPT, "reference_data", FILE_FIELDS, UNKNOWN}


def _reasons(case: Case) -> Iterator[Reason]:
    yield from foreign_expectations(case, (ToolCalls, Trajectory, FinalState, AgentsInvolved), "golden")
    yield from unplaced(case, (*KEPT, "reference_data", FILE_FIELDS, UNKNOWN), "golden")
    yield from beyond(case, ("name", "profile", "tags", "tools", "recorded"), "golden")
    plain = labels(case.metadata.get("metadata", {}), agent=case.labels.get("agent", ""))
    if plain != case.labels:
        yield "labels", "the labels of golden questions are the plain values of their metadata"
    match case.input:
        case Scenario():
            yield "input", "golden questions are fixed turns, not a simulated user"
        case SingleTurn(message=message):
            if case.input != SingleTurn(message=message):
                yield "input", "golden questions have no context, history or attachments"
        case Script():
            return
