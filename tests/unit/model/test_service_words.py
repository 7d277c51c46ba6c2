"""The words of the service: documents, jobs, labels by people, who may see what, and who played a user."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from uuid import UUID

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind, DocumentVersion, document_label
from howsure.model.job import JobState, JobTask, RequestedState
from howsure.model.label import HumanLabel, Opinion
from howsure.model.result import result_id
from howsure.model.simulation import Ending, Fault, MistakeKind, Party, Simulation, UserMistake
from howsure.model.triage import PRIORITY, Cause, Confidence, Divergence, DivergenceKind, Finding, Priority
from howsure.model.verdict import Verdict

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
RUN = "12345678-1234-5678-1234-567812345678"


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (DocumentKind, ["rubric", "test_set", "question_set", "dataset", "agent", "graders"]),
        (JobState, ["queued", "running", "held", "done"]),
        (RequestedState, ["", "pause", "cancel"]),
        (JobTask, ["attempt", "retry"]),
        (Opinion, ["pass", "fail", "not_applicable", "cannot_tell"]),
        (Ending, ["said_all", "goal_reached", "gave_up", "handed_off", "silence", "loop", "turn_limit"]),
        (Party, ["agent", "evaluation", "test_design", "retrieval", "simulator", "environment", "judge"]),
        (Confidence, ["certain", "likely", "possible"]),
        (Priority, ["P1", "P2", "P3"]),
        (DivergenceKind, ["criteria_fail_rubric_pass", "criteria_pass_rubric_fail"]),
        (
            MistakeKind,
            ["invented_fact", "wrong_fact", "unasked_fact", "out_of_persona", "off_plan", "stopped_early", "went_on",
             "repeated"],
        ),
    ],
)  # fmt: skip
def test_the_words_that_stores_and_clients_hold_are_fixed(kind: type[Enum], stored: list[str]) -> None:
    assert [each.value for each in kind] == stored


@pytest.mark.parametrize(
    ("name", "deleted_at", "shown"),
    [("House rules", None, "House rules"), ("House rules", NOW, "House rules (deleted)"), ("", NOW, " (deleted)")],
)
def test_a_document_that_was_deleted_says_so(name: str, deleted_at: datetime | None, shown: str) -> None:
    edition = DocumentVersion(version=1, body=b"{}", sha256="0", created_at=NOW)
    document = Document(
        id="d", kind=DocumentKind.RUBRIC, agent_id="", name=name, latest=1, created_at=NOW, updated_at=NOW,
        edition=edition, deleted_at=deleted_at,
    )  # fmt: skip
    assert document.label == document_label(name, deleted_at) == shown


@pytest.mark.parametrize("body", [b"", b"\x00\xff", "é".encode(), b"{}" * 1000])
def test_an_edition_keeps_its_bytes(body: bytes) -> None:
    edition = DocumentVersion(version=1, body=body, sha256="0", created_at=NOW)
    assert msgspec.json.decode(msgspec.json.encode(edition), type=DocumentVersion).body == body


@pytest.mark.parametrize(
    ("opinion", "passed"),
    [(Opinion.PASS, True), (Opinion.FAIL, False), (Opinion.NOT_APPLICABLE, None), (Opinion.CANNOT_TELL, None)],
)
def test_who_cannot_tell_has_not_failed_anything(opinion: Opinion, passed: bool | None) -> None:
    assert opinion.passed is passed


def a_label(**fields: object) -> HumanLabel:
    whole = {
        "run_id": RUN, "position": 3, "grader": "criteria", "part_id": "c1", "labeler": "ruth",
        "opinion": Opinion.PASS, "case_id": "q1", "candidate": "", "repeat": 1, "created_at": NOW, **fields,
    }  # fmt: skip
    return HumanLabel(**whole)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fields",
    [{"opinion": Opinion.FAIL}, {"why": "rude"}, {"blind": False}, {"created_at": datetime(2027, 1, 1, tzinfo=UTC)}],
)
def test_the_same_person_on_the_same_grade_has_one_label(fields: dict[str, object]) -> None:
    assert a_label(**fields).id == a_label().id


@pytest.mark.parametrize(
    "fields",
    [{"labeler": "anna"}, {"grader": "rubric"}, {"part_id": ""}, {"position": 4}, {"run_id": str(UUID(int=1))}],
)
def test_another_person_or_grade_has_another_label(fields: dict[str, object]) -> None:
    assert a_label(**fields).id != a_label().id


PARTS = st.text('a",\x1f[]\\', max_size=4)


@given(st.tuples(PARTS, PARTS, PARTS), st.tuples(PARTS, PARTS, PARTS))
def test_no_odd_name_makes_two_labels_one(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assume(one != other)
    names = ("grader", "part_id", "labeler")
    first, second = (a_label(**dict(zip(names, each, strict=True))) for each in (one, other))
    assert first.id != second.id


def test_a_label_finds_its_result_and_its_grade() -> None:
    label = a_label(candidate="m1", repeat=2)
    assert label.result_id == str(result_id(UUID(RUN), "q1", "m1", 2))
    assert label.about == (3, "criteria", "c1")
    assert a_label(part_id="").about == (3, "criteria", "")


@pytest.mark.parametrize(
    ("within", "organization", "agent", "seen"),
    [
        (EVERYWHERE, "acme", "bot", True),
        (EVERYWHERE, "", "", True),
        (AccessScope(organization_id="acme"), "acme", "bot", True),
        (AccessScope(organization_id="acme"), "acme", "", True),
        (AccessScope(organization_id="acme"), "other", "bot", False),
        (AccessScope(organization_id="acme"), "", "bot", False),
        (AccessScope(organization_id="acme", agent_ids=("bot",)), "acme", "bot", True),
        (AccessScope(organization_id="acme", agent_ids=("bot",)), "acme", "other", False),
        (AccessScope(organization_id="acme", agent_ids=("bot",)), "acme", "", False),
        (AccessScope(organization_id="acme", agent_ids=("bot",)), "other", "bot", False),
        (AccessScope(agent_ids=("bot",)), "any", "bot", True),
        (AccessScope(agent_ids=()), "acme", "bot", False),
        (AccessScope(organization_id=""), "", "bot", True),
        (AccessScope(organization_id=""), "acme", "bot", False),
    ],
)
def test_who_may_see_what(within: AccessScope, organization: str, agent: str, seen: bool) -> None:
    assert within.sees(organization, agent) is seen


def test_what_somebody_makes_belongs_to_their_organisation() -> None:
    assert AccessScope(organization_id="acme").home == "acme"
    assert EVERYWHERE.home == AccessScope(agent_ids=("bot",)).home == ""


def a_slip(*, spoils: bool) -> UserMistake:
    return UserMistake(kind=MistakeKind.REPEATED, turn=1, reason="r", spoils=spoils)


@pytest.mark.parametrize(
    ("slips", "spoiled"),
    [((), False), ((False,), False), ((False, True), True), ((True,), True)],
    ids=["none", "a harmless one", "one of two", "one"],
)
def test_one_slip_that_spoils_is_enough(slips: tuple[bool, ...], spoiled: bool) -> None:
    made = tuple(a_slip(spoils=each) for each in slips)
    assert Simulation(user="offline", ending=Ending.SAID_ALL, slips=made).spoiled is spoiled


def test_what_was_thrown_away_spoils_nothing() -> None:
    kept = Simulation(user="offline", ending=Ending.SAID_ALL, discarded=((a_slip(spoils=True),), ()))
    assert not kept.spoiled
    assert msgspec.json.decode(msgspec.json.encode(kept), type=Simulation) == kept


def test_a_slip_spoils_unless_it_says_otherwise() -> None:
    stored = b'{"kind":"repeated","turn":1,"reason":"r"}'
    assert msgspec.json.decode(stored, type=UserMistake).spoils
    assert msgspec.json.encode(a_slip(spoils=True)) == stored
    assert b'"spoils":false' in msgspec.json.encode(a_slip(spoils=False))


@pytest.mark.parametrize(("party", "words"), [(Party.AGENT, "agent"), (Party.TEST_DESIGN, "test design")])
def test_parties_are_read_by_people(party: Party, words: str) -> None:
    assert party.words == words


def test_every_party_has_its_priority() -> None:
    assert set(PRIORITY) == set(Party)
    assert [party for party, first in PRIORITY.items() if first is Priority.AGENT] == [Party.AGENT]
    assert [party for party, first in PRIORITY.items() if first is Priority.RETRIEVAL] == [Party.RETRIEVAL]


@pytest.mark.parametrize(("candidate", "repeat", "shown"), [("", 1, "q1"), ("m1", 2, "q1 [m1] #2")])
def test_findings_and_divergences_name_their_result_alike(candidate: str, repeat: int, shown: str) -> None:
    finding = Finding(
        case_id="q1", verdict=Verdict.FAILED, party=Party.AGENT, cause=Cause.WRONG_CHOICE, why="w",
        confidence=Confidence.CERTAIN, candidate=candidate, repeat=repeat,
    )  # fmt: skip
    split = Divergence(
        split=DivergenceKind.RUBRIC_FAIL, case_id="q1", party=Party.AGENT, failed=("r",), passed=1, candidate=candidate,
        repeat=repeat,
    )  # fmt: skip
    assert finding.result == split.result == shown


def test_a_fault_without_evidence_is_stored_without_it() -> None:
    assert msgspec.json.encode(Fault(party=Party.JUDGE, reason="r")) == b'{"party":"judge","reason":"r"}'
