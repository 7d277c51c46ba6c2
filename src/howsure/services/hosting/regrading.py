"""Grading again what nobody ordered from the service: a run of `howsure run`, or of the demo. How it was made stands in
its pins, and the files that these name are read once more; the answers are those it has, and no agent is called."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from howsure.dialects.rubric_file import rubric_document
from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.model.run import Pins, Run
from howsure.services.hosting.host import Host
from howsure.services.hosting.library import Change, add
from howsure.services.hosting.materials import is_reference, reference_to
from howsure.services.hosting.ordering import OFFLINE, Order, Ordered, judge_for
from howsure.services.options import RunOptions, options_of
from howsure.services.paths import usable
from howsure.services.runs import EARLIER_RUN, prepare

RECORDED = "recorded:"
FREE = ("", "none", OFFLINE)


async def graded_as_pinned(host: Host, run: Run, change: Order, within: AccessScope, new_id: str = "") -> Ordered:
    """A new run over the answers of this one. What `change` does not say is as the pins say."""
    _check_files(run.pins)
    judge = judge_for(host, change.judge) if change.judge else _judge(host, run.pins)
    options = replace(
        _options(run, change), judge=judge, rubric=await _rubric(host, run, change, within), engine=_engine(host)
    )
    started = await prepare(host.work, host.store, options, within, run.pins)
    pins = started.run.pins if started.run.pins.agent else replace(started.run.pins, agent_id=run.pins.agent_id)
    made = replace(started.run, pins=pins, organization_id=run.organization_id, **({"id": new_id} if new_id else {}))
    await host.store.queue.add(made)
    return Ordered(made, started.warnings)


def _options(run: Run, change: Order) -> RunOptions:
    return replace(
        options_of(run.pins, change.name or run.name),
        responses=(f"{EARLIER_RUN}{run.id}",),
        target="",
        candidates=(),
        profile=change.profile or run.pins.profile,
    )


def _engine(host: Host) -> str:
    return host.work.settings.engine.value


def _check_files(pins: Pins) -> None:
    """What the run was made of must still be here; only the names of files are told."""
    named = [pin.path for pin in (*pins.datasets, *pins.evals) if not is_reference(pin.path) and "://" not in pin.path]
    gone = [Path(usable(path)).name for path in named if not Path(usable(path)).exists()]
    if gone:
        raise Conflict(
            f"this run was made from files that are not on the service's machine (any more): {', '.join(gone)}; "
            "`howsure run --responses` grades its answers again where they are"
        )


def _judge(host: Host, pins: Pins) -> str:
    """The judge it had: a recording, as long as it is there; a model, if the operator offers it."""
    if not pins.judge.startswith(RECORDED):
        return pins.judge if pins.judge in FREE else judge_for(host, pins.judge)
    path = Path(usable(pins.judge.removeprefix(RECORDED)))
    if not path.is_file():
        raise Conflict(f"the recording that judged this run is not here any more: {path.name}; choose another judge")
    return f"{RECORDED}{path}"


async def _rubric(host: Host, run: Run, change: Order, within: AccessScope) -> str:
    """The one that was chosen; else the newest version of its own; "" where the library has none: it stays as it is
    pinned."""
    if change.rubric_id:
        chosen = await host.store.documents.get(
            DocumentKind.RUBRIC, change.rubric_id, change.rubric_version, within=within
        )
        return str(reference_to(chosen))
    found = await rubric_kept(host, run, within)
    return str(reference_to(found)) if found else ""


def rubric_key(pins: Pins) -> str:
    """What the library calls the rubric of a run; one that has no id of its own is known by what is in it."""
    return (pins.rubric.id or pins.rubric_sha256[:32]) if pins.rubric else ""


async def rubric_kept(host: Host, run: Run, within: AccessScope) -> Document | None:
    """The rubric of the run as the library has it now."""
    key = rubric_key(run.pins)
    try:
        return await host.store.documents.get(DocumentKind.RUBRIC, key, within=within) if key else None
    except NotFound:
        return None


async def keep_rubric(host: Host, run: Run, author: str, within: AccessScope) -> Document:
    """The rubric of the run in the library: as it is there, or else as the run used it, as version 1."""
    found = await rubric_kept(host, run, within)
    if found is not None:
        return found
    if run.pins.rubric is None:
        raise Conflict(f"run {run.id} was graded without a rubric")
    said = f"as the run {run.name or run.id} used it (its version {run.pins.rubric.version})"
    change = Change(body=rubric_document(run.pins.rubric), author=author, note=said)
    return await add(host, DocumentKind.RUBRIC, change, within, rubric_key(run.pins))
