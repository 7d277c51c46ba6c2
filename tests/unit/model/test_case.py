"""Cases: how the user's side opens, for every kind of input, and what a case keeps of its file."""

from __future__ import annotations

import msgspec
import pytest

from howsure.model.case import Attachment, Case, Input, Scenario, Script, SingleTurn, World, opening, user_turns
from howsure.model.transcript import BrokenRecording, Message, Role, Transcript

HISTORY = (Message(role=Role.USER, content="Before"), Message(role=Role.ASSISTANT, content="Yes?"))


@pytest.mark.parametrize(
    ("given", "first", "turns"),
    [
        (SingleTurn(message="Hello"), "Hello", ("Hello",)),
        (SingleTurn(message="Hello", history=HISTORY, context="Text"), "Hello", ("Hello",)),
        (SingleTurn(message=""), "", ("",)),
        (Script(turns=("One",)), "One", ("One",)),
        (Script(turns=("One", "Two", "One")), "One", ("One", "Two", "One")),
        (Script(turns=("", "Two")), "", ("", "Two")),
        (Scenario(persona="Cross", initial_message="Where is it?"), "Where is it?", ("Where is it?",)),
    ],
    ids=["one", "history is not said again", "empty", "short", "repeated turns stay", "silence is a turn", "scenario"],
)
def test_what_the_user_says(given: Input, first: str, turns: tuple[str, ...]) -> None:
    assert opening(given) == first
    assert user_turns(given) == turns


def test_a_script_without_turns_is_refused() -> None:
    with pytest.raises(ValueError, match="a script needs at least one turn"):
        Script(turns=())
    with pytest.raises(msgspec.ValidationError, match="a script needs at least one turn"):
        msgspec.json.decode(b'{"kind":"script","turns":[]}', type=Input)


@pytest.mark.parametrize(
    "body",
    [
        b'{"kind":"monologue","message":"Hi"}',
        b'{"message":"Hi"}',
        b'{"kind":"single_turn"}',
        b'{"kind":"single_turn","message":null}',
        b'{"kind":"scenario","persona":"x"}',
        b'{"kind":"script","turns":"Hi"}',
        b'{"kind":"SINGLE_TURN","message":"Hi"}',
        b'"Hi"',
    ],
)
def test_an_input_of_no_known_kind_is_not_read(body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=Input)


@pytest.mark.parametrize(
    ("given", "body"),
    [
        (SingleTurn(message="Hi"), b'{"kind":"single_turn","message":"Hi"}'),
        (Script(turns=("a", "b")), b'{"kind":"script","turns":["a","b"]}'),
        (
            Scenario(persona="p", initial_message="m"),
            b'{"kind":"scenario","persona":"p","initial_message":"m"}',
        ),
        (
            SingleTurn(message="Hi", attachments=(Attachment(path="a.pdf"),)),
            b'{"kind":"single_turn","message":"Hi","attachments":[{"path":"a.pdf"}]}',
        ),
    ],
)
def test_the_stored_form_of_an_input_is_fixed(given: Input, body: bytes) -> None:
    assert msgspec.json.encode(given) == body
    assert msgspec.json.decode(body, type=Input) == given


def test_a_case_that_does_not_say_its_tools_is_not_one_without_tools() -> None:
    silent = Case(id="1", input=SingleTurn(message="Hi"))
    bare = Case(id="1", input=SingleTurn(message="Hi"), tools=())
    for case in (silent, bare):
        assert msgspec.json.decode(msgspec.json.encode(case), type=Case).tools == case.tools
    assert silent.tools is None
    assert silent != bare


@pytest.mark.parametrize(
    "recorded", [None, Transcript(answer=""), BrokenRecording(reason=""), BrokenRecording(reason="timeout")]
)
def test_a_broken_recording_an_empty_one_and_none_stay_apart(recorded: Transcript | BrokenRecording | None) -> None:
    case = Case(id="1", input=SingleTurn(message="Hi"), recorded=recorded)
    back = msgspec.json.decode(msgspec.json.encode(case), type=Case).recorded
    assert back == recorded
    assert type(back) is type(recorded)


def test_two_cases_share_no_dict() -> None:
    one, other = (Case(id=name, input=SingleTurn(message="Hi")) for name in "ab")
    one.metadata["seen"] = True
    one.labels["area"] = "x"
    assert other.metadata == {}
    assert other.labels == {}


def test_a_case_is_frozen() -> None:
    case = Case(id="1", input=SingleTurn(message="Hi"))
    with pytest.raises(AttributeError):
        case.id = "2"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        case.input.message = "Bye"  # type: ignore[misc,union-attr]


def test_the_worlds_have_the_names_that_runs_store() -> None:
    named = (World.EXPLAIN, World.GOLDEN, World.TEST_SET, World.LEGAL, World.PLAIN)
    assert named == ("explain", "golden", "test-set", "legal", "plain")
    assert Case(id="1", input=SingleTurn(message="Hi")).world == "plain"


@pytest.mark.parametrize("id", ["0", " ", "ünï/code\n", "a\x1fb", "x" * 10_000])
def test_an_id_is_kept_verbatim(id: str) -> None:
    case = Case(id=id, input=SingleTurn(message="Hi"))
    assert msgspec.json.decode(msgspec.json.encode(case), type=Case).id == id
