"""Run requests of the service: a request is checked against what the operator allows, planned, and put into the queue.
A refusal comes before anything is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.agent_files import read_rubric
from howsure.errors import ConfigInvalid, NotFound, PlanRefused
from howsure.llm.budget import parse_budget
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.model.rubric import Rubric
from howsure.model.run import Pins, Run, targets_of
from howsure.model.run_request import OFFLINE, RUN_PREFIX, RunRequest
from howsure.policies.gates import Gate, NoRegression, read_anytime_gate, read_gates
from howsure.services.host.allowed_hosts import allows_host
from howsure.services.host.bots import bot_context
from howsure.services.host.document_files import (
    DocumentReference,
    document_path,
    is_reference,
    read_reference,
    reference_to,
)
from howsure.services.host.documents import ID_FIELDS, DocumentChange, add_document, find_document, require_agent
from howsure.services.host.request_checks import (
    RequestFaults,
    brings_answers,
    check_agent_known,
    check_items,
    permanent_faults,
)
from howsure.services.run.execute import RunHandle, check_engine, refuse_spent_budget
from howsure.services.run.judges import judge_models
from howsure.services.run.plan import rules_for
from howsure.services.run.start import apply_settings, prepare
from howsure.services.workspace import Host

NAMED_TARGETS = ("recorded", "")


class QueuedRun(Struct, frozen=True):
    """A run that waits for a worker, with the warnings of its plan."""

    run: Run
    warnings: tuple[str, ...]


def document(kind: DocumentKind, key: str | None, version: int | None = None) -> str:
    """How a request names a document of the service; without a version the newest is meant. "" names none."""
    return str(DocumentReference(kind, key, version)) if key else ""


async def submit_run(
    host: Host, request: RunRequest, scope: AccessScope, run_id: str = "", faults: RequestFaults | None = None
) -> QueuedRun:
    """Plan and queue a run. Its cases, rubrics (with spaces between) and agent are documents; those without a version
    are taken as they are now. `run_id` is given where the same request must give the same run; `faults` are those of
    the body that it came in."""
    faults = faults or RequestFaults()
    resolved, agent_id = await resolve_request(host, request, scope, faults)
    rubrics = tuple(resolved.rubric.split())
    like = None
    if len(rubrics) > 1:
        like = Pins(rubric=await _merged_rubric(host, rubrics, scope))
        resolved = replace(resolved, rubric="")
    with permanent_faults():
        handle = await prepare(host.work, host.store, resolved, scope, like)
    config = request.graders[0] if request.graders and is_reference(request.graders[0]) else ""
    graders = str(reference_to(await referenced_document(host, config, scope))) if config else ""
    # A rubric none of whose rules applies was not used.
    used = tuple(each for each in (*(rubrics if handle.run.pins.rubric else ()), resolved.agent, graders) if each)
    handle = replace(handle, run=replace(handle.run, pins=replace(handle.run.pins, documents=used)))
    stored_request = msgspec.json.encode(replace(request, agent=document(DocumentKind.AGENT, agent_id)))
    return await queue_run(host, handle, agent_id, scope.home, run_id, stored_request)


async def _merged_rubric(host: Host, references: tuple[str, ...], scope: AccessScope) -> Rubric:
    """The rules of several rubrics, as one. It goes by the id and version of the first, and by the names of all."""
    folder = host.work.data_folder / "documents"
    rubrics: list[Rubric] = []
    for reference in references:
        found = await referenced_document(host, reference, scope)
        path = await asyncio.to_thread(document_path, found, folder)
        rubrics.append(await asyncio.to_thread(read_rubric, path))
    listed = [rule.id for each in rubrics for rule in each.rules]
    if twice := [name for name in dict.fromkeys(listed) if listed.count(name) > 1]:
        raise PlanRefused(f"rubric_ids: several rubrics have a rule {', '.join(twice)}: a run needs each rule id once")
    rules = tuple(rule for each in rubrics for rule in each.rules)
    return replace(rubrics[0], name=" + ".join(each.name for each in rubrics), rules=rules)


async def queue_run(
    host: Host, handle: RunHandle, agent_id: str, organization_id: str, run_id: str, request: bytes = b"{}"
) -> QueuedRun:
    """Queue a run that was planned. `run_id` "": it keeps its own."""
    if handle.plan.models.spent() is not None:
        await refuse_spent_budget(host.rules, host.store, organization_id)
    pins = handle.run.pins if handle.run.pins.agent else replace(handle.run.pins, agent_id=agent_id)
    run = replace(handle.run, pins=pins, organization_id=organization_id, id=run_id or handle.run.id)
    await host.store.queue.add(run, request)
    return QueuedRun(run, handle.plan.warnings)


async def _check_gates(host: Host, request: RunRequest, scope: AccessScope, faults: RequestFaults) -> None:
    with faults.of("budget"):
        if request.budget:
            parse_budget(request.budget)
    with faults.of("gates"):
        await check_gates(host, request.gates, scope)
    with faults.of("until_sure"):
        if request.until_sure:
            await _check_visible(host, (read_anytime_gate(request.until_sure),), scope)


async def check_gates(host: Host, expressions: Sequence[str], scope: AccessScope) -> None:
    """PlanRefused for gates that cannot be read, NotFound for a run that the caller may not see."""
    try:
        gates = read_gates(expressions)
    except ConfigInvalid as error:
        raise PlanRefused(str(error)) from None
    await _check_visible(host, gates, scope)


async def _check_visible(host: Host, gates: Iterable[Gate], scope: AccessScope) -> None:
    """A gate may compare with a run that the caller may see, named by its id: a name could refer to a run of another
    organisation."""
    looking_back = [gate.condition.versus for gate in gates if isinstance(gate.condition, NoRegression)]
    for run_id in looking_back if scope != EVERYWHERE else ():
        await host.store.run(run_id, scope)


async def referenced_document(host: Host, reference: str, scope: AccessScope) -> Document:
    """NotFound where the document is deleted or the caller may not see it."""
    named = read_reference(reference)
    return await host.store.documents.get(named.kind, named.id, named.version, within=scope)


async def _source(
    host: Host, request: RunRequest, scope: AccessScope, faults: RequestFaults, *, partial: bool
) -> Document | None:
    """The document that a run has its cases or criteria from; None where that is a fault, or not to be known."""
    named = (request.criteria_from,) if request.criteria_from else request.datasets
    with faults.of("test_set_id"):
        if len(named) > 1 or not (named or partial):
            raise PlanRefused(
                "a run needs its cases from one place: expected one of test_set_id, dataset_id and question_set_id, "
                f"found {len(named)}"
            )
    if len(named) == 1:
        with faults.of(ID_FIELDS[read_reference(named[0]).kind]):
            return await referenced_document(host, named[0], scope)
    return None


async def resolve_request(
    host: Host, request: RunRequest, scope: AccessScope, faults: RequestFaults, *, partial: bool = False
) -> tuple[RunRequest, str]:
    """The request with the versions of its documents, and with what the operator says where the caller says nothing;
    and the id of its agent. Every document it names is one that the caller may see. Of a `partial` request some fields
    are not known: only its faults are found."""
    settings = host.work.settings
    source = await _source(host, request, scope, faults, partial=partial)
    agent_id = read_reference(request.agent).id if request.agent else source.agent_id if source else ""
    await _check_gates(host, request, scope, faults)
    rubrics: list[Document] = []
    with faults.of("rubric_id"):
        rubrics = [await referenced_document(host, each, scope) for each in dict.fromkeys(request.rubric.split())]
    agent = await _agent(host, agent_id, scope)
    with faults.of("bot_id"):
        if agent_id or source:
            require_agent(agent_id, scope)
        if request.agent and not request.responses and source:
            check_agent_known(host, agent_id, agent, source.agent_id)
    held = request.criteria_from and request.datasets
    conversations = await referenced_document(host, request.datasets[0], scope) if held else None
    for earlier in request.responses:
        run = await host.store.run(earlier.removeprefix(RUN_PREFIX))
        if not scope.sees(run.organization_id, run.pins.agent_key):
            raise NotFound(f"there is no run {run.id}")
    graders: tuple[str, ...] = ()
    with faults.of("config_id"):
        graders = await _grader_names(host, request, scope)
    target = judge = simulator = ""
    with faults.of("target"):
        target = await _target(host, request, source, agent_id, scope)
    with faults.of("eval_model"), permanent_faults():
        judge = allowed_judge(host, request.judge, scope)
        judge_models(host.work, replace(request, judge=judge))
    with faults.of("simulator"):
        simulator = allowed_simulator(host, request.simulator, scope)
    with faults.of("profile"):
        rules_for(request, host.work.kit)
    with faults.of("item_ids"):
        if source and request.datasets:
            await check_items(host, request, scope)
    with faults.of("engine"):
        check_engine(request.engine or settings.engine.value)
    if partial:
        return request, agent_id
    faults.refuse()
    assert source is not None, "without one there is a fault"
    resolved = replace(
        request,
        datasets=(str(reference_to(conversations or source)),),
        criteria_from=str(reference_to(source)) if conversations else "",
        rubric=" ".join(str(reference_to(rubric)) for rubric in rubrics),
        agent=str(reference_to(agent)) if agent else "",
        target=target,
        judge=judge,
        simulator=simulator,
        graders=graders or None,
        name=request.name or source.name,
    )
    return replace(apply_settings(host.work, resolved), anchors=""), agent_id


async def _grader_names(host: Host, request: RunRequest, scope: AccessScope) -> tuple[str, ...]:
    """The graders that a request names, or those of its evaluator config."""
    graders = request.graders or ()
    if not graders or not is_reference(graders[0]):
        return graders
    body = (await referenced_document(host, graders[0], scope)).edition.body
    listed = msgspec.json.decode(body, type=dict[str, Any]).get("evaluators", ())
    return tuple(each["type"] for each in listed if each.get("enabled", True))


async def _target(host: Host, request: RunRequest, source: Document | None, agent_id: str, scope: AccessScope) -> str:
    """How the agent is reached. A finished conversation is sent to nobody only because there is a default."""
    if request.criteria_from or request.responses:
        return ""
    target = allowed_target(host, ", ".join(targets_of(request)), agent_id, scope)
    if target and not request.target and source and await brings_answers(host, request, source, scope):
        return ""
    return target


async def _agent(host: Host, agent_id: str, scope: AccessScope) -> Document | None:
    """The description of the agent; None where there is none. A description from the bot service is stored, so that the
    run is pinned to it."""
    stored = await find_document(host, DocumentKind.AGENT, agent_id, scope)
    if stored is not None or not agent_id or not host.rules.bot_service:
        return stored
    try:
        described, _ = await bot_context(host, agent_id, scope)
    except NotFound:
        return None
    change = DocumentChange(body=described, author="bot service", note="as the bot service described it")
    return await add_document(host, DocumentKind.AGENT, change, scope, agent_id)


def offered_targets(host: Host, scope: AccessScope) -> tuple[str, ...]:
    """The operator's targets that this organisation may use: those that are listed for it, else all of them."""
    blocks, own = host.work.settings.targets, host.rules.organizations.get(scope.home)
    return tuple(each for each in blocks if own is None or not own.targets or each in own.targets)


