"""Ordering a run: what somebody asks for, held against what the operator allows, becomes a planned run in the queue.
What cannot be had is refused before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from howsure.errors import ConfigInvalid, NotFound, PlanRefused
from howsure.llm.budget import parse_budget
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.model.profile import Normalization
from howsure.model.run import Run
from howsure.policies.gate_reading import read_gates
from howsure.policies.gates import NoRegression
from howsure.services.hosting.addresses import allows
from howsure.services.hosting.bots import bot_context
from howsure.services.hosting.host import Host
from howsure.services.hosting.library import Change, add
from howsure.services.hosting.materials import reference_to
from howsure.services.options import RunOptions
from howsure.services.runs import EARLIER_RUN, prepare

OFFLINE = "offline"
NAMED_TARGETS = ("recorded", "")


class Order(Struct, frozen=True, kw_only=True):
    """A run as somebody asks for it. The cases come from a test set, a dataset or a question set; None and "" mean: not
    said. `conversations_id` is a dataset of finished conversations, held against the pooled criteria of the test set;
    `answers_of` is a run whose answers are graded again, without calling the agent."""

    agent_id: str = ""
    test_set_id: str = ""
    test_set_version: int | None = None
    dataset_id: str = ""
    question_set_id: str = ""
    rubric_id: str = ""
    rubric_version: int | None = None
    config_id: str = ""
    answers_of: str = ""
    conversations_id: str = ""
    target: str = ""
    judge: str = ""
    simulator: str = ""
    graders: tuple[str, ...] = ()
    profile: str = ""
    normalization: Normalization | None = None
    component_scope: str = ""
    component_ids: tuple[str, ...] = ()
    case_ids: tuple[str, ...] = ()
    state: dict[str, Any] = field(default_factory=dict)
    repeat: int = 1
    limit: int | None = None
    concurrency: int | None = None
    engine: str = ""
    budget: str = ""
    gates: tuple[str, ...] = ()
    name: str = ""


class Ordered(Struct, frozen=True):
    """A run that waits for a worker, with what its plan warns of."""

    run: Run
    warnings: tuple[str, ...]


async def order_run(host: Host, order: Order, within: AccessScope, run_id: str = "") -> Ordered:
    """Plan and queue a run. `run_id` is given where the same request must give the same run."""
    await check_terms(host, order, within)
    source = await _source(host, order, within)
    order = replace(order, agent_id=_agent_id(order, source, within))
    options = await options_for(host, order, source, within)
    started = await prepare(host.work, host.store, options, within)
    pins = started.run.pins if started.run.pins.agent else replace(started.run.pins, agent_id=order.agent_id)
    run = replace(started.run, pins=pins, organization_id=within.home, **({"id": run_id} if run_id else {}))
    await host.store.queue.add(run, msgspec.json.encode(order))
    return Ordered(run, started.warnings)


async def check_terms(host: Host, order: Order, within: AccessScope) -> None:
    """The budget and the gates are the caller's words, not the operator's settings. A run that a gate looks back to is
    one that the caller may see, named by its id: a name could mean somebody else's."""
    try:
        if order.budget:
            parse_budget(order.budget)
        gates = read_gates(order.gates)
    except ConfigInvalid as error:
        raise PlanRefused(str(error)) from None
    looking_back = [gate.asked.versus for gate in gates if isinstance(gate.asked, NoRegression)]
    for run_id in looking_back if within != EVERYWHERE else ():
        await host.store.run(run_id, within)


def _agent_id(order: Order, source: Document, within: AccessScope) -> str:
    """The agent that was named, or else the one that the cases are for."""
    agent_id, agents = order.agent_id or source.agent_id, within.agent_ids
    if agents is not None and agent_id not in agents:
        raise NotFound(f"there is no agent {agent_id}")
    return agent_id


async def options_for(host: Host, order: Order, source: Document, within: AccessScope) -> RunOptions:
    """The options of `howsure run` that an order comes to; every document it names is one the caller may see."""
    rubric = await _rubric(host, order, within)
    agent = await _agent(host, order, within)
    pooled = await _conversations(host, order.conversations_id, within) if order.conversations_id else ""
    earlier = await _answers(host, order.answers_of, within) if order.answers_of else ""
    return RunOptions(
        datasets=(pooled or str(reference_to(source)),),
        criteria_from=str(reference_to(source)) if pooled else "",
        responses=(earlier,) if earlier else (),
        rubric=str(reference_to(rubric)) if rubric else "",
        agent=str(reference_to(agent)) if agent else "",
        target="" if pooled or earlier else target_for(host, order, kit_targets(host)),
        judge=judge_for(host, order.judge),
        simulator=simulator_for(host, order.simulator),
        graders=await _graders(host, order, within),
        profile=order.profile,
        normalization=order.normalization,
        component_scope=order.component_scope,
        component_ids=order.component_ids,
        state=order.state,
        filters={"id": order.case_ids} if order.case_ids else {},
        repeat=order.repeat,
        limit=order.limit,
        concurrency=order.concurrency,
        engine=order.engine or host.work.settings.engine.value,
        budget=order.budget,
        gates=order.gates or host.work.settings.gates,
        name=order.name or source.name,
    )


