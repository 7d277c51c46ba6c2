"""The measures of tokens and money."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.graders.measures import measures
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.model.transcript import Message, Role, Span, ToolCall, ToolResult, Usage
from howsure.prices.table import PriceTable
from howsure.testing import a_case, a_transcript

FLASH = "gemini-2.5-flash"


def gemini(model: str = FLASH, span: str = "", **counts: int) -> Span:
    names = {
        "prompt": "prompt_token_count",
        "completion": "candidates_token_count",
        "cached": "cached_content_token_count",
        "thinking": "thoughts_token_count",
        "total": "total_token_count",
    }
    metadata = {names[name]: count for name, count in counts.items()}
    attributes: dict[str, Any] = {"gcp.vertex.agent.llm_response": {"usage_metadata": metadata}}
    return Span(
        name="call_llm", span_id=span, attributes=attributes | ({"gen_ai.request.model": model} if model else {})
    )


def openai(model: Any = "gpt-4o", **counts: Any) -> Span:
    spelled = {f"gen_ai.usage.{name}": count for name, count in counts.items()}
    return Span(name=f"chat {model}", attributes={"gen_ai.request.model": model, **spelled})


async def measured(name: str, *spans: Span, prices: PriceTable | None = None, **fields: Any) -> Grade:
    (measure,) = [measure for measure in measures(prices) if measure.name == name]
    (grade,) = await measure.grade(a_case(), a_transcript(spans=spans or None, **fields))
    return grade


async def value(name: str, *spans: Span, **fields: Any) -> float:
    grade = await measured(name, *spans, **fields)
    assert isinstance(grade, Score), grade
    return grade.value


async def missing(name: str, *spans: Span, **fields: Any) -> Unscored:
    grade = await measured(name, *spans, **fields)
    assert isinstance(grade, Unscored), grade
    return grade


async def test_placeholders_cost_nothing_and_a_response_on_a_tool_span_is_counted() -> None:
    """As in real files: a placeholder before the first call, and the calls of the model on the spans of tools."""
    placeholder = Span(name="call_llm", attributes={"gen_ai.request.model": "None"})
    asked = Span(name="execute_tool a", attributes=gemini(prompt=2000, completion=200).attributes)
    grade = await measured("token_usage", placeholder, asked, gemini(prompt=1000, completion=100))
    assert isinstance(grade, Score)
    # 3,000 prompt tokens at $0.30 and 300 completion tokens at $2.50 a million
    assert grade.value == pytest.approx(0.00165)
    assert (grade.details["llm_calls"], grade.details["calls_without_usage"]) == (2, 0)


async def test_prompt_tokens_that_tools_brought_are_counted_and_named_apart() -> None:
    counts = {
        "promptTokenCount": 100,
        "toolUsePromptTokenCount": 900,
        "candidatesTokenCount": 10,
        "totalTokenCount": 1010,
    }
    attributes = {"gen_ai.request.model": FLASH, "gcp.vertex.agent.llm_response": {"usageMetadata": counts}}
    grade = await measured("token_usage", Span(name="call_llm", attributes=attributes))
    assert isinstance(grade, Score)
    assert grade.value == pytest.approx(1000 * 0.3e-6 + 10 * 2.5e-6)
    named = ("prompt_tokens", "tool_prompt_tokens", "completion_tokens", "total_tokens")
    assert [grade.details[name] for name in named] == [1000, 900, 10, 1010]
    assert "900 prompt tokens were brought by tools" in grade.reason


async def test_the_cost_is_that_of_every_call_at_its_models_price() -> None:
    spans = [
        gemini(prompt=1000, completion=100, thinking=300, cached=400),
        openai(input_tokens=1000, output_tokens=100),
    ]
    grade = await measured("token_usage", *spans)
    assert isinstance(grade, Score)
    # 600 × 0.30 + 400 × 0.03 + 400 × 2.50, and 1000 × 2.50 + 100 × 10, for a million
    assert grade.value == pytest.approx(0.001192 + 0.0035)
    assert grade.details == {
        "llm_calls": 2,
        "models_used": ["gemini-2.5-flash", "gpt-4o"],
        "total_tokens": 2500,
        "prompt_tokens": 2000,
        "completion_tokens": 200,
        "cached_tokens": 400,
        "thinking_tokens": 300,
        "tool_prompt_tokens": None,
        "estimated_cost_usd": pytest.approx(0.004692),
        "calls_without_usage": 0,
        "prices_as_of": "2025-12-31",
    }
    assert grade.reason == "$0.004692 for 2500 tokens"


async def test_the_total_is_the_sum_of_its_parts_whatever_the_trace_claims() -> None:
    grade = await measured("token_usage", gemini(prompt=20_923, completion=262, total=16_857))
    assert isinstance(grade, Score)
    assert grade.details["total_tokens"] == 21_185


@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        ([gemini("mock", prompt=1, completion=1)], "no price is known for model mock"),
        (
            [gemini("b", prompt=1, completion=1), gemini("a", prompt=1, completion=1)],
            "no price is known for model a; no price is known for model b",
        ),
        ([gemini("", prompt=1, completion=1)], "no model is named for 1 count of tokens"),
        (
            [gemini(prompt=1, completion=1), Span(name="call_llm")],
            "1 of 2 calls of a model report no tokens",
        ),
        ([openai(input_tokens=5)], "1 call of a model without both prompt and completion tokens"),
    ],
    ids=["unknown model", "two unknown models", "no model", "a call without counts", "half a count"],
)
async def test_a_cost_that_is_not_known_is_an_error_and_its_tokens_are_still_told(
    spans: list[Span], reason: str
) -> None:
    grade = await missing("token_usage", *spans)
    assert (grade.why, grade.reason) == (UnscoredReason.ERROR, reason)
    assert grade.details["estimated_cost_usd"] is None
    assert grade.details["llm_calls"] == len(spans)
    assert grade.details["prompt_tokens"] is not None


async def test_a_partly_known_cost_is_told_as_such() -> None:
    grade = await missing(
        "token_usage", openai(input_tokens=1000, output_tokens=0), gemini("x", prompt=9, completion=9)
    )
    assert grade.details["known_cost_usd"] == pytest.approx(0.0025)


async def test_a_users_price_makes_an_unknown_model_known() -> None:
    prices = PriceTable.load({"mock": {"prompt": 1.0, "completion": 2.0}})
    assert await value("token_usage", gemini("mock", prompt=10, completion=10), prices=prices) == pytest.approx(3e-05)


async def test_where_the_table_does_not_know_the_model_the_traces_own_cost_counts() -> None:
    assert await value("token_usage", openai("acme", input_tokens=1, output_tokens=1, cost=0.25)) == 0.25
    listed = await value("token_usage", openai("gpt-4o", input_tokens=1_000_000, output_tokens=0, cost=0.25))
    assert listed == pytest.approx(2.5)


async def test_cached_tokens_at_the_full_price_are_said_to_be() -> None:
    grade = await measured("token_usage", gemini("gemini-2.0-flash-lite", prompt=1000, completion=0, cached=400))
    assert isinstance(grade, Score)
    assert "full prompt price (no other is known) for gemini-2.0-flash-lite" in grade.reason


async def test_a_flash_lite_is_not_priced_as_a_flash() -> None:
    assert await value("token_usage", gemini("gemini-2.0-flash-lite-001", prompt=1_000_000, completion=0)) == 0.075


async def test_without_spans_the_targets_own_usage_is_taken_and_said_to_be() -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=5, cost_usd=0.5)
    grade = await measured("token_usage", usage=usage)
    assert isinstance(grade, Score)
    assert (grade.value, grade.details["llm_calls"], grade.details["total_tokens"]) == (0.5, None, 15)
    assert grade.reason.endswith("no spans were recorded; from the usage the target reported")


async def test_a_usage_without_a_cost_names_no_model_so_its_cost_is_not_known() -> None:
    grade = await missing("token_usage", usage=Usage(prompt_tokens=10, completion_tokens=5))
    assert grade.why is UnscoredReason.ERROR
    assert grade.details["total_tokens"] == 15


async def test_what_agents_claim_counts_only_where_no_call_reports_anything() -> None:
    claims = {"gen_ai.usage.input_tokens": 1_000_000, "gen_ai.usage.output_tokens": 0}
    root = Span(name="invoke_agent root", span_id="1", attributes=claims)
    inner = Span(name="invoke_agent sub", span_id="2", parent_id="1", attributes=claims)
    call = Span(name="chat gpt-4o", span_id="3", parent_id="2", attributes={"gen_ai.request.model": "gpt-4o"})
    assert await value("token_usage", root, inner, call) == 2.5
    counted = Span(
        name="chat gpt-4o", span_id="3", parent_id="2", attributes={"gen_ai.request.model": "gpt-4o", **claims}
    )
    grade = await measured("token_usage", root, inner, counted)
    assert grade.details["prompt_tokens"] == 1_000_000


TOKEN_MEASURES = ("token_usage", "cache_efficiency", "thinking_metrics", "context_saturation", "output_density")


@pytest.mark.parametrize("name", TOKEN_MEASURES)
@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        ([], "no spans were recorded"),
        ([Span(name="execute_tool a")], "no call of a model was recorded"),
        ([Span(name="call_llm")], "the spans report no token counts"),
    ],
    ids=["no spans", "no call", "no counts"],
)
async def test_where_nothing_was_counted_there_is_no_value_and_no_zero(
    name: str, spans: list[Span], reason: str
) -> None:
    grade = await missing(name, *spans)
    assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, reason)


async def test_a_response_cut_off_is_told_and_not_counted_as_nothing_spent() -> None:
    broken = Span(name="call_llm", span_id="s", attributes={"gcp.vertex.agent.llm_response": '{"usage_meta'})
    grade = await missing("token_usage", broken)
    assert grade.details["problems"] == ["span s (call_llm).gcp.vertex.agent.llm_response: is not JSON"]
    assert grade.details["problem_count"] == 1


@pytest.mark.parametrize(
    ("spans", "rate"),
    [
        ([gemini(prompt=100, completion=1, cached=40)], 0.4),
        ([gemini(prompt=100, completion=1, cached=0)], 0.0),
        ([gemini(prompt=100, completion=1, cached=100)], 1.0),
        ([gemini(prompt=100, completion=1, cached=40), gemini(prompt=300, completion=1)], 0.1),
        ([openai(input_tokens=100, output_tokens=1, **{"cache_read.input_tokens": 300})], 0.75),
        ([openai(input_tokens=100, output_tokens=1), gemini(prompt=100, completion=1, cached=50)], 0.5),
    ],
    ids=["some", "none", "all", "over two calls", "counted beside the prompt", "only calls that tell"],
)
async def test_cache_efficiency_is_the_cached_share_of_the_prompt(spans: list[Span], rate: float) -> None:
    assert await value("cache_efficiency", *spans) == pytest.approx(rate)


async def test_cache_efficiency_in_detail() -> None:
    grade = await measured("cache_efficiency", gemini(prompt=100, completion=1, cached=40))
    assert grade.details == {
        "cache_hit_rate": 0.4,
        "total_cached_tokens": 40,
        "total_fresh_prompt_tokens": 60,
        "total_input_tokens": 100,
    }
    assert grade.reason == "40 of 100 prompt tokens came from the cache"


async def test_a_usage_with_more_cached_than_prompt_counts_them_beside_it_and_says_so() -> None:
    grade = await measured("cache_efficiency", usage=Usage(prompt_tokens=100, completion_tokens=1, cached_tokens=300))
    assert isinstance(grade, Score)
    assert grade.value == 0.75
    assert "more cached tokens than prompt" in grade.reason


@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        ([openai(input_tokens=100, output_tokens=1)], "no call reports cached tokens"),
        ([gemini(prompt=0, completion=1, cached=0)], "no prompt tokens were used"),
    ],
)
async def test_where_nobody_reports_cached_tokens_there_is_no_rate(spans: list[Span], reason: str) -> None:
    assert (await missing("cache_efficiency", *spans)).reason == reason


async def test_thinking_is_its_share_of_what_the_model_wrote() -> None:
    spans = [gemini(prompt=1, completion=100, thinking=300), gemini(prompt=1, completion=100)]
    grade = await measured("thinking_metrics", *spans)
    assert isinstance(grade, Score)
    assert grade.value == 0.6
    assert grade.details == {
        "reasoning_ratio": 0.6,
        "total_thinking_tokens": 300,
        "total_candidate_tokens": 200,
        "total_output_tokens": 500,
        "turns_with_thinking": 1,
    }


async def test_thinking_counted_inside_the_output_is_not_counted_twice() -> None:
    spans = [openai("o3", input_tokens=1, output_tokens=400, **{"reasoning.output_tokens": 300})]
    assert await value("thinking_metrics", *spans) == 0.75


@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        ([openai(input_tokens=1, output_tokens=1)], "no call reports thinking tokens"),
        ([gemini(prompt=1, completion=0, thinking=0)], "the model wrote nothing"),
    ],
)
async def test_where_nobody_thinks_aloud_there_is_no_ratio(spans: list[Span], reason: str) -> None:
    assert (await missing("thinking_metrics", *spans)).reason == reason


async def test_the_fullest_call_is_found_and_named() -> None:
    spans = [
        gemini(span="1", prompt=100, completion=10),
        gemini(span="2", prompt=900, completion=10, thinking=90),
        gemini(span="3", prompt=950, completion=10),
    ]
    grade = await measured("context_saturation", *spans)
    assert isinstance(grade, Score)
    assert grade.value == 1000
    assert grade.details == {
        "max_total_tokens": 1000,
        "peak_usage_span": "call_llm",
        "peak_span_id": "2",
        "peak_model": "gemini-2.5-flash",
        "peak_agent": "",
    }


async def test_output_density_is_the_mean_completion_of_the_calls_that_report_one() -> None:
    spans = [gemini(prompt=1, completion=10, thinking=500), gemini(prompt=1, completion=30), Span(name="call_llm")]
    grade = await measured("output_density", *spans)
    assert isinstance(grade, Score)
    assert grade.value == 20.0
    assert grade.details == {"average_output_tokens": 20.0, "total_output_tokens": 40, "llm_calls_count": 2}
    assert grade.reason == "20.0 completion tokens a call, over 2 calls; 1 of 3 calls do not report it"


@pytest.mark.parametrize("name", ["context_saturation", "output_density"])
async def test_a_whole_runs_usage_says_nothing_about_one_call(name: str) -> None:
    grade = await missing(name, usage=Usage(prompt_tokens=10, completion_tokens=5))
    assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, "no spans were recorded")


ARGS = "gcp.vertex.agent.tool_call_args"
RESPONSE = "gcp.vertex.agent.tool_response"


def tool(name: str, response: Any = None, **more: Any) -> Span:
    attributes = {ARGS: "{}", **({} if response is None else {RESPONSE: response}), **more}
    return Span(name=f"execute_tool {name}", attributes=attributes)


async def measure_tools(name: str, *spans: Span, **fields: Any) -> Grade:
    (measure,) = [measure for measure in measures() if measure.name == name]
    (grade,) = await measure.grade(a_case(), a_transcript(spans=spans or None, **fields))
    return grade


SESSION = tuple(
    Span(name=f"execute_tool {name}", attributes=attributes)
    for name in ("get_recommendations", "check_availability", "access_cart", "modify_cart")
    for attributes in ({ARGS: '{"id": 1}'}, {RESPONSE: '{"status": "success"}'})
)


async def test_call_and_response_as_two_spans_are_one_call_in_every_measure() -> None:
    used, worked = (
        await measure_tools("tool_utilization", *SESSION),
        await measure_tools("tool_success_rate", *SESSION),
    )
    assert isinstance(used, Score) and isinstance(worked, Score)
    assert (used.value, worked.value) == (4.0, 1.0)
    assert used.details == {
        "total_tool_calls": 4,
        "unique_tools_used": 4,
        "tool_counts": {"get_recommendations": 1, "check_availability": 1, "access_cart": 1, "modify_cart": 1},
    }
    assert worked.details["total_tool_calls"] == 4


async def test_a_trace_without_tools_used_none() -> None:
    grade = await measure_tools("tool_utilization", Span(name="call_llm"))
    assert isinstance(grade, Score)
    assert (grade.value, grade.reason) == (0.0, "0 tool calls to 0 tools")


@pytest.mark.parametrize(
    ("spans", "rate"),
    [
        ([tool("a", "{}")], 1.0),
        ([tool("a", '{"status": "error"}')], 0.0),
        ([tool("a", "{}"), tool("b", '{"error": "x"}')], 0.5),
        ([tool("a", "{}"), tool("b", '{"error": null}')], 1.0),
        ([tool("a", "{}"), tool("b")], 0.5),
        ([tool("a", "{}"), tool("b", '{"cut of')], 1.0),
        ([tool("a", '{"error": 1}'), tool("b", '{"cut of')], 0.0),
        ([tool("a", "{}"), tool("b", "{}", **{"error.type": "Timeout"})], 0.5),
    ],
    ids=[
        "worked",
        "failed",
        "half",
        "an empty error is none",
        "one unanswered",
        "one unreadable is left out",
        "one failed, one unreadable",
        "failed by its status",
    ],
)
async def test_the_success_rate(spans: list[Span], rate: float) -> None:
    grade = await measure_tools("tool_success_rate", *spans)
    assert isinstance(grade, Score)
    assert grade.value == rate
    assert grade.details["tool_success_rate"] == rate


async def test_the_success_rate_in_detail() -> None:
    spans = [tool("a", "{}"), tool("b", '{"error": 1}'), tool("b", '{"error": 1}'), tool("c"), tool("d", "{'x")]
    grade = await measure_tools("tool_success_rate", *spans)
    assert isinstance(grade, Score)
    assert grade.value == 0.25
    assert (
        grade.reason == "1 of 4 calls worked; 2 failed; 1 without a response; 1 response that cannot be read left out"
    )
    assert grade.details["total_tool_calls"] == 5
    assert grade.details["failed_tool_calls"] == 2
    assert grade.details["failed_tools_list"] == ["b"]
    assert grade.details["calls_without_response"] == 1
    assert grade.details["unreadable_responses"] == 1
    assert grade.details["problem_count"] == 1


@pytest.mark.parametrize(
    ("spans", "why", "reason"),
    [
        ([Span(name="call_llm")], UnscoredReason.NOT_APPLICABLE, "no tool was called"),
        ([], UnscoredReason.NOT_APPLICABLE, "no spans were recorded"),
        ([tool("a"), tool("b")], UnscoredReason.NOT_APPLICABLE, "no tool's response was recorded"),
        ([tool("a", "{'x")], UnscoredReason.ERROR, "1 response that cannot be read"),
        (
            [tool("a"), tool("b", **{"error.type": "Timeout"})],
            UnscoredReason.ERROR,
            "1 of 2 calls failed; no response was recorded for the other 1",
        ),
    ],
    ids=["no calls", "no spans", "responses not captured", "nothing readable", "only failures show"],
)
async def test_where_no_outcome_is_known_there_is_no_rate(spans: list[Span], why: UnscoredReason, reason: str) -> None:
    grade = await measure_tools("tool_success_rate", *spans)
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (why, reason)


def said(*calls: ToolCall) -> dict[str, Any]:
    return {"messages": (Message(role=Role.ASSISTANT, tool_calls=calls),)}


CALLS = said(
    ToolCall(name="read_file", result=ToolResult(content={"text": "x"})),
    ToolCall(name="refund", result=ToolResult(content="no", failed=True)),
    ToolCall(name="refund", result=ToolResult(content={"status": "error"})),
    ToolCall(name="refund"),
)


@pytest.mark.parametrize(
    ("name", "value"), [("tool_utilization", 4.0), ("tool_success_rate", 0.25), ("sandbox_usage", 1.0)]
)
async def test_without_spans_the_calls_in_the_messages_serve_and_the_reason_says_so(name: str, value: float) -> None:
    grade = await measure_tools(name, **CALLS)
    assert isinstance(grade, Score)
    assert grade.value == value
    assert grade.reason.endswith("no spans were recorded; from the calls in the messages")


async def test_spans_without_tools_do_not_hide_the_calls_in_the_messages() -> None:
    grade = await measure_tools("tool_utilization", Span(name="call_llm"), **CALLS)
    assert isinstance(grade, Score)
    assert grade.value == 4.0
    assert grade.reason.endswith("the spans hold no tool call; from the calls in the messages")


async def test_code_that_the_provider_ran_is_in_no_span_and_counts() -> None:
    ran = said(ToolCall(name="code_execution", result=ToolResult(content="42")), ToolCall(name="refund"))
    spans = (tool("refund", "{}"), tool("read_file", "{}"))
    used = [await measure_tools(name, *spans, **ran) for name in ("tool_utilization", "sandbox_usage")]
    assert [grade.value for grade in used if isinstance(grade, Score)] == [3.0, 2.0]


@pytest.mark.parametrize("name", ["tool_utilization", "sandbox_usage"])
async def test_without_spans_and_calls_nobody_knows(name: str) -> None:
    grade = await measure_tools(name)
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, "no spans were recorded")


@pytest.mark.parametrize(
    ("names", "value"),
    [
        (["save_artifact", "load_artifact", "read_file", "write_file"], 4.0),
        (["run_python_script", "execute_code", "save_to_file", "read_from_file"], 4.0),
        (["mcp_read_file_v2", "Execute_Code"], 2.0),
        (["refund", "readfile", "filesystem"], 0.0),
        (["read_file", "read_file"], 2.0),
        ([], 0.0),
    ],
)
async def test_the_sandbox_is_used_by_tools_of_these_names(names: list[str], value: float) -> None:
    grade = await measure_tools("sandbox_usage", Span(name="call_llm"), *(tool(name, "{}") for name in names))
    assert isinstance(grade, Score)
    assert grade.value == value


async def test_the_sandbox_in_detail() -> None:
    grade = await measure_tools("sandbox_usage", tool("read_file", "{}"), tool("read_file", "{}"), tool("refund", "{}"))
    assert grade.details == {
        "total_sandbox_ops": 2,
        "unique_ops_used": 1,
        "sandbox_tools_used": ["read_file"],
        "op_counts": {"read_file": 2},
    }
