"""Howsure from Python: `evaluate` a dataset in a script or a notebook, `evaluate_async` where a loop runs already, and
`load_run` for what was run before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec
from msgspec.structs import fields

from howsure.dialects.lines import CaseLinesDialect
from howsure.errors import ConfigInvalid
from howsure.kit import Kit
from howsure.model.run_request import RunRequest
from howsure.services.gate.gate import rule_on_gates
from howsure.services.python.background_loop import run_sync
from howsure.services.python.finished_run import FinishedRun
from howsure.services.python.objects import CaseInput, FunctionTargets, TargetInput, name_what_was_given, save_cases
from howsure.services.run.execute import Progress
from howsure.services.run.start import apply_settings, start
from howsure.services.workspace import Workspace

Dataset = CaseInput | Iterable[Any]
Plugin = str | Path | Callable[[Kit], None]
GIVEN = "given cases"
"""What a run over cases that Python code handed over is called, where nobody gave it a name."""
GIVEN_FOLDER = "given"


class WorkspaceOptions(TypedDict, total=False):
    """Where to work: as `--database`, `--config` and `--plugin`. A plug-in may also be a function `register(kit)`."""

    database: str | Path
    config: str | Path
    plugins: Sequence[Plugin]


def evaluate(dataset: Dataset, target: TargetInput = None, **options: Any) -> FinishedRun:
    """Run a dataset and wait for it: `evaluate("cases.jsonl", my_bot, judge="offline", repeat=3).passed`.

    `dataset`: a path, a list of dicts (`{"input": …, "expected": …}`, or lines of any dialect) or of Cases, or a data
    frame, a table or a Hugging Face dataset with the columns of a plain table.
    `target`: a function of text (sync or async), any target that `howsure run --target` takes, a list of these to
    compare them, or None for the answers that were recorded. `options`: every field of `RunRequest`, under its name;
    `database`, `config` and `plugins`; and `progress`, a function that is told of results as they come. Where an event
    loop runs (a notebook), the work is done in a thread beside it.
    """
    return run_sync(evaluate_async(dataset, target, **options))


async def evaluate_async(dataset: Dataset, target: TargetInput = None, **options: Any) -> FinishedRun:
    """The same, to be awaited: async targets run in the loop that is there."""
    work = open_workspace(options)
    with name_what_was_given(work.data_folder / GIVEN_FOLDER):
        request = request_for(work, dataset, target, options)
        progress: Progress = options.get("progress") or (lambda results: None)
        return FinishedRun(work, await start(work, request, lambda _: progress))


def load_run(run: str = "latest", **place: Unpack[WorkspaceOptions]) -> FinishedRun:
    """A run from the store: by id, the beginning of one, name, or `latest`."""
    return run_sync(_loaded(open_workspace(place), run))


async def _loaded(work: Workspace, name: str) -> FinishedRun:
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        return FinishedRun(work, await rule_on_gates(store, await store.summary(run.id)))


def open_workspace(place: Mapping[str, Any]) -> Workspace:
    """The workspace of the current folder, with the database, settings and plug-ins that `place` names."""
    plugins = place.get("plugins", ())
    work = Workspace.here(
        database=str(place["database"]) if place.get("database") else None,
        config=str(place["config"]) if place.get("config") else None,
        plugins=[str(each) for each in plugins if not callable(each)],
    )
    for register in plugins:
        if callable(register):
            register(work.kit)
            work.kit.plugin_versions.append(f"{register.__module__}:{register.__qualname__}")
    work.kit.importers.replace(CaseLinesDialect())
    return work


def request_for(work: Workspace, dataset: Dataset, target: TargetInput, options: Mapping[str, Any]) -> RunRequest:
    """The run that is asked for. The kit learns of functions and graders that were handed over."""
    as_table = bool(options.get("map") or options.get("match"))
    saved = save_cases(dataset, work.data_folder / GIVEN_FOLDER, as_table=as_table)
    own = {
        name: value for name, value in options.items() if name not in (*WorkspaceOptions.__annotations__, "progress")
    }
    takes = {
        each.name: each.type for each in fields(RunRequest) if each.name not in ("datasets", "target", "asks_anew")
    }
    if unknown := own.keys() - takes.keys():
        known = ", ".join(sorted({*takes, *WorkspaceOptions.__annotations__, "progress"}))
        raise ConfigInvalid(f"evaluate takes no {', '.join(sorted(unknown))}; it takes {known}")
    functions = FunctionTargets()
    given = target if isinstance(target, list | tuple) else [target or ""]
    if not all(isinstance(each, str) for each in given):
        work.kit.kinds.replace(functions)
    specs = tuple(each if isinstance(each, str) else functions.add(each) for each in given)
    spec = specs if len(specs) > 1 else "".join(specs)
    values: dict[str, Any] = {"datasets": saved.datasets, "dialect": saved.dialect, "target": spec}
    values["name"] = GIVEN if saved.made else ""
    if not spec:
        # Answers that came with the cases count where nobody else is to answer.
        values["responses"] = saved.responses
    if own.get("graders") is not None:
        named = own["graders"].split(",") if isinstance(own["graders"], str) else own["graders"]
        for grader in named:
            if not isinstance(grader, str):
                work.kit.graders.replace(grader)
        # Beside names with a sign, a grader that was handed over is one more.
        sign = "+" if any(isinstance(each, str) and each[:1] in ("+", "-") for each in named) else ""
        own["graders"] = [each.strip() if isinstance(each, str) else f"{sign}{each.name}" for each in named]
    try:
        request = msgspec.convert(values | {name: _plain(own[name], takes[name]) for name in own}, RunRequest)
    except msgspec.ValidationError as error:
        raise ConfigInvalid(f"evaluate: {error}") from error
    return apply_settings(work, request)


def _plain(value: Any, kind: Any) -> Any:
    """A value as a request holds it: paths as text, and one text where several may stand."""
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, Mapping):
        return {
            key: _plain(each, tuple) if isinstance(each, str) and "tuple" in str(kind) else each
            for key, each in value.items()
        }
    if isinstance(value, str):
        return (value,) if "tuple" in str(kind) else value
    return [str(each) for each in value] if isinstance(value, Sequence) else value
