"""The function target: everything a bot in Python may be, and what it says about those it cannot use."""

from __future__ import annotations

import asyncio
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET, UnsetType

from howsure.errors import ConfigInvalid, TargetFailed, TargetTimedOut
from howsure.model.case import Case, Script, SingleTurn
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.transcript import AgentStep, Message, Role, SentRequest, ToolStep, Transcript, Usage
from howsure.targets.base import CheckableTarget, Closing, FinishedSession, StartableTarget, Target, TargetRequest
from howsure.targets.function.target import FunctionKind
from howsure.testing import a_case
from live_targets import conversed

SOURCE = """
import asyncio
from howsure.model.transcript import *
from howsure.targets.base import Closing, FinishedSession, Reply, Stateless

def shout(text):
    return text.upper()

async def whisper(text):
    await asyncio.sleep(0)
    return text.lower()

def curious(text, *, history, state, case, session_id, turn, candidate="", unused=3):
    return {"answer": f"{text} {len(history)} {state} {case.id} {len(session_id)} {turn} {candidate} {unused}"}

def takes_all(text, **more):
    return ", ".join(sorted(more))

def parts(text, prompt, context, choices, documents):
    return f"{text}\\n###\\n{prompt}|{context}|{','.join(each['id'] for each in choices)}|{documents}"

def tuned(text, loud, tail="."):
    return (text.upper() if loud else text) + tail

def replies(text):
    return Reply.saying(f"<{text}>")

def transcript(text):
    return Transcript(
        answer="Done.",
        messages=(
            Message(role=Role.USER, content=text),
            Message(role=Role.ASSISTANT, tool_calls=(ToolCall(name="look_up"),)),
            Message(role=Role.ASSISTANT, content="Done."),
        ),
        state={"a": 1},
        spans=(Span(name=f"span {text}"),),
        usage=Usage(prompt_tokens=3, completion_tokens=4),
    )

def stopped(text):
    return Transcript(answer="Done.", duration_ms=12.5)

def steps(text):
    return Transcript(answer="Done.", steps=(AgentStep(name="router"), ToolStep(name="look_up")))

def later(text):
    return whisper(text)

class Caller:
    async def __call__(self, text):
        return f"called with {text}"

caller = Caller()

class Bot:
    def __init__(self, case, greeting="Hi"):
        self.greeting = greeting
        self.seen = []
    def send(self, text):
        self.seen.append(text)
        return f"{self.greeting} {len(self.seen)}"
    def close(self):
        return Closing(state={"seen": self.seen})

def make_bot(session_id):
    return Bot(None, session_id[:0] + "Made")

def make_nothing():
    return 3

class Whole:
    name = "whole"
    events = []
    def __init__(self, word="Hello"):
        self.word = word
    async def start(self): self.events.append("start")
    def stop(self): self.events.append("stop")
    async def check(self): return "all is well"
    async def open(self, case):
        return Stateless(lambda text: Reply.saying(f"{self.word} {case.id}"))

whole = Whole()

class Past:
    def open(self, the_case):
        return Transcript(answer=the_case.id)

class Neither:
    pass

number = 3
bot = Bot(None)

def needs(text, tool):
    return text

def breaks(text):
    raise ValueError("no such order")

def silent(text):
    raise ValueError

async def quits(text):
    raise SystemExit(4)

async def gives_up(text):
    raise asyncio.CancelledError

def out_of_time(text):
    raise TimeoutError("the database")
"""


@pytest.fixture(autouse=True)
def bots(tmp_path: Path) -> Iterator[Path]:
    before = list(sys.path)
    path = tmp_path / "bots.py"
    path.write_text(SOURCE, encoding="utf-8")
    yield path
    sys.path[:] = before
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == str(path):
            del sys.modules[name]


def made(tmp_path: Path, name: str, **settings: Any) -> Target:
    wish = TargetRequest(
        name="shop", rest=f"bots.py:{name}", settings=settings, folder=tmp_path, state={"s": 1}, candidate="new"
    )
    return FunctionKind().make(wish)


