"""The prompt files: complete, consistent, pinned."""

from __future__ import annotations

import re

import pytest

from howsure.judges.judge_inputs import DOCUMENTS, INPUTS
from howsure.judges.judge_prompts import (
    Prompt,
    ReplyKind,
    fill_placeholders,
    load_batched_prompts,
    load_prompts,
    placeholders,
    prompt_names,
    prompt_part,
    prompt_version,
    prompts_fingerprint,
)
from howsure.kit.builtins import judged_graders
from judge_questions import EVERY_PROMPT, GRADERS


def test_every_judged_grader_has_a_prompt() -> None:
    assert [grader.name for grader in judged_graders() if not prompt_names(grader.name)] == []


def test_every_prompt_belongs_to_a_grader() -> None:
    assert (
        sorted(name for grader in GRADERS for name in prompt_names(grader))
        == sorted(load_prompts())
        == sorted(EVERY_PROMPT)
    )


def test_no_grader_of_somebody_else_has_one() -> None:
    assert (prompt_names("my_eval"), prompt_version("my_eval")) == ((), "")


@pytest.mark.parametrize("found", load_prompts().values(), ids=list(load_prompts()))
def test_a_prompt_names_known_inputs_and_describes_its_values(found: Prompt) -> None:
    assert set(found.head.inputs) <= {*INPUTS, DOCUMENTS}
    low, high = map(int, found.head.scale)
    if found.head.reply is ReplyKind.RATING:
        assert re.findall(r"^- (\d):", found.body, re.MULTILINE) == [str(value) for value in range(high, low - 1, -1)]
    if found.head.reply is ReplyKind.CHECK:
        assert re.findall(r"^- (true|false):", found.body, re.MULTILINE) == ["true", "false"]
    assert found.body.startswith("Question: ")
    assert placeholders(found.body)[0] == "reply"


@pytest.mark.parametrize(
    ("name", "scale", "reply", "may_not_apply"),
    [
        ("RelevanceExplain", (1, 5), ReplyKind.RATING, False),
        ("PerceivedIntelligenceExplain", (1, 5), ReplyKind.RATING, False),
        ("criteria", (0, 1), ReplyKind.CHECK, False),
        ("rubric_rule", (0, 1), ReplyKind.CHECK, True),
        ("weighted_criterion_binary", (0, 1), ReplyKind.RATING, False),
        ("weighted_criterion_graded", (0, 1), ReplyKind.GRADE, False),
        ("reference_answer", (0, 1), ReplyKind.GRADE, False),
        ("capability_honesty", (0, 5), ReplyKind.RATING, True),
        ("safety", (0, 1), ReplyKind.VERDICTS, False),
    ],
)
def test_the_scale_is_the_graders(name: str, scale: tuple[int, int], reply: ReplyKind, may_not_apply: bool) -> None:
    head = load_prompts()[name].head
    assert (head.scale, head.reply, head.may_not_apply) == (scale, reply, may_not_apply)


def test_a_version_names_prompt_number_and_hash() -> None:
    assert re.fullmatch(r"criteria@1:[0-9a-f]{8}", prompt_version("criteria"))
    assert re.fullmatch(r"rubric_rule@1:[0-9a-f]{8}", prompt_version("rubric"))
    assert re.fullmatch(
        r"weighted_criterion_binary@1:[0-9a-f]{8}\+weighted_criterion_graded@1:[0-9a-f]{8}",
        prompt_version("weighted_criteria"),
    )
    versions = [prompt.version for prompt in load_prompts().values()]
    assert len(set(versions)) == len(versions)


@pytest.mark.parametrize("name", ["criteria", "rubric_rule", "weighted_criterion_binary", "weighted_criterion_graded"])
def test_the_prompt_of_a_batch_asks_what_the_prompt_of_each_asks(name: str) -> None:
    one, many = load_prompts()[name].head, load_batched_prompts()[name].head
    alone = {"statement", "explanation", "rule", "severity"}
    assert set(one.inputs) - alone == set(many.inputs) - {"statements", "rules"} <= {*INPUTS, DOCUMENTS}
    assert many.reply.value == f"{one.reply.value}s"
    assert (many.scale, many.may_not_apply) == (one.scale, one.may_not_apply)


def test_all_of_them_have_one_fingerprint() -> None:
    assert re.fullmatch("[0-9a-f]{64}", prompts_fingerprint())
    assert prompts_fingerprint() == prompts_fingerprint()


def test_the_reason_comes_before_the_value() -> None:
    for kind in ReplyKind:
        words = prompt_part(kind.value)
        value = {"check": "passed", "checks": "passed", "verdicts": "verdicts"}.get(kind.value, "score")
        assert words.index('"reason"') < words.index('"evidence"') < words.index(f'"{value}"')


def test_what_is_filled_in_is_not_looked_at_again() -> None:
    assert fill_placeholders("{a} and {b} and {c}", {"a": "{b}", "b": "{a}"}) == "{b} and {a} and {c}"
