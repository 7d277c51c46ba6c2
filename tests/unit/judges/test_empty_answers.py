"""Answers that are not there, judged without a judge."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from howsure.judges.base import Question
from howsure.judges.empty_answers import EMPTY_ANSWER_RULE, is_blank
from howsure.judges.live_judges import LiveJudge
from howsure.kit.plugins import judged_graders
from howsure.model.score import Part
from howsure.model.transcript import Message, Role, ToolCall, Transcript
from howsure.testing import ScriptedModel, a_case
from judge_questions import EVERY_PROMPT, GRADERS, a_question

EMPTY = Transcript(answer="")
ABOUT_NO_ANSWER = {"RetrievalExplain", "simulator_fidelity_judged"}


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        ("", True),
        (" \n\t", True),
        ("...", True),
        ("?!", True),
        ("—…“”", True),
        ("$ + ^ | ~ `", True),
        ("\u200b\u3164\u2800\ufeff", True),
        ("{}", True),
        ("No", False),
        ("7", False),
        ("👍", False),
        ("中", False),
        ("✓", False),
        ("- a", False),
    ],
)
def test_one_word_is_an_answer_and_punctuation_is_none(text: str, blank: bool) -> None:
    assert is_blank(text) is blank


@pytest.mark.parametrize("grader", [name for name in GRADERS if name not in ABOUT_NO_ANSWER])
async def test_an_empty_answer_gets_the_lowest_value_without_asking(grader: str) -> None:
    model = ScriptedModel()
    reply = await LiveJudge(model).ask(a_question(grader, transcript=EMPTY))
    assert model.asked == []
    assert (reply.judge, reply.cost_usd) == (EMPTY_ANSWER_RULE, 0.0)
    assert reply.content["reason"] == "the answer is empty"
    known = [each for each in judged_graders() if each.name == grader]
    for each in known:
        assert each.read(reply.content).value == each.scale.low  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RelevanceExplain", {"score": 1}),
        ("criteria", {"passed": False}),
        ("rubric_rule", {"passed": False}),
        ("weighted_criterion_binary", {"score": 0}),
        ("response_correctness", {"score": 0}),
        ("safety", {"score": 0}),
    ],
)
async def test_the_reply_is_of_the_kind_that_was_asked_for(name: str, value: dict[str, Any]) -> None:
    reply = await LiveJudge(ScriptedModel()).ask(replace(EVERY_PROMPT[name], transcript=Transcript(answer="?!")))
    assert reply.content == {"reason": "the answer has nothing but punctuation", **value}


async def test_a_criterion_that_costs_points_is_not_met_either() -> None:
    part = Part(id="w2", text="invents a fee", weight=-5)
    reply = await LiveJudge(ScriptedModel()).ask(a_question("weighted_criteria", transcript=EMPTY, part=part))
    assert reply.content["score"] == 0


SAID = Message(role=Role.ASSISTANT, content="Earlier words")
ONLY_TOOLS = Message(role=Role.ASSISTANT, content="I will hand over", tool_calls=(ToolCall(name="handoff"),))


@pytest.mark.parametrize(
    ("grader", "messages", "is_asked"),
    [
        ("criteria", (ONLY_TOOLS,), True),
        ("criteria", (SAID,), True),
        ("criteria", (Message(role=Role.USER, content="Hello"),), False),
        ("rubric", (SAID,), True),
        ("rubric", (ONLY_TOOLS,), False),
        ("ToolCallAccuracyExplain", (ONLY_TOOLS,), True),
        ("RelevanceExplain", (SAID, ONLY_TOOLS), False),
        ("reference_answer", (SAID,), False),
        ("RetrievalExplain", (), True),
        ("simulator_fidelity_judged", (Message(role=Role.USER, content="Hello"),), True),
        ("simulator_fidelity_judged", (), True),
    ],
)
async def test_what_the_judge_would_see_besides_the_answer_counts(
    grader: str, messages: tuple[Message, ...], is_asked: bool
) -> None:
    model = ScriptedModel("yes")
    await LiveJudge(model).ask(a_question(grader, transcript=Transcript(answer=" ", messages=messages)))
    assert bool(model.asked) is is_asked


async def test_every_other_answer_goes_to_the_judge() -> None:
    reply = await LiveJudge(ScriptedModel("yes")).ask(a_question("criteria"))
    assert (reply.judge, reply.content) == ("scripted:model", "yes")


async def test_graders_of_somebody_else_decide_for_themselves() -> None:
    model = ScriptedModel("yes")
    await LiveJudge(model).ask(Question(grader="my_eval", case=a_case(), transcript=EMPTY, prompt="Is it empty?"))
    assert len(model.asked) == 1