async def answer(target: Target, *turns: str) -> str:
    return (await conversed(Case(id="c1", input=Script(turns=turns or ("Hi",))), target)).answer


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shout", "HI"),
        ("whisper", "hi"),
        ("later", "hi"),
        ("caller", "called with Hi"),
        ("replies", "<Hi>"),
        ("curious", "Hi 0 {'s': 1} c1 32 1 new 3"),
        ("takes_all", "candidate, case, choices, context, documents, history, prompt, session_id, state, turn"),
        ("Bot", "Hi 1"),
        ("make_bot", "Made 1"),
        ("Whole", "Hello c1"),
        ("whole", "Hello c1"),
        ("Past", "c1"),
    ],
)
async def test_a_bot_may_be(tmp_path: Path, name: str, said: str) -> None:
    assert await answer(made(tmp_path, name)) == said


async def test_a_question_is_told_in_full_and_in_its_parts(tmp_path: Path) -> None:
    choices = (Choice(id="A", text="Yes"), Choice(id="B", text="No"))
    given = SingleTurn(message="May he?", context="He is ten.")
    case = a_case(CorrectChoice(choices=choices, correct=("A",)), input=given)
    told = await conversed(case, made(tmp_path, "parts"))
    whole, parts = told.answer.split("\n###\n")
    assert whole.startswith("He is ten.\n\nMay he?\n\nA. Yes\nB. No\n\n")
    assert parts == "May he?|He is ten.|A,B|"
    assert told.messages[0].content == "May he?"
    assert told.sent == SentRequest(messages=(Message(role=Role.USER, content=whole),))


@pytest.mark.parametrize(("name", "told"), [("shout", False), ("curious", True), ("takes_all", True), ("Bot", False)])
def test_a_bot_is_told_the_candidate_where_it_takes_it(tmp_path: Path, name: str, told: bool) -> None:
    assert getattr(made(tmp_path, name), "takes_candidate") is told  # noqa: B009


async def test_a_module_is_found_from_the_folder(tmp_path: Path) -> None:
    target = FunctionKind().make(TargetRequest(name="shop", rest="bots:shout", folder=tmp_path))
    assert await answer(target) == "HI"


async def test_arguments_are_given_by_name(tmp_path: Path) -> None:
    assert await answer(made(tmp_path, "tuned", arguments={"loud": True, "tail": "!"})) == "HI!"
    assert await answer(made(tmp_path, "Bot", arguments={"greeting": "Ho"})) == "Ho 1"
    assert await answer(made(tmp_path, "Whole", arguments={"word": "Ho"})) == "Ho c1"


async def test_a_class_is_one_bot_for_each_conversation_and_tells_its_state(tmp_path: Path) -> None:
    target = made(tmp_path, "Bot")
    first = await conversed(Case(id="1", input=Script(turns=("a", "b"))), target)
    second = await conversed(Case(id="2", input=Script(turns=("c",))), target)
    assert (first.answer, first.state) == ("Hi 2", {"seen": ["a", "b"]})
    assert (second.answer, second.state) == ("Hi 1", {"seen": ["c"]})


@pytest.mark.parametrize(("name", "took"), [("stopped", 12.5), ("transcript", UNSET), ("replies", UNSET)])
async def test_a_time_that_the_function_tells_is_kept(tmp_path: Path, name: str, took: float | UnsetType) -> None:
    session = await made(tmp_path, name).open(a_case())
    assert not isinstance(session, FinishedSession)
    assert (await session.send("Hi")).duration_ms == took


async def test_a_transcript_arrives_whole(tmp_path: Path) -> None:
    told = await conversed(Case(id="1", input=Script(turns=("a", "b"))), made(tmp_path, "transcript"))
    assert told.answer == "Done."
    assert [message.role for message in told.messages].count(Role.USER) == 2
    assert [call.name for call in told.tool_calls] == ["look_up", "look_up"]
    assert told.state == {"a": 1}
    assert told.spans is not None
    assert [span.name for span in told.spans] == ["span a", "span b"]
    assert told.usage == Usage(prompt_tokens=6, completion_tokens=8)


