"""Traces of thirteen agent frameworks: every file reads, and its tool calls and tokens are found, each once.

The importer proper is another issue; here an observation becomes a span in the fewest words.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from howsure.graders.measures import measures
from howsure.model.score import Score
from howsure.model.transcript import Span
from howsure.testing import a_case, a_transcript
from howsure.traces.read import read_trace
from howsure.traces.trace import ToolOutcome

pytestmark = pytest.mark.shared

# Model calls with their (prompt, completion, thinking) tokens, and tools: read off the files by hand.
FILES: dict[str, tuple[list[tuple[int | None, int | None, int | None]], list[str]]] = {
    "agno-2025-06-11": ([(163, 20, None), (663, 225, None)], ["duckduckgo_search"]),
    "autogen-2025-06-06": ([(41, 3, None)], []),
    "beeai-2025-08-01": ([(1195, None, None), (1988, None, None), (2359, None, None)], ["search.wikipedia"]),
    "google-adk-2025-08-28": ([(28, 3, None), (39, 6, None)], ["say_hello"]),
    "google-gemini-2025-08-01": ([(6, 951, 1104)], []),
    "google-vertex-tools-langchain-2025-09-19": ([(1200, 15, 0)], []),
    "koog-2025-08-26": ([(47, 106, None), (168, 19, None)], ["ByeTool", "HelloTool"]),
    "langgraph-2025-08-22": ([(60, 15, 0), (108, 51, 0)], ["Web-Search"]),
    "llamaindex-2025-06-05": ([(13, 81, 0)], []),
    "microsoft-agent-2025-10-14": ([(25, 70, None), (631, 35, None)], ["get_weather"]),
    "openai-agents-2025-09-30": ([(55, 15, 0), (85, 29, 0)], ["get_weather"]),
    "openai-assistants-2024-05-29": ([(49, 40, None)], []),
    "pydantic-ai-tools-2025-12-04": (
        [(265, 73, None), (417, 53, None), (502, 14, None), (131, 69, None)],
        ["get_pun_suggestion", "get_dad_joke_suggestion", "get_one_liner_suggestion"],
    ),
}


def nanoseconds(time: str | None) -> int | None:
    return None if time is None else int(datetime.fromisoformat(time).timestamp() * 1000) * 1_000_000


def as_span(observation: dict[str, Any]) -> Span:
    metadata = observation.get("metadata")
    attributes = dict((metadata if isinstance(metadata, dict) else {}).get("attributes") or {})
    seen = {
        "langfuse.observation.type": observation["type"].lower(),
        "langfuse.observation.model.name": observation.get("model"),
        "langfuse.observation.usage_details": observation.get("usageDetails"),
        "langfuse.observation.input": observation.get("input"),
        "langfuse.observation.output": observation.get("output"),
        "langfuse.observation.level": observation.get("level"),
    }
    return Span(
        name=observation["name"] or "",
        span_id=observation["id"],
        trace_id=observation["traceId"],
        parent_id=observation.get("parentObservationId") or "",
        start_ns=nanoseconds(observation["startTime"]),
        end_ns=nanoseconds(observation["endTime"]),
        attributes=attributes | {name: value for name, value in seen.items() if value not in (None, {}, "")},
    )


def spans_of(path: Path) -> tuple[Span, ...]:
    return tuple(as_span(observation) for observation in msgspec.json.decode(path.read_bytes())["observations"])


def test_every_file_in_the_folder_is_in_the_table(shared_data: Callable[..., Path]) -> None:
    assert sorted(path.stem for path in shared_data("langfuse_traces").glob("*.json")) == sorted(FILES)


@pytest.mark.parametrize("name", FILES)
def test_calls_and_tokens_are_found_each_once(name: str, shared_data: Callable[..., Path]) -> None:
    trace = read_trace(spans_of(shared_data("langfuse_traces", f"{name}.json")))
    calls, tools = FILES[name]
    usages = [call.usage for call in trace.llm_calls]
    assert [u and (u.prompt_tokens, u.completion_tokens, u.thinking_tokens) for u in usages] == calls
    assert [use.name for use in trace.tool_uses] == tools
    assert {use.outcome for use in trace.tool_uses} <= {ToolOutcome.SUCCEEDED}
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("name", "measure", "value"),
    [
        # 826 × 0.15 + 245 × 0.60 for a million
        ("agno-2025-06-11", "token_usage", 0.0002709),
        # 67 × 0.10 + 9 × 0.40
        ("google-adk-2025-08-28", "token_usage", 0.0000103),
        # 6 × 0.30 + 2055 × 2.50: thinking is output
        ("google-gemini-2025-08-01", "token_usage", 0.0051393),
        # 1315 × 0.15 + 209 × 0.60; the runs' own claims are not added
        ("pydantic-ai-tools-2025-12-04", "token_usage", 0.00032265),
        ("google-adk-2025-08-28", "latency_metrics", 1.848),
        ("google-adk-2025-08-28", "tool_success_rate", 1.0),
        ("google-gemini-2025-08-01", "thinking_metrics", 1104 / 2055),
        ("microsoft-agent-2025-10-14", "context_saturation", 666.0),
        ("openai-agents-2025-09-30", "cache_efficiency", 0.0),
        ("openai-agents-2025-09-30", "output_density", 22.0),
        ("pydantic-ai-tools-2025-12-04", "tool_utilization", 3.0),
    ],
)
async def test_measures_of_real_traces(name: str, measure: str, value: float, shared_data: Callable[..., Path]) -> None:
    transcript = a_transcript(spans=spans_of(shared_data("langfuse_traces", f"{name}.json")))
    (grader,) = [each for each in measures() if each.name == measure]
    (grade,) = await grader.grade(a_case(), transcript)
    assert isinstance(grade, Score), grade
    assert grade.value == pytest.approx(value)
