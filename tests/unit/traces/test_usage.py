"""Token counts in every spelling mean the same thing: cached inside the prompt, thinking beside the completion."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from howsure.errors import Level
from howsure.model.transcript import Usage
from howsure.traces.usage import read_run_usage, read_usage, settle_counts, total_tokens
from howsure.traces.values import (
    LONGEST_LITERAL,
    UNREADABLE,
    TraceProblems,
    decode_value,
    first_present,
    first_text,
    pick_value,
    read_amount,
    read_count,
)

GEMINI = {
    "prompt_token_count": 100,
    "candidates_token_count": 20,
    "thoughts_token_count": 30,
    "cached_content_token_count": 40,
    "total_token_count": 150,
}
CAMEL = {
    "promptTokenCount": 100,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 30,
    "cachedContentTokenCount": 40,
    "totalTokenCount": 150,
}
FULL = Usage(prompt_tokens=100, completion_tokens=20, cached_tokens=40, thinking_tokens=30)
PLAIN = Usage(prompt_tokens=39, completion_tokens=6)


def as_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


@pytest.mark.parametrize(
    ("attributes", "usage"),
    [
        ({"gcp.vertex.agent.llm_response": {"usage_metadata": GEMINI}}, FULL),
        ({"gcp.vertex.agent.llm_response": as_text({"usage_metadata": GEMINI})}, FULL),
        ({"gcp.vertex.agent.llm_response": as_text({"usageMetadata": CAMEL})}, FULL),
        ({"gcp.vertex.agent.llm_response": as_text(as_text({"usageMetadata": CAMEL}))}, FULL),
        ({"gen_ai.usage.input_tokens": 39, "gen_ai.usage.output_tokens": 6}, PLAIN),
        ({"gen_ai.usage.input_tokens": "39", "gen_ai.usage.output_tokens": "6"}, PLAIN),
        ({"gen_ai.usage.prompt_tokens": 39, "gen_ai.usage.completion_tokens": 6}, PLAIN),
        (
            {
                "gen_ai.usage.input_tokens": 100,
                "gen_ai.usage.output_tokens": 50,
                "gen_ai.usage.cache_read.input_tokens": 40,
                "gen_ai.usage.reasoning.output_tokens": 30,
            },
            FULL,
        ),
        (
            {
                "gen_ai.usage.input_tokens": 100,
                "gen_ai.usage.output_tokens": 20,
                "gen_ai.usage.cache_read_input_tokens": 40,
                "gen_ai.usage.experimental.reasoning_tokens": 30,
            },
            FULL,
        ),
        (
            {
                "llm.token_count.prompt": "100",
                "llm.token_count.completion": "50",
                "llm.token_count.total": "150",
                "llm.token_count.prompt_details.cache_read": "40",
                "llm.token_count.completion_details.reasoning": "30",
            },
            FULL,
        ),
        (
            {
                "output.value": as_text(
                    {
                        "usage": {
                            "prompt_tokens": 100,
                            "completion_tokens": 50,
                            "total_tokens": 150,
                            "prompt_tokens_details": {"cached_tokens": 40},
                            "completion_tokens_details": {"reasoning_tokens": 30},
                        }
                    }
                )
            },
            FULL,
        ),
        (
            {
                "output.value": {
                    "usage": {
                        "input_tokens": 100,
                        "output_tokens": 50,
                        "input_tokens_details": {"cached_tokens": 40},
                        "output_tokens_details": {"reasoning_tokens": 30},
                    }
                }
            },
            FULL,
        ),
        (
            {
                "output.value": {
                    "usage_metadata": {
                        "input_tokens": 100,
                        "output_tokens": 50,
                        "total_tokens": 150,
                        "input_token_details": {"cache_read": 40},
                        "output_token_details": {"reasoning": 30},
                    }
                }
            },
            FULL,
        ),
        ({"output.value": {"usageMetadata": CAMEL}}, FULL),
        ({"langfuse.observation.usage_details": {"input": 39, "output": 6, "total": 45}}, PLAIN),
        ({"langfuse.observation.usage_details": '{"input": 39, "output": 6}'}, PLAIN),
        (
            {
                "langfuse.observation.usage_details": {"input": 100, "output": 50, "total": 150}
                | {"input_cache_read": 40, "output_reasoning": 30}
            },
            FULL,
        ),
    ],
    ids=[
        "ADK object",
        "ADK text",
        "ADK camelCase",
        "ADK encoded twice",
        "gen_ai",
        "gen_ai as text",
        "gen_ai old",
        "gen_ai with details inside",
        "gen_ai with thinking beside",
        "OpenInference",
        "OpenAI chat answer",
        "OpenAI responses answer",
        "LangChain answer",
        "Gemini answer",
        "langfuse",
        "langfuse text",
        "langfuse details",
    ],
)
def test_every_spelling_gives_the_same_counts(attributes: dict[str, Any], usage: Usage) -> None:
    notes = TraceProblems()
    assert read_usage(attributes, "span", notes) == usage
    assert notes.items == []


@pytest.mark.parametrize(
    ("attributes", "usage"),
    [
        ({}, None),
        ({"gcp.vertex.agent.llm_response": {}}, None),
        ({"gcp.vertex.agent.llm_response": "{}"}, None),
        ({"gcp.vertex.agent.llm_response": {"content": {"parts": []}}}, None),
        ({"output.value": "Hello!"}, None),
        ({"output.value": {"usage": None}}, None),
        ({"langfuse.observation.usage_details": {}}, None),
        ({"gen_ai.usage.input_tokens": 1988}, Usage(prompt_tokens=1988)),
        ({"gen_ai.usage.output_tokens": 0}, Usage(completion_tokens=0)),
        ({"operation.cost": "0.25"}, Usage(cost_usd=0.25)),
        (
            {"gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 2, "gen_ai.usage.cost": 0.5},
            Usage(prompt_tokens=1, completion_tokens=2, cost_usd=0.5),
        ),
    ],
)
def test_what_nobody_counted_is_not_zero(attributes: dict[str, Any], usage: Usage | None) -> None:
    assert read_usage(attributes, "span", TraceProblems()) == usage


def test_the_kinds_that_a_model_leaves_out_are_unknown_and_the_completion_is_empty() -> None:
    found = read_usage(
        {"gcp.vertex.agent.llm_response": {"usage_metadata": {"prompt_token_count": 7}}}, "s", TraceProblems()
    )
    assert found == Usage(prompt_tokens=7, completion_tokens=0)


def test_a_kind_that_one_call_reports_was_zero_where_another_leaves_it_out() -> None:
    calls = [Usage(prompt_tokens=9, completion_tokens=1, cached_tokens=4), Usage(prompt_tokens=7, completion_tokens=1)]
    assert settle_counts(calls) == [calls[0], Usage(prompt_tokens=7, completion_tokens=1, cached_tokens=0)]
    assert settle_counts(calls[1:]) == calls[1:]


def test_results_fed_back_to_gemini_are_part_of_the_prompt() -> None:
    metadata = {**GEMINI, "tool_use_prompt_token_count": 11, "total_token_count": 161}
    found = read_usage({"gcp.vertex.agent.llm_response": {"usage_metadata": metadata}}, "s", TraceProblems())
    assert found is not None
    assert found.prompt_tokens == 111
    assert total_tokens(found) == 161


@pytest.mark.parametrize(
    ("completion", "thinking", "total", "left"),
    [
        (50, 30, None, 20),
        (50, 30, 150, 20),
        (50, 30, 180, 50),
        (20, 30, None, 20),
        (50, 30, 999, 20),
        (50, 0, 150, 50),
    ],
    ids=[
        "inside by the spelling",
        "inside by the total",
        "beside by the total",
        "larger than the whole",
        "a total that fits nothing",
        "no thinking",
    ],
)
def test_the_total_decides_where_thinking_was_counted(
    completion: int, thinking: int, total: int | None, left: int
) -> None:
    attributes = {
        "llm.token_count.prompt": 100,
        "llm.token_count.completion": completion,
        "llm.token_count.total": total,
        "llm.token_count.completion_details.reasoning": thinking,
    }
    found = read_usage(attributes, "span", TraceProblems())
    assert found is not None
    assert (found.completion_tokens, found.thinking_tokens) == (left, thinking)


@pytest.mark.parametrize(
    ("prompt", "cached", "total", "whole"),
    [
        (100, 40, None, 100),
        (100, 100, None, 100),
        (10, 40, None, 50),
        (100, 40, 106, 100),
        (100, 40, 146, 140),
    ],
    ids=["inside", "all of it", "more than the prompt", "inside by the total", "beside by the total"],
)
def test_the_prompt_always_holds_its_cached_tokens(prompt: int, cached: int, total: int | None, whole: int) -> None:
    attributes = {
        "gen_ai.usage.input_tokens": prompt,
        "gen_ai.usage.output_tokens": 6,
        "gen_ai.usage.cache_read.input_tokens": cached,
        "gen_ai.usage.total_tokens": total,
    }
    notes = TraceProblems()
    found = read_usage(attributes, "span", notes)
    assert found is not None
    assert (found.prompt_tokens, found.cached_tokens) == (whole, cached)
    assert [problem.code for problem in notes.items] == ([] if whole == prompt else ["cached_apart"])


@pytest.mark.parametrize(
    ("attributes", "code", "field"),
    [
        (
            {"gcp.vertex.agent.llm_response": '{"usage_metadata": {"prompt_tok'},
            "unreadable_json",
            "s.gcp.vertex.agent.llm_response",
        ),
        (
            {"gcp.vertex.agent.llm_response": "<not serializable>"},
            "unreadable_json",
            "s.gcp.vertex.agent.llm_response",
        ),
        ({"gen_ai.usage.input_tokens": "many"}, "not_a_count", "s.gen_ai.usage.input_tokens"),
        ({"gen_ai.usage.output_tokens": -4}, "not_a_count", "s.gen_ai.usage.output_tokens"),
        (
            {"langfuse.observation.usage_details": '{"input": 39'},
            "unreadable_json",
            "s.langfuse.observation.usage_details",
        ),
    ],
)
def test_counts_that_cannot_be_read_are_noted_and_unknown(attributes: dict[str, Any], code: str, field: str) -> None:
    notes = TraceProblems()
    assert read_usage(attributes, "s", notes) is None
    assert [(problem.code, problem.field) for problem in notes.items] == [(code, field)]


def test_the_spelling_that_says_most_is_taken() -> None:
    attributes = {
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "llm.token_count.prompt": 10,
        "llm.token_count.completion": 5,
        "llm.token_count.prompt_details.cache_read": 4,
    }
    assert read_usage(attributes, "s", TraceProblems()) == Usage(prompt_tokens=10, completion_tokens=5, cached_tokens=4)


def test_the_answer_kept_on_an_agents_span_is_the_last_calls_not_the_runs() -> None:
    assert read_run_usage({"output.value": {"usage_metadata": GEMINI}}, "s", TraceProblems()) is None
    claimed = read_run_usage(
        {"gen_ai.usage.input_tokens": 682, "gen_ai.usage.output_tokens": 126}, "s", TraceProblems()
    )
    assert claimed == Usage(prompt_tokens=682, completion_tokens=126)


@pytest.mark.parametrize(
    ("usage", "total"),
    [(FULL, 150), (PLAIN, 45), (Usage(prompt_tokens=1), None), (Usage(completion_tokens=1), None), (Usage(), None)],
)
def test_the_total_is_the_sum_of_its_parts(usage: Usage, total: int | None) -> None:
    assert total_tokens(usage) == total


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (39, 39),
        ("39", 39),
        (" 39 ", 39),
        (39.0, 39),
        ("39.0", 39),
        (0, 0),
        ("0", 0),
        (2**70, 2**70),
        (39.5, None),
        ("many", None),
        ("", None),
        (-1, None),
        ("-1", None),
        (True, None),
        (None, None),
        (float("nan"), None),
        (float("inf"), None),
        ("inf", None),
        ([39], None),
        ({}, None),
        (10**400, None),
    ],
)
def test_a_count_is_a_whole_number_however_it_is_written(value: Any, count: int | None) -> None:
    assert read_count(value) == count


@pytest.mark.parametrize(
    ("value", "money"),
    [
        (0.5, 0.5),
        ("0.00009435", 0.00009435),
        (0, 0.0),
        (-0.5, None),
        ("nan", None),
        (float("inf"), None),
        (True, None),
        ("free", None),
        ([1], None),
    ],
)
def test_an_amount_is_finite_and_not_negative(value: Any, money: float | None) -> None:
    assert read_amount(value) == money


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ('{"a": 1}', {"a": 1}),
        (" [1, 2]\n", [1, 2]),
        ({"a": 1}, {"a": 1}),
        (None, None),
        (7, 7),
        ("The weather is sunny.", "The weather is sunny."),
        ("", ""),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('"plain"', "plain"),
        ("{'ok': True, 'amount': 50.0}", {"ok": True, "amount": 50.0}),
        ("[{'title': \"It's\"}]", [{"title": "It's"}]),
        ("{}", {}),
        ("[]", []),
    ],
    ids=[
        "object",
        "list with spaces around",
        "not text",
        "nothing",
        "a number",
        "plain text",
        "empty text",
        "encoded twice",
        "a JSON string",
        "a printed dict",
        "a printed list",
        "empty object",
        "empty list",
    ],
)
def test_text_that_holds_a_value_is_read_as_the_value(value: Any, meaning: Any) -> None:
    assert decode_value(value) == meaning


def test_the_nan_that_python_writes_is_read() -> None:
    assert str(decode_value('{"score": NaN}')) == "{'score': nan}"


@pytest.mark.parametrize(
    "value",
    ['{"status": "error"', "[1, 2", '{"a": 1} and more', '"open', "{not json}", "[" * 100_000, "{'a': open('x')}"],
    ids=["cut off", "open list", "something after", "open string", "no JSON", "too deep", "code"],
)
def test_broken_json_is_unreadable_and_not_text(value: str) -> None:
    assert decode_value(value) is UNREADABLE


def test_a_very_long_broken_text_is_given_up_without_trying_it_as_python() -> None:
    assert decode_value("['" + "x" * LONGEST_LITERAL + "']") is UNREADABLE


def test_the_first_name_with_a_value_wins_and_empty_is_no_value() -> None:
    attributes = {"a": None, "b": "", "c": 0, "d": "x"}
    assert first_present(attributes, ["a", "b", "c", "d"]) == "c"
    assert first_present(attributes, ["a", "b", "missing"]) is None


def test_text_skips_what_is_none() -> None:
    assert first_text({"a": 3, "b": ["x"], "c": "name"}, ["a", "b", "c"]) == "name"
    assert first_text({"a": 3}, ["a", "b"]) == ""


@pytest.mark.parametrize("mapping", [None, "text", 3, ["a"]])
def test_picking_from_what_is_no_mapping_gives_nothing(mapping: Any) -> None:
    assert pick_value(mapping, "a") is None


def test_picking_passes_over_nulls() -> None:
    assert pick_value({"a": None, "b": 0}, "a", "b") == 0


def test_a_note_names_span_attribute_and_what_was_found() -> None:
    notes = TraceProblems()
    notes.add("unreadable_json", "is not JSON", "span 1 (call_llm)", "gcp.vertex.agent.llm_response", "{" * 200)
    (problem,) = notes.items
    assert problem.code == "unreadable_json"
    assert problem.field == "span 1 (call_llm).gcp.vertex.agent.llm_response"
    assert problem.message == "is not JSON"
    assert problem.found == "{" * 80
    assert problem.level is Level.WARNING
