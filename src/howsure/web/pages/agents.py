"""The agents under test: the list of every agent that a run or a description names; and the page of one agent, with the
trend of its pass rates, its runs and its description."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import InputError, NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.model.run_history import History, HistoryLine
from howsure.model.summary import Summary
from howsure.reports.figures import format_percent, pluralize, short_time
from howsure.reports.headlines import grader_name, page_words
from howsure.reports.history_report import history_sentence
from howsure.reports.safe_text import make_inert, one_line, short_case_id
from howsure.services.host.documents import published_document
from howsure.store.browse import AgentPreview
from howsure.store.documents import DocumentQuery
from howsure.store.store import Store
from howsure.web.pages.runs import RunLine, run_line
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, cache_of, caller_of, host_of, number_in_query, run_states_key, run_views_of

LIMIT = 12
MAX_DESCRIPTIONS = 500
RUNS_SHOWN = 12
"""How many runs are in the trend and in the list."""
CURVES = 6


class AgentLine(Struct, frozen=True, kw_only=True):
    """One agent, with its newest run."""

    id: str
    name: str
    address: str
    runs: int
    latest: str
    newest: RunLine | None


class AgentsPage(Struct, frozen=True, kw_only=True):
    answer: str
    lines: tuple[AgentLine, ...]
    further: str


def _line(id: str, name: str, preview: AgentPreview | None = None, newest: Summary | None = None) -> AgentLine:
    line = run_line(newest, {}) if newest else None
    return AgentLine(
        id=id,
        name=name or short_case_id((line.agent if line else "") or id),
        address=f"/agent?{urlencode({'id': id})}",
        runs=preview.runs if preview else 0,
        latest=short_time(preview.latest) if preview else "",
        newest=line,
    )


async def show(request: Request) -> Response:
    within, store, run_views = caller_of(request).within, host_of(request).store, run_views_of(request)
    previews = await store.browse.agent_previews(within)
    start = number_in_query(request, "from")
    shown = previews[start : start + LIMIT]
    described = await store.documents.several(DocumentKind.AGENT, DocumentQuery(limit=MAX_DESCRIPTIONS), within)
    summaries = await run_views.brief_summaries(
        await store.browse.newest_runs([preview.id for preview in shown], within)
    )
    newest = {summary.run.pins.agent_key: summary for summary in summaries}
    further = f"/agents?from={start + LIMIT}" if len(previews) > start + LIMIT else ""
    names = {document.id: document.name for document in described}
    lines = [_line(one.id, names.get(one.id, ""), one, newest.get(one.id)) for one in shown]
    if not further:
        seen = {preview.id for preview in shown}
        lines += [_line(each.id, each.name) for each in described if each.id not in seen]
    answer = f"{pluralize(len(lines), 'agent')}{' and more' if further else ''}."
    if not lines:
        answer = "No agent yet: a run that names one brings it here."
    return respond(request, "agents.html", AgentsPage(answer=answer, lines=tuple(lines), further=further))


class TrendPoint(Struct, frozen=True, kw_only=True):
    """One run in a trend: its rate and its interval in percent from the top, and its place from the left."""

    x: float
    y: float | None
    top: float
    height: float
    said: str
    day: str
    address: str


class RateTrend(Struct, frozen=True, kw_only=True):
    """One rate over the runs. `turnings`: the place of each change from the left, and the change in words."""

    name: str
    stops: tuple[TrendPoint, ...]
    turnings: tuple[tuple[float, str], ...]


class AgentDescription(Struct, frozen=True, kw_only=True):
    name: str
    model: str
    prompt: str
    tools: tuple[tuple[str, str], ...]
    knowledge: tuple[str, ...]
    source: str


class AgentPage(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    answer: str
    refused: str
    trends: tuple[RateTrend, ...]
    unlike: tuple[tuple[str, str], ...]
    lines: tuple[RunLine, ...]
    context: AgentDescription | None


def rate_trend(history: History, curve: HistoryLine) -> RateTrend:
    number = len(curve.points)
    points = []
    for index, (run, point) in enumerate(zip(history.runs, curve.points, strict=True)):
        low, high = point.interval or (0.0, 0.0)
        text = f"{run.name or run.run_id[:8]}, {run.at:%Y-%m-%d %H:%M}: " + (
            f"{format_percent(point.rate)} [{100 * low:.0f}–{100 * high:.0f}] n {point.judged}"
            if point.rate is not None
            else "nothing was decided"
        )
        points.append(
            TrendPoint(
                x=round(100 * (index + 0.5) / number, 3),
                y=None if point.rate is None else round(100 - 100 * point.rate, 2),
                top=round(100 - 100 * high, 2),
                height=round(100 * (high - low), 2),
                said=make_inert(text),
                day=f"{run.at:%Y-%m-%d}",
                address=f"/runs/{run.run_id}",
            )
        )
    turnings = tuple(
        (round(100 * each.index / number, 2), f"{format_percent(each.before)} → {format_percent(each.after)}")
        for each in curve.turnings
    )
    return RateTrend(name=grader_name(curve.name), stops=tuple(points), turnings=turnings)


def describe_agent(shape: dict[str, Any], source: str) -> AgentDescription:
    model = shape.get("llm_config") or {}
    named = " ".join(str(model[key]) for key in ("provider", "model", "model_name") if model.get(key))
    return AgentDescription(
        name=one_line(str(shape.get("bot_name") or ""), 200),
        model=one_line(named, 200),
        prompt=make_inert(str(shape.get("system_prompt") or ""))[:20_000],
        tools=tuple(
            (
                one_line(str(tool.get("tool_name") or tool.get("name") or ""), 100),
                one_line(str(tool.get("description") or ""), 300),
            )
            for tool in shape.get("tools") or ()
        )[:100],
        knowledge=tuple(one_line(str(base.get("name") or ""), 200) for base in shape.get("knowledge_bases") or ())[
            :100
        ],
        source=source,
    )


async def show_agent(request: Request) -> Response:
    caller, store, agent_id = caller_of(request), host_of(request).store, request.query_params.get("id", "")
    runs = await store.runs(limit=RUNS_SHOWN, agent_id=agent_id, within=caller.within) if agent_id else []
    context = _pinned_description(runs)
    with suppress(NotFound):
        stored = await store.documents.get(DocumentKind.AGENT, agent_id, within=caller.within)
        context = describe_agent(published_document(stored), f"described here, version {stored.latest}")
    if not runs and context is None:
        raise NotFound(f"there is no agent {agent_id}")
    run_views = run_views_of(request)
    summaries = await run_views.brief_summaries([run.id for run in runs])
    names = await run_views.document_names(summaries, caller.within)
    every = bool(request.query_params.get("graders"))
    candidate = request.query_params.get("candidate")
    key = ("history", agent_id, candidate, every, caller.within, run_states_key(runs))
    load_history = partial(_history, store, agent_id, candidate, caller.within, every=every)
    history, refused = await cache_of(request)(key, load_history)
    name = (context.name if context else "") or short_case_id(agent_id)
    unlike = [run for run in history.runs if run.unlike] if history else []
    page = AgentPage(
        id=agent_id,
        name=name,
        answer=history_sentence(replace(history, whose=name)) if history else "There is no trend to show.",
        refused=refused,
        trends=tuple(rate_trend(history, curve) for curve in history.lines[:CURVES]) if history else (),
        unlike=tuple((f"{run.at:%Y-%m-%d %H:%M}", "; ".join(run.unlike)) for run in unlike),
        lines=tuple(run_line(summary, names) for summary in summaries),
        context=context,
    )
    return respond(request, "agent.html", page)


async def _history(
    store: Store, agent_id: str, candidate: str | None, within: AccessScope, *, every: bool
) -> tuple[History | None, str]:
    """The history, or why there is none."""
    # Imported by name: only those who look at a trend wait for numpy and scipy.
    trend = await asyncio.to_thread(import_module, "howsure.services.trend")
    try:
        query = trend.TrendQuery(
            whose=agent_id, candidate=candidate, limit=RUNS_SHOWN, among=2 * RUNS_SHOWN, graders=every
        )
        return await trend.stored_history(store, query, within), ""
    except InputError as refused:
        return None, page_words(str(refused))


def _pinned_description(runs: Sequence[Any]) -> AgentDescription | None:
    """The description in the pins of the newest run that has one."""
    agent = next((run.pins.agent for run in runs if run.pins.agent), None)
    if agent is None:
        return None
    model = {"provider": agent.model.provider, "model": agent.model.model} if agent.model else {}
    shape = {
        "bot_name": agent.name,
        "llm_config": model,
        "system_prompt": agent.system_prompt,
        "tools": [{"tool_name": tool.tool_name, "description": tool.description} for tool in agent.tools],
        "knowledge_bases": [{"name": base.name} for base in agent.knowledge_bases],
    }
    return describe_agent(shape, "as its newest run was told")


ROUTES = [PageRoute("/agents", show), PageRoute("/agent", show_agent)]
