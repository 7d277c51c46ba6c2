"""The first files: they are written whole or not at all, and each of them is sound."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from howsure.config import Settings, load
from howsure.dialects.datasets import read_cases
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.test_set import TestSetDialect
from howsure.errors import ConfigInvalid, Conflict
from howsure.model.case import Scenario, Script, SingleTurn
from howsure.model.expectation import ToolCalls
from howsure.services.init import FILES, GOLDEN, TARGET, TEST_SET, StarterFiles, starter_folder, write_starter_files
from howsure.targets.base import TargetRequest
from howsure.targets.chat.tools import read_chat_settings
from howsure.targets.command.target import CommandKind
from howsure.targets.http.target import HttpKind


def test_everything_is_written_into_a_folder_that_need_not_be_there(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "place"
    assert write_starter_files(folder) == StarterFiles(folder=str(folder), written=FILES)
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert found == sorted(FILES)


def test_nothing_else_lies_among_the_files_to_be_written() -> None:
    kept = [path for path in starter_folder().rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sorted(path.relative_to(starter_folder()).as_posix() for path in kept) == sorted(FILES)


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    write_starter_files(tmp_path)
    assert write_starter_files(tmp_path) == StarterFiles(folder=str(tmp_path), unchanged=FILES)


def test_what_would_be_lost_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "evaluation" / "datasets").mkdir(parents=True)
    for name in ("howsure.yaml", TEST_SET):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(Conflict) as raised:
        write_starter_files(tmp_path)
    assert str(raised.value) == (
        f"{tmp_path} has howsure.yaml, {TEST_SET} already; nothing was written (--force overwrites)"
    )
    assert (tmp_path / "howsure.yaml").read_text("utf-8") == "mine"
    assert not (tmp_path / "support_agent.py").exists()


def test_force_overwrites(tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text("mine", encoding="utf-8")
    assert write_starter_files(tmp_path, force=True).written == FILES
    assert (tmp_path / "howsure.yaml").read_bytes() == (starter_folder() / "howsure.yaml").read_bytes()


def test_a_folder_that_is_a_file_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("a file", encoding="utf-8")
    with pytest.raises(ConfigInvalid, match=r"here.*cannot be written"):
        write_starter_files(tmp_path / "here")


def test_the_settings_are_valid_and_free() -> None:
    settings = load(starter_folder(), {})
    assert (settings.judge, settings.simulator) == ("offline", "offline")
    assert settings.targets == {TARGET: {"kind": "function", "function": "support_agent.py:answer"}}


def uncommented(folder: Path) -> Settings:
    """The settings with every commented one switched on: those are the comments that read `# name: …` or `# - …`."""
    text = (starter_folder() / "howsure.yaml").read_text("utf-8")
    on = re.sub(r"^( *)# ((?: {2})*(?:- |\w+:(?: |$)).*)$", r"\1\2", text, flags=re.MULTILINE)
    (folder / "howsure.yaml").write_text(on.replace("node bot.js", "sh bot.js"), encoding="utf-8")
    return load(folder, {})


def test_what_is_commented_out_would_be_valid_too(tmp_path: Path) -> None:
    settings = uncommented(tmp_path)
    assert (settings.turn_seconds, settings.plugins, list(settings.profiles)) == (60, ("our_graders.py",), ["strict"])
    assert settings.target_settings.max_tokens == 800
    kinds = {name: block.pop("kind") for name, block in settings.targets.items()}
    assert kinds == {"agent": "function", "bot": "http", "program": "command", "model": "chat"}
    for kind in (HttpKind(), CommandKind()):
        name = next(name for name in kinds if kinds[name] == kind.name)
        wish = TargetRequest(name=name, settings=settings.targets[name], folder=tmp_path, environ={"BOT_TOKEN": "x"})
        assert kind.make(wish).name == name
    chat, scripts = read_chat_settings("model", settings.targets["model"])
    assert (chat.model, chat.agent, list(scripts)) == ("openai:gpt-5-mini", "support", ["look_up_order"])


def test_the_test_set_has_a_question_and_a_conversation_with_facts_and_a_plan() -> None:
    question, talk = read_cases(starter_folder() / TEST_SET, TestSetDialect())
    assert isinstance(question.input, SingleTurn)
    assert isinstance(talk.input, Scenario)
    assert [fact.name for fact in talk.input.facts] == ["order number", "payment"]
    assert [step.when for step in talk.input.plan] == ["the agent offers a voucher", "the agent calls refund_order"]


def test_the_golden_questions_name_tool_calls() -> None:
    cases = list(read_cases(starter_folder() / GOLDEN, GoldenDialect()))
    assert all(isinstance(case.input, Script) for case in cases)
    called = [
        [call.name for call in each.expected]
        for case in cases
        for each in case.expectations
        if isinstance(each, ToolCalls)
    ]
    assert called == [["look_up_order"], ["look_up_order", "refund_order"]]