def offered_judges(host: Host, scope: AccessScope) -> tuple[str, ...]:
    """The judges that this organisation may ask for; the first is asked where a request names none. The offline judge
    costs nothing and is everybody's."""
    own = host.rules.organizations.get(scope.home)
    offered = dict.fromkeys((host.work.settings.judge or OFFLINE, *host.rules.judges))
    if own is not None and own.judges:
        offered = dict.fromkeys(each for each in offered if each in own.judges)
    return tuple(dict.fromkeys((*offered, OFFLINE)))


def allowed_target(host: Host, target: str, agent_id: str, scope: AccessScope) -> str:
    """How the agent is reached: a target that the operator named, or an address on a host that is allowed. A request
    never names code or a program to run. An organisation that has targets of its own may use nothing else."""
    rules, blocks, own = host.rules, offered_targets(host, scope), host.rules.organizations.get(scope.home)
    target = target or rules.bots.get(agent_id, "") or rules.target
    inner, known = target.removeprefix("replay:"), ", ".join(sorted(blocks)) or "none"
    if target in NAMED_TARGETS or target in blocks or inner in blocks:
        return target
    if own is not None and own.targets:
        raise PlanRefused(f"target {target!r} is not one that {scope.home} may use; it may use: {known}")
    address = inner.removeprefix("http:") if inner.startswith("http:http") else inner
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise PlanRefused(f"target {address!r} is not an address: {error}") from None
    if parts.scheme in ("http", "https") and parts.hostname:
        if port == 0:
            raise PlanRefused(f"target {address!r}: expected a port from 1 to 65535, found 0")
        if not allows_host(rules.hosts, parts.hostname, port):
            raise PlanRefused(f"target {address!r}: the host {parts.hostname} is not among those this service may call")
        return target
    raise PlanRefused(f"target {target!r} is not one this service offers; offered: {known}")


def allowed_judge(host: Host, judge: str, scope: AccessScope) -> str:
    """The judge that a request may name: one that is offered to its organisation."""
    offered = offered_judges(host, scope)
    if not judge or judge in offered:
        return judge or offered[0]
    raise PlanRefused(f"judge {judge!r} is not one this service offers; offered: {', '.join(sorted(offered))}")


def allowed_simulator(host: Host, simulator: str, scope: AccessScope) -> str:
    own, default = host.rules.organizations.get(scope.home), host.work.settings.simulator
    offered = {OFFLINE, default or OFFLINE, *host.rules.judges}
    if own is not None and own.judges:
        offered = {OFFLINE, *(each for each in offered if each in own.judges)}
    if not simulator:
        return default if default in offered else OFFLINE
    if simulator in offered:
        return simulator
    raise PlanRefused(f"simulator {simulator!r} is not one this service offers: it must be listed under service.judges")
