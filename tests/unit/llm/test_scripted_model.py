"""The model of tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

from howsure.errors import ModelFailed
from howsure.llm.base import Completion, LanguageModel, ModelRequest
from howsure.llm.messages import ChatMessage
from howsure.model.transcript import Role, Usage
from howsure.testing import ScriptedModel


def asking(text: str) -> ModelRequest:
    return ModelRequest(messages=(ChatMessage(Role.USER, text),))


async def test_one_answer_is_given_every_time() -> None:
    model: LanguageModel = ScriptedModel("yes")
    assert [(await model.complete(asking("a"))).text for _ in range(3)] == ["yes", "yes", "yes"]


async def test_several_are_given_in_order_and_no_more() -> None:
    model = ScriptedModel("one", ModelFailed("two"), Completion(text="three", model="m", usage=Usage()))
    assert (await model.complete(asking("a"))).text == "one"
    with pytest.raises(ModelFailed, match="two"):
        await model.complete(asking("b"))
    assert (await model.complete(asking("c"))).text == "three"
    with pytest.raises(ModelFailed, match="no answer is left; 3 were scripted"):
        await model.complete(asking("d"))
    assert [request.messages[0].content for request in model.asked] == ["a", "b", "c", "d"]


async def test_a_function_answers_by_the_request() -> None:
    model = ScriptedModel(lambda request: request.messages[-1].content.upper(), name="scripted:loud")
    completion = await model.complete(asking("hello"))
    assert (completion.text, completion.model) == ("HELLO", "scripted:loud")


async def test_without_answers_it_says_nothing() -> None:
    assert (await ScriptedModel().complete(asking("a"))).text == ""


def test_nothing_but_the_opening_pays_for_the_http_client() -> None:
    program = "import sys, howsure.llm.client, howsure.testing; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
