"""The chat target: the model gets all it should see, and its answer is the transcript."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.errors import ModelFailed, ModelRefused
from howsure.judges.documents import Documents
from howsure.llm.base import Completion
from howsure.llm.messages import FinishReason
from howsure.model.case import Attachment, Case, Script, SingleTurn, user_turns
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.flag import Flag
from howsure.model.llm_settings import CallSettings
from howsure.model.transcript import Message, Role, SentRequest, Usage
from howsure.targets.base import Reply
from howsure.targets.chat.target import ChatTarget
from howsure.testing import ScriptedModel, a_case


def texts(model: ScriptedModel, call: int = -1) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in model.asked[call].messages]


async def said_to(target: ChatTarget, case: Case) -> Reply:
    """The last reply, after everything that the user of the case says."""
    session = await target.open(case)
    *_, last = [await session.send(text) for text in user_turns(case.input)]
    assert (await session.close()).state is None
    return last


async def test_a_question_brings_its_context_its_history_and_its_options() -> None:
    model = ScriptedModel("Answer: A")
    choices = (Choice(id="A", text="Yes"), Choice(id="B", text="No"))
    given = SingleTurn(
        message="May he?",
        context="He is twelve.",
        history=(Message(role=Role.USER, content="Hello"), Message(role=Role.ASSISTANT, content="Hi")),
    )
    case = a_case(CorrectChoice(choices=choices, correct=("A",)), input=given)
    reply = await said_to(ChatTarget(model, "Be brief."), case)
    asked = texts(model)
    assert asked[:3] == [("system", "Be brief."), ("user", "Hello"), ("assistant", "Hi")]
    assert asked[3][0] == "user"
    assert asked[3][1].startswith("He is twelve.\n\nMay he?\n\nA. Yes\nB. No")
    assert reply.messages[-1].content == "Answer: A"


async def test_the_turns_of_a_script_are_one_conversation() -> None:
    model = ScriptedModel("Hello!", "Bye!")
    reply = await said_to(ChatTarget(model), Case(id="1", input=Script(turns=("Hi", "Ciao"))))
    assert texts(model) == [("user", "Hi"), ("assistant", "Hello!"), ("user", "Ciao")]
    assert reply.messages[-1].content == "Bye!"


@pytest.mark.parametrize(("cached", "took"), [(False, 120.0), (True, None)])
async def test_a_model_took_as_long_as_its_call_and_a_cache_tells_nothing(cached: bool, took: float | None) -> None:
    answer = Completion(text="x", model="m", usage=Usage(), latency_ms=120.0, cached=cached)
    assert (await said_to(ChatTarget(ScriptedModel(answer)), a_case())).duration_ms == took


async def test_usage_and_repeats_are_kept() -> None:
    answer = Completion(text="x", model="m", usage=Usage(prompt_tokens=7, completion_tokens=2))
    model = ScriptedModel(answer)
    reply = await said_to(ChatTarget(model, namespace="repeat 2"), a_case())
    assert reply.usage == Usage(prompt_tokens=7, completion_tokens=2)
    assert model.asked[0].namespace == "repeat 2"


async def test_what_was_sent_is_kept_with_the_first_reply() -> None:
    settings = CallSettings(temperature=0.3, seed=5, max_tokens=80)
    model = ScriptedModel("Hello!", "Bye!", name="openai:x")
    session = await ChatTarget(model, "Be brief.", settings=settings).open(Case(id="1", input=Script(turns=("Hi",))))
    first, second = await session.send("Hi"), await session.send("Ciao")
    system, user = (Message(role=Role.SYSTEM, content="Be brief."), Message(role=Role.USER, content="Hi"))
    chosen = {"temperature": 0.3, "seed": 5, "max_tokens": 80}
    assert first.sent == SentRequest(messages=(system, user), model="openai:x", settings=chosen)
    assert second.sent is None
    assert [request.settings for request in model.asked] == [settings, settings]


def a_completion(text: str, finish: FinishReason = FinishReason.STOP) -> Completion:
    return Completion(text=text, model="m", usage=Usage(prompt_tokens=7, completion_tokens=1), finish=finish)


@pytest.mark.parametrize(
    ("limit", "said"),
    [(80, "the reply was cut off at 80 tokens"), (None, "the reply was cut off at the largest number of tokens")],
)
async def test_a_reply_that_was_cut_off_is_flagged(limit: int | None, said: str) -> None:
    model = ScriptedModel(a_completion("Answer: A, beca", FinishReason.LENGTH))
    reply = await said_to(ChatTarget(model, settings=CallSettings(max_tokens=limit)), a_case())
    assert reply.flags == (Flag("cut_off", said),)


@pytest.mark.parametrize(
    ("replies", "asked", "answer", "flags"),
    [
        ([a_completion(""), a_completion("Answer: A")], 2, "Answer: A", ()),
        ([a_completion(" \n")] * 4, 3, " \n", (Flag("empty_reply", "the model replied with nothing, 3 times"),)),
        (
            [a_completion("", FinishReason.LENGTH)] * 2,
            1,
            "",
            (
                Flag("cut_off", "the reply was cut off at the largest number of tokens"),
                Flag("empty_reply", "the model replied with nothing"),
            ),
        ),
        (
            [a_completion("", FinishReason.REFUSED)] * 2,
            1,
            "",
            (Flag("empty_reply", "the model replied with nothing"),),
        ),
    ],
    ids=["an accident", "always empty", "cut off", "refused"],
)
async def test_a_reply_of_nothing_is_asked_for_again(
    replies: list[Completion], asked: int, answer: str, flags: tuple[Flag, ...]
) -> None:
    model = ScriptedModel(*replies)
    reply = await said_to(ChatTarget(model, namespace="repeat 1"), a_case())
    assert (len(model.asked), reply.messages[-1].content, reply.flags) == (asked, answer, flags)
    # Every attempt is paid for, and has its own place in the cache.
    assert reply.usage == Usage(prompt_tokens=7 * asked, completion_tokens=asked)
    names = ["repeat 1", "repeat 1 try 2", "repeat 1 try 3"]
    assert [request.namespace for request in model.asked] == names[:asked]


async def test_a_model_that_fails_fails_the_case_under_its_own_name() -> None:
    with pytest.raises(ModelFailed, match="overloaded"):
        await said_to(ChatTarget(ScriptedModel(ModelFailed("overloaded"))), a_case())


def a_legal_case(policy: str, *attached: str) -> Case:
    given = SingleTurn(message="May he?", attachments=tuple(Attachment(path=path) for path in attached))
    return a_case(input=given, metadata={"policy_id": policy})


@pytest.mark.parametrize(
    ("policy", "own", "sent"),
    [
        ("apexv1_extended_v1", "", "You are an experienced lawyer"),
        ("apexv1_extended_v1", "You are Moss.", "You are Moss."),
        ("prbench_v1", "You are Moss.", "You are Moss."),
        ("prbench_v1", "", ""),
    ],
    ids=["the policy's", "the agent's wins", "the agent's", "none"],
)
async def test_the_agents_prompt_wins_over_the_datasets(policy: str, own: str, sent: str) -> None:
    model = ScriptedModel("Yes.")
    await said_to(ChatTarget(model, own), a_legal_case(policy))
    systems = [content for role, content in texts(model) if role == "system"]
    assert len(systems) == bool(sent)
    assert "".join(systems).startswith(sent)


async def test_attachments_reach_the_model(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The lease.", "utf-8")
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n0000")
    model = ScriptedModel("Yes.")
    case = a_legal_case("apexv1_extended_v1", "a.txt", "b.png")
    await said_to(ChatTarget(model, documents=Documents([tmp_path])), case)
    message = model.asked[0].messages[-1]
    assert "[document 1] a.txt\n| The lease." in message.content
    assert [image.media_type for image in message.images] == ["image/png"]


async def test_a_model_that_cannot_see_says_so(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n0000")
    model = ScriptedModel(ModelRefused("HTTP 400: no images"))
    with pytest.raises(ModelRefused, match=r"no images; the request showed 1 picture.*`images: false`"):
        await said_to(ChatTarget(model, documents=Documents([tmp_path])), a_legal_case("", "b.png"))