async def test_steps_alone_become_messages_that_pass_through_them(tmp_path: Path) -> None:
    told = await conversed(a_case(), made(tmp_path, "steps"))
    assert told.trajectory == (AgentStep(name="router"), ToolStep(name="look_up"))
    assert told.answer == "Done."


async def test_a_target_of_ones_own_is_started_checked_and_stopped(tmp_path: Path) -> None:
    target = made(tmp_path, "Whole")
    assert isinstance(target, StartableTarget)
    assert isinstance(target, CheckableTarget)
    await target.start()
    assert await target.check() == "all is well"
    await target.stop()
    module = next(module for module in list(sys.modules.values()) if hasattr(module, "gives_up"))
    assert module.Whole.events == ["start", "stop"]


async def test_a_finished_conversation_stays_one(tmp_path: Path) -> None:
    assert await made(tmp_path, "Past").open(a_case(id="x")) == FinishedSession(Transcript(answer="x"))


async def test_a_sync_function_does_not_hold_up_the_others(tmp_path: Path) -> None:
    release = threading.Event()
    target = made(tmp_path, "shout")
    module = next(module for module in list(sys.modules.values()) if hasattr(module, "gives_up"))
    vars(module)["patient"] = lambda text: str(release.wait(5))
    slow = asyncio.create_task(answer(made(tmp_path, "patient")))
    assert await answer(target) == "HI"
    release.set()
    assert await slow == "True"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("breaks", "bots.py:breaks: ValueError: no such order (bots.py:{line}, in breaks)"),
        ("silent", "bots.py:silent: ValueError (bots.py:{line}, in silent)"),
        ("out_of_time", "bots.py:out_of_time: TimeoutError: the database (bots.py:{line}, in out_of_time)"),
        ("quits", "bots.py:quits: it tried to end the program (SystemExit 4) (bots.py:{line}, in quits)"),
        (
            "gives_up",
            "bots.py:gives_up: it tried to end the program (CancelledError) (bots.py:{line}, in gives_up)",
        ),
        ("make_nothing", "bots.py:make_nothing: expected an object with `send(text)`; it returned a number 3"),
    ],
)
async def test_what_breaks_names_the_function_and_its_line(tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(TargetFailed) as caught:
        await answer(made(tmp_path, name))
    lines = SOURCE.splitlines()
    start = next(number for number, line in enumerate(lines) if f"def {name}(" in line)
    assert str(caught.value) == told.format(line=start + 2)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("None", "it returned null"),
        ("3", "it returned a number 3"),
        ("object()", "it returned a object <object object at"),
        ("['a']", "it returned a list ['a']"),
        ("{'a': 1}", "expected an object with `answer`, `messages` or `tool_calls`; found the keys a"),
        ("{'answer': 'x', 'error': 'no tokens'}", "the bot answered with an error: no tokens"),
    ],
)
async def test_what_is_no_answer_is_told(tmp_path: Path, source: str, told: str) -> None:
    (tmp_path / "odd.py").write_text(f"def bot(text):\n    return {source}\n", encoding="utf-8")
    target = FunctionKind().make(TargetRequest(name="shop", rest="odd.py:bot", folder=tmp_path))
    with pytest.raises(TargetFailed) as caught:
        await answer(target)
    assert str(caught.value).startswith("odd.py:bot: ")
    assert told in str(caught.value)


