"""The chat target: the model gets all it should see, and its answer is the transcript."""

from __future__ import annotations

import pytest

from assay.engine.converse import converse
from assay.errors import ModelFailed
from assay.llm.base import Completion
from assay.model.case import Case, Script, SingleTurn
from assay.model.expectation import Choice, CorrectChoice
from assay.model.transcript import Message, Role, Usage
from assay.targets.chat import ChatTarget
from assay.testing import ScriptedModel, a_case


def texts(model: ScriptedModel, call: int = -1) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in model.asked[call].messages]


async def test_a_question_brings_its_context_its_history_and_its_options() -> None:
    model = ScriptedModel("Answer: A")
    choices = (Choice(id="A", text="Yes"), Choice(id="B", text="No"))
    given = SingleTurn(
        message="May he?",
        context="He is twelve.",
        history=(Message(role=Role.USER, content="Hello"), Message(role=Role.ASSISTANT, content="Hi")),
    )
    case = a_case(CorrectChoice(choices=choices, correct=("A",)), input=given)
    transcript = await converse(case, ChatTarget(model, "Be brief."))
    asked = texts(model)
    assert asked[:3] == [("system", "Be brief."), ("user", "Hello"), ("assistant", "Hi")]
    assert asked[3][0] == "user"
    assert asked[3][1].startswith("He is twelve.\n\nMay he?\n\nA. Yes\nB. No")
    assert transcript.answer == "Answer: A"


async def test_the_turns_of_a_script_are_one_conversation() -> None:
    model = ScriptedModel("Hello!", "Bye!")
    transcript = await converse(Case(id="1", input=Script(turns=("Hi", "Ciao"))), ChatTarget(model))
    assert texts(model) == [("user", "Hi"), ("assistant", "Hello!"), ("user", "Ciao")]
    assert transcript.answer == "Bye!"


async def test_usage_and_repeats_are_kept() -> None:
    answer = Completion(text="x", model="m", usage=Usage(prompt_tokens=7, completion_tokens=2))
    model = ScriptedModel(answer)
    transcript = await converse(a_case(), ChatTarget(model, namespace="repeat 2"))
    assert transcript.usage == Usage(prompt_tokens=7, completion_tokens=2)
    assert model.asked[0].namespace == "repeat 2"


async def test_a_model_that_fails_fails_the_case_under_its_own_name() -> None:
    with pytest.raises(ModelFailed, match="overloaded"):
        await converse(a_case(), ChatTarget(ScriptedModel(ModelFailed("overloaded"))))
