"""One agent: is it drifting? The sentence, the trend with intervals and change points, its runs, and what it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import InputError, NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.model.history import History
from howsure.model.history import Line as Curve
from howsure.reports.figures import percent
from howsure.reports.history_text import history_sentence
from howsure.reports.inert import inert, one_line
from howsure.services.hosting.host import Host
from howsure.services.hosting.shapes import whole
from howsure.store.store import Store
from howsure.web.charting import Stop, spread
from howsure.web.pages.runs_line import Line, line_of
from howsure.web.remembering import as_they_are
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, gallery_of, host_of, remembered_of

SHOWN = 12
"""So many runs are in the trend and in the list."""
CURVES = 6


class Trend(Struct, frozen=True, kw_only=True):
    """One rate over the runs. `turnings`: how far right a change lies, and what it is in words."""

    name: str
    stops: tuple[Stop, ...]
    turnings: tuple[tuple[float, str], ...]


class Context(Struct, frozen=True, kw_only=True):
    """What is known of an agent."""

    name: str
    model: str
    prompt: str
    tools: tuple[tuple[str, str], ...]
    knowledge: tuple[str, ...]
    source: str


class AgentPage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    id: str
    name: str
    answer: str
    refused: str
    trends: tuple[Trend, ...]
    unlike: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    context: Context | None


def agent_page(
    agent_id: str, lines: Sequence[Line], history: History | None, refused: str, context: Context | None
) -> AgentPage:
    name = (context.name if context else "") or agent_id
    return AgentPage(
        id=agent_id,
        name=name,
        answer=history_sentence(replace(history, whose=name)) if history else "There is no trend to show.",
        refused=refused,
        trends=tuple(trend_of(history, curve) for curve in history.lines[:CURVES]) if history else (),
        unlike=tuple((f"{run.at:%Y-%m-%d %H:%M}", "; ".join(run.unlike)) for run in history.runs if run.unlike)
        if history
        else (),
        lines=tuple(lines),
        context=context,
    )


def trend_of(history: History, curve: Curve) -> Trend:
    number = len(curve.points)
    stops = []
    for place, (run, point) in enumerate(zip(history.runs, curve.points, strict=True)):
        low, high = point.interval or (0.0, 0.0)
        said = f"{run.name or run.run_id[:8]}, {run.at:%Y-%m-%d %H:%M}: " + (
            f"{percent(point.rate)} [{100 * low:.0f}–{100 * high:.0f}] n {point.judged}"
            if point.rate is not None
            else "nothing was decided"
        )
        stops.append(
            Stop(
                x=spread(number, place),
                y=None if point.rate is None else round(100 - 100 * point.rate, 2),
                top=round(100 - 100 * high, 2),
                height=round(100 * (high - low), 2),
                said=inert(said),
                address=f"/runs/{run.run_id}",
            )
        )
    turnings = tuple(
        (round(100 * each.index / number, 2), f"{percent(each.before)} → {percent(each.after)}")
        for each in curve.turnings
    )
    return Trend(name=curve.name, stops=tuple(stops), turnings=turnings)


def context_of(shape: dict[str, Any], source: str) -> Context:
    model = shape.get("llm_config") or {}
    named = " ".join(str(model[key]) for key in ("provider", "model", "model_name") if model.get(key))
    return Context(
        name=one_line(str(shape.get("bot_name") or ""), 200),
        model=one_line(named, 200),
        prompt=inert(str(shape.get("system_prompt") or ""))[:20_000],
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


async def show(request: Request) -> Response:
    asking, host = caller_of(request), host_of(request)
    store, agent_id = host.store, request.query_params.get("id", "")
    runs = await store.runs(limit=SHOWN, agent_id=agent_id, within=asking.within) if agent_id else []
    context = await _context(host, agent_id, asking.within) or _pinned(runs)
    if not runs and context is None:
        raise NotFound(f"there is no agent {agent_id}")
    gallery = gallery_of(request)
    summaries = await gallery.these([run.id for run in runs])
    names = await gallery.names(summaries, asking.within)
    every = bool(request.query_params.get("graders"))
    candidate = request.query_params.get("candidate")
    key = ("history", agent_id, candidate, every, asking.within, as_they_are(runs))
    work_out = partial(_history, store, agent_id, candidate, asking.within, every=every)
    history, refused = await remembered_of(request)(key, work_out)
    lines = [line_of(summary, names) for summary in summaries]
    return respond(request, "agent.html", agent_page(agent_id, lines, history, refused, context))


async def _history(
    store: Store, agent_id: str, candidate: str | None, within: AccessScope, *, every: bool
) -> tuple[History | None, str]:
    """Loads numpy and scipy: whoever never looks at a trend never waits for them."""
    trending = await asyncio.to_thread(import_module, "howsure.services.trending")
    try:
        asked = trending.Asked(whose=agent_id, candidate=candidate, limit=SHOWN, among=2 * SHOWN, graders=every)
        return await trending.history_in(store, asked, within), ""
    except InputError as refused:
        return None, str(refused)


async def _context(host: Host, agent_id: str, within: AccessScope) -> Context | None:
    """As it is described here."""
    try:
        found = await host.store.documents.get(DocumentKind.AGENT, agent_id, within=within)
    except NotFound:
        return None
    return context_of(whole(found), f"described here, version {found.latest}")


def _pinned(runs: Sequence[Any]) -> Context | None:
    """As the newest run that knows it was told."""
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
    return context_of(shape, "as its newest run was told")


def routes() -> list[Page]:
    return [Page("/agent", show)]