async def test_a_function_has_its_time(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ndef bot(text):\n    time.sleep(5)\n", encoding="utf-8")
    wish = TargetRequest(name="shop", rest="slow.py:bot", folder=tmp_path, settings={"turn_seconds": 0.05})
    with pytest.raises(TargetTimedOut, match=r"slow\.py:bot: no answer in 0\.05 s"):
        await answer(FunctionKind().make(wish))


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("bots.py:missing", "'bots.py' has no 'missing'"),
        ("nowhere.py:bot", "nowhere.py: no such file"),
        ("nowhere_at_all:bot", "no module 'nowhere_at_all'"),
        ("bots.py", "expected `module:object`"),
        ("bots.py:number", "expected a function of text, a class with `send(text)`, or an object with `open(case)`"),
        ("bots.py:bot", "that is one object for all conversations: name its class"),
        ("bots.py:Neither", "this class has neither `send` nor `open`"),
        ("bots.py:needs", "it needs `tool`, which is not known; beside the text it may take case, session_id"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_to_do(tmp_path: Path, spec: str, told: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        FunctionKind().make(TargetRequest(name="shop", rest=spec, folder=tmp_path))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import nothing_there", "nothing_there"),
        ("def (", "SyntaxError"),
        ("exit(3)", "3"),
    ],
    ids=["it breaks", "it misses something", "it is no Python", "it ends the program"],
)
@pytest.mark.parametrize("spec", ["broken_bot.py:bot", "broken_bot:bot"])
def test_a_file_that_cannot_be_loaded_is_refused(tmp_path: Path, source: str, told: str, spec: str) -> None:
    (tmp_path / "broken_bot.py").write_text(textwrap.dedent(source), encoding="utf-8")
    with pytest.raises(ConfigInvalid, match=told):
        FunctionKind().make(TargetRequest(name="shop", rest=spec, folder=tmp_path))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "`targets.shop.function`: is needed"),
        ({"function": 3}, "`targets.shop.function`: Expected `str`, got `int`"),
        ({"function": "a:b", "turn_seconds": -1}, "`targets.shop.turn_seconds`: expected"),
        ({"function": "a:b", "fuction": 1}, "`targets.shop.fuction`: is not a setting"),
        ({"function": "bots.py:shout", "arguments": {"x": 1}}, "it takes no `x`, which `arguments` gives it"),
        ({"function": "bots.py:Whole", "arguments": {"x": 1}}, "cannot be made"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_told(tmp_path: Path, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        FunctionKind().make(TargetRequest(name="shop", settings=settings, folder=tmp_path))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("shout", "bots.py:shout is there and takes text"),
        ("curious", "bots.py:curious is there and takes text, history, state, case, session_id, turn, candidate"),
        ("Bot", "bots.py:Bot is there and makes a bot for each conversation"),
    ],
)
async def test_it_says_what_it_found(tmp_path: Path, name: str, told: str) -> None:
    target = made(tmp_path, name)
    assert isinstance(target, CheckableTarget)
    assert await target.check() == told


async def test_closing_may_tell_the_state_in_any_form(tmp_path: Path) -> None:
    source = """
        class Plain:
            def send(self, text): return {"answer": text, "state": {"a": 1}}
        class Told(Plain):
            async def close(self): return {"state": {"b": 2}}
        class Odd(Plain):
            def close(self): return 3
        class Wrong(Plain):
            def close(self): return {"b": 2}
    """
    (tmp_path / "closing.py").write_text(textwrap.dedent(source), encoding="utf-8")

    async def closed(name: str) -> Closing:
        target = FunctionKind().make(TargetRequest(name="shop", rest=f"closing.py:{name}", folder=tmp_path))
        session = await target.open(a_case())
        assert not isinstance(session, FinishedSession)
        await session.send("Hi")
        return await session.close()

    assert await closed("Plain") == Closing(state={"a": 1})
    assert await closed("Told") == Closing(state={"b": 2})
    with pytest.raises(TargetFailed, match="expected a Closing, an object with `state`, or nothing; found a number 3"):
        await closed("Odd")
    with pytest.raises(TargetFailed, match="expected an object with `state` alone, found the keys b"):
        await closed("Wrong")


async def test_a_message_alone_is_a_reply(tmp_path: Path) -> None:
    source = (
        "from howsure.model.transcript import *\ndef bot(text):\n    return Message(role=Role.ASSISTANT, content='x')\n"
    )
    (tmp_path / "single.py").write_text(source, encoding="utf-8")
    target = FunctionKind().make(TargetRequest(name="shop", rest="single.py:bot", folder=tmp_path))
    session = await target.open(a_case())
    assert not isinstance(session, FinishedSession)
    assert (await session.send("Hi")).messages == (Message(role=Role.ASSISTANT, content="x"),)