async def _source(host: Host, order: Order, within: AccessScope) -> Document:
    named = [
        (DocumentKind.TEST_SET, order.test_set_id, order.test_set_version),
        (DocumentKind.DATASET, order.dataset_id, None),
        (DocumentKind.QUESTION_SET, order.question_set_id, None),
    ]
    chosen = [each for each in named if each[1]]
    if len(chosen) != 1:
        raise PlanRefused(
            "a run needs its cases from one place: expected one of test_set_id, dataset_id and question_set_id, "
            f"found {len(chosen)}"
        )
    kind, key, version = chosen[0]
    return await host.store.documents.get(kind, key, version, within=within)


async def _rubric(host: Host, order: Order, within: AccessScope) -> Document | None:
    if not order.rubric_id:
        return None
    return await host.store.documents.get(DocumentKind.RUBRIC, order.rubric_id, order.rubric_version, within=within)


async def _agent(host: Host, order: Order, within: AccessScope) -> Document | None:
    """What is known of the agent; nothing, where nobody has described it."""
    if not order.agent_id:
        return None
    try:
        return await host.store.documents.get(DocumentKind.AGENT, order.agent_id, within=within)
    except NotFound:
        return await _fetched(host, order.agent_id, within) if host.rules.bot_service else None


async def _fetched(host: Host, agent_id: str, within: AccessScope) -> Document | None:
    """What the bot service says of the agent now, kept, so that the run is pinned to it."""
    try:
        found = await bot_context(host, agent_id, within)
    except NotFound:
        return None
    change = Change(body=found, author="bot service", note="as the bot service described it")
    return await add(host, DocumentKind.AGENT, change, within, agent_id)


async def _conversations(host: Host, dataset_id: str, within: AccessScope) -> str:
    return str(reference_to(await host.store.documents.get(DocumentKind.DATASET, dataset_id, within=within)))


async def _answers(host: Host, run_id: str, within: AccessScope) -> str:
    run = await host.store.run(run_id)
    if not within.sees(run.organization_id, run.pins.agent_key):
        raise NotFound(f"there is no run {run_id}")
    return f"{EARLIER_RUN}{run.id}"


async def _graders(host: Host, order: Order, within: AccessScope) -> tuple[str, ...] | None:
    if order.graders or not order.config_id:
        return order.graders or None
    found = await host.store.documents.get(DocumentKind.GRADERS, order.config_id, within=within)
    listed = msgspec.json.decode(found.edition.body, type=dict[str, Any]).get("evaluators", ())
    return tuple(each["type"] for each in listed if each.get("enabled", True)) or None


def kit_targets(host: Host) -> Mapping[str, Mapping[str, Any]]:
    return host.work.settings.targets


def target_for(host: Host, order: Order, blocks: Mapping[str, Mapping[str, Any]]) -> str:
    """How the agent is reached: a target that the operator named, or an address on a host that is allowed. A request
    never names code or a program to run."""
    rules = host.rules
    wanted = order.target or rules.bots.get(order.agent_id, "") or rules.target
    if wanted in NAMED_TARGETS or wanted in blocks:
        return wanted
    inner = wanted.removeprefix("replay:")
    address = inner.removeprefix("http:") if inner.startswith("http:http") else inner
    parts = urlsplit(address)
    if inner in blocks:
        return wanted
    if parts.scheme in ("http", "https") and parts.hostname:
        if not allows(rules.hosts, parts.hostname, parts.port):
            raise PlanRefused(f"target {address!r}: the host {parts.hostname} is not among those this service may call")
        return wanted
    known = ", ".join(sorted(blocks)) or "none"
    raise PlanRefused(f"target {wanted!r} is not one this service offers; offered: {known}")


def judge_for(host: Host, wanted: str) -> str:
    """Whom a request may ask to judge: the service's own judge, nobody's money, or one that is allowed."""
    default = host.work.settings.judge
    if not wanted or wanted in (OFFLINE, default) or wanted in host.rules.judges:
        return wanted or default or OFFLINE
    known = ", ".join(sorted({OFFLINE, *([default] if default else []), *host.rules.judges}))
    raise PlanRefused(f"judge {wanted!r} is not one this service offers; offered: {known}")


def simulator_for(host: Host, wanted: str) -> str:
    default = host.work.settings.simulator
    if not wanted or wanted in (OFFLINE, default) or wanted in host.rules.judges:
        return wanted or default or OFFLINE
    raise PlanRefused(f"simulator {wanted!r} is not one this service offers: it must be listed under service.judges")
