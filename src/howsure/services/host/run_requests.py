"""Run requests of the service: a request is checked against what the operator allows, planned, and put into the queue.
A refusal comes before anything is stored."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import ConfigInvalid, NotFound, PlanRefused
from howsure.llm.budget import parse_budget
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.model.run import Run, targets_of
from howsure.model.run_request import OFFLINE, RUN_PREFIX, RunRequest
from howsure.policies.gate_expressions import read_gates
from howsure.policies.gates import NoRegression
from howsure.services.host.allowed_hosts import allows_host
from howsure.services.host.bots import bot_context
from howsure.services.host.context import Host
from howsure.services.host.document_files import DocumentReference, is_reference, read_reference, reference_to
from howsure.services.host.documents import DocumentChange, add_document
from howsure.services.run.start import prepare

NAMED_TARGETS = ("recorded", "")


class QueuedRun(Struct, frozen=True):
    """A run that waits for a worker, with the warnings of its plan."""

    run: Run
    warnings: tuple[str, ...]


def document(kind: DocumentKind, key: str | None, version: int | None = None) -> str:
    """How a request names a document of the service; without a version the newest is meant. "" names none."""
    return str(DocumentReference(kind, key, version)) if key else ""


async def submit_run(host: Host, request: RunRequest, scope: AccessScope, run_id: str = "") -> QueuedRun:
    """Plan and queue a run. Its cases, rubric and agent are documents; those without a version are taken as they are
    now. `run_id` is given where the same request must give the same run."""
    await check_budget_and_gates(host, request, scope)
    named = (request.criteria_from,) if request.criteria_from else request.datasets
    if len(named) != 1:
        raise PlanRefused(
            "a run needs its cases from one place: expected one of test_set_id, dataset_id and question_set_id, "
            f"found {len(named)}"
        )
    source = await referenced_document(host, named[0], scope)
    agent_id = read_reference(request.agent).id if request.agent else source.agent_id
    if scope.agent_ids is not None and agent_id not in scope.agent_ids:
        raise NotFound(f"there is no agent {agent_id}")
    resolved = await _resolve(host, request, source, agent_id, scope)
    handle = await prepare(host.work, host.store, resolved, scope)
    pins = handle.run.pins if handle.run.pins.agent else replace(handle.run.pins, agent_id=agent_id)
    run = replace(handle.run, pins=pins, organization_id=scope.home, **({"id": run_id} if run_id else {}))
    stored_request = replace(request, agent=document(DocumentKind.AGENT, agent_id))
    await host.store.queue.add(run, msgspec.json.encode(stored_request))
    return QueuedRun(run, handle.plan.warnings)


async def check_budget_and_gates(host: Host, request: RunRequest, scope: AccessScope) -> None:
    """Refuse a budget or gates that cannot be read. A gate may compare with a run that the caller may see, named by its
    id: a name could refer to a run of another organisation."""
    try:
        if request.budget:
            parse_budget(request.budget)
        gates = read_gates(request.gates)
    except ConfigInvalid as error:
        raise PlanRefused(str(error)) from None
    looking_back = [gate.condition.versus for gate in gates if isinstance(gate.condition, NoRegression)]
    for run_id in looking_back if scope != EVERYWHERE else ():
        await host.store.run(run_id, scope)


async def referenced_document(host: Host, reference: str, scope: AccessScope) -> Document:
    """NotFound where the document is deleted or the caller may not see it."""
    named = read_reference(reference)
    return await host.store.documents.get(named.kind, named.id, named.version, within=scope)


async def _resolve(host: Host, request: RunRequest, source: Document, agent_id: str, scope: AccessScope) -> RunRequest:
    """The request with the versions of its documents, and with what the operator says where the caller says nothing.
    Every document it names is one that the caller may see."""
    settings = host.work.settings
    rubric = await referenced_document(host, request.rubric, scope) if request.rubric else None
    agent = await _agent(host, agent_id, scope)
    conversations = await referenced_document(host, request.datasets[0], scope) if request.criteria_from else None
    for earlier in request.responses:
        run = await host.store.run(earlier.removeprefix(RUN_PREFIX))
        if not scope.sees(run.organization_id, run.pins.agent_key):
            raise NotFound(f"there is no run {run.id}")
    graders = request.graders or ()
    if graders and is_reference(graders[0]):
        body = (await referenced_document(host, graders[0], scope)).edition.body
        listed = msgspec.json.decode(body, type=dict[str, Any]).get("evaluators", ())
        graders = tuple(each["type"] for each in listed if each.get("enabled", True))
    answered = conversations is not None or bool(request.responses)
    return replace(
        request,
        datasets=(str(reference_to(conversations or source)),),
        criteria_from=str(reference_to(source)) if conversations else "",
        rubric=str(reference_to(rubric)) if rubric else "",
        agent=str(reference_to(agent)) if agent else "",
        target="" if answered else allowed_target(host, ", ".join(targets_of(request)), agent_id),
        judge=allowed_judge(host, request.judge),
        simulator=allowed_simulator(host, request.simulator),
        graders=graders or None,
        engine=request.engine or settings.engine.value,
        gates=request.gates or settings.gates,
        name=request.name or source.name,
    )


async def _agent(host: Host, agent_id: str, scope: AccessScope) -> Document | None:
    """The description of the agent; None where there is none. A description from the bot service is stored, so that the
    run is pinned to it."""
    if not agent_id:
        return None
    try:
        return await host.store.documents.get(DocumentKind.AGENT, agent_id, within=scope)
    except NotFound:
        if not host.rules.bot_service:
            return None
    try:
        described = await bot_context(host, agent_id, scope)
    except NotFound:
        return None
    change = DocumentChange(body=described, author="bot service", note="as the bot service described it")
    return await add_document(host, DocumentKind.AGENT, change, scope, agent_id)


def allowed_target(host: Host, target: str, agent_id: str) -> str:
    """How the agent is reached: a target that the operator named, or an address on a host that is allowed. A request
    never names code or a program to run."""
    rules, blocks = host.rules, host.work.settings.targets
    target = target or rules.bots.get(agent_id, "") or rules.target
    if target in NAMED_TARGETS or target in blocks:
        return target
    inner = target.removeprefix("replay:")
    address = inner.removeprefix("http:") if inner.startswith("http:http") else inner
    parts = urlsplit(address)
    if inner in blocks:
        return target
    if parts.scheme in ("http", "https") and parts.hostname:
        if not allows_host(rules.hosts, parts.hostname, parts.port):
            raise PlanRefused(f"target {address!r}: the host {parts.hostname} is not among those this service may call")
        return target
    known = ", ".join(sorted(blocks)) or "none"
    raise PlanRefused(f"target {target!r} is not one this service offers; offered: {known}")


def allowed_judge(host: Host, judge: str) -> str:
    """The judge that a request may name: the service's own, the offline judge, which costs nothing, or one that is
    allowed."""
    default = host.work.settings.judge
    if not judge or judge in (OFFLINE, default) or judge in host.rules.judges:
        return judge or default or OFFLINE
    known = ", ".join(sorted({OFFLINE, *([default] if default else []), *host.rules.judges}))
    raise PlanRefused(f"judge {judge!r} is not one this service offers; offered: {known}")


def allowed_simulator(host: Host, simulator: str) -> str:
    default = host.work.settings.simulator
    if not simulator or simulator in (OFFLINE, default) or simulator in host.rules.judges:
        return simulator or default or OFFLINE
    raise PlanRefused(f"simulator {simulator!r} is not one this service offers: it must be listed under service.judges")
