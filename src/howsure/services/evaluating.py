"""Howsure from Python: `evaluate` a dataset in a script or a notebook, `evaluate_async` where a loop runs already, and
`load_run` for what was run before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from howsure.dialects.case_lines import CaseLines
from howsure.errors import ConfigInvalid
from howsure.graders.base import Binding, Grader
from howsure.kit import Kit
from howsure.model.result import Result
from howsure.services.defaults import with_settings
from howsure.services.finished import FinishedRun
from howsure.services.gating import gated
from howsure.services.given import Given, GivenFunctions, GivenTarget, Kept, kept_cases
from howsure.services.options import RunOptions
from howsure.services.running import Progress
from howsure.services.runs import Started, start
from howsure.services.waiting import awaited
from howsure.services.workspace import Workspace

Dataset = Given | Iterable[Given]
Plugin = str | Path | Callable[[Kit], None]
GIVEN = "given cases"
"""What a run over cases that Python code handed over is called, where nobody gave it a name."""


class Place(TypedDict, total=False):
    """Where to work: as `--database`, `--config` and `--plugin`. A plug-in may also be a function `register(kit)`."""

    database: str | Path
    config: str | Path
    plugins: Sequence[Plugin]


class Asked(Place, total=False):
    """What `howsure run` takes, under the names of its options; `progress` is told of results as they come."""

    name: str
    dialect: str
    responses: str | Path | Sequence[str | Path]
    candidates: Sequence[str]
    judge: str
    graders: Sequence[str | Grader | Binding]
    evals: str | Path | Sequence[str | Path]
    profile: str
    rubric: str | Path
    agent: str | Path
    component_scope: str
    component_ids: Sequence[str]
    state: Mapping[str, Any]
    simulator: str
    replays: int
    repeat: int
    limit: int
    filters: Mapping[str, str | Sequence[str]]
    concurrency: int
    budget: str
    gates: str | Sequence[str]
    cache: bool
    progress: Callable[[Sequence[Result]], None]


def evaluate(dataset: Dataset, target: GivenTarget = None, **asked: Unpack[Asked]) -> FinishedRun:
    """Run a dataset and wait for it: `evaluate("cases.jsonl", my_bot).passed`.

    `dataset`: a path, or a list of dicts (`{"input": …, "expected": …}`, or lines of any dialect) or of Cases.
    `target`: a function of text (sync or async), any target that `howsure run --target` takes, or None for the answers
    that were recorded. Where an event loop runs (a notebook), the work is done in a thread beside it.
    """
    return awaited(evaluate_async(dataset, target, **asked))


async def evaluate_async(dataset: Dataset, target: GivenTarget = None, **asked: Unpack[Asked]) -> FinishedRun:
    """The same, to be awaited: async targets run in the loop that is there."""
    work = workplace(asked)
    options = options_for(work, dataset, target, asked)
    summary = await start(work, options, watching(asked))
    return FinishedRun(work, summary)


def load_run(run: str = "latest", **place: Unpack[Place]) -> FinishedRun:
    """A run from the store: by id, the beginning of one, name, or `latest`."""
    return awaited(_loaded(workplace(place), run))


async def _loaded(work: Workspace, name: str) -> FinishedRun:
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        return FinishedRun(work, await gated(store, await store.summary(run.id)))


def workplace(place: Place) -> Workspace:
    """The workplace of the current folder, with what was given."""
    plugins = place.get("plugins", ())
    work = Workspace.here(
        database=str(place["database"]) if place.get("database") else None,
        config=str(place["config"]) if place.get("config") else None,
        plugins=[str(each) for each in plugins if not callable(each)],
    )
    for register in plugins:
        if callable(register):
            register(work.kit)
            work.kit.brought.append(f"{register.__module__}:{register.__qualname__}")
    work.kit.importers.put(CaseLines())
    return work


def options_for(work: Workspace, dataset: Dataset, target: GivenTarget, asked: Asked) -> RunOptions:
    """The run that is asked for. The kit learns of functions and graders that were handed over."""
    kept = kept_cases(dataset, work.data_folder / "given")
    rest = {name: value for name, value in asked.items() if name not in (*Place.__annotations__, "progress")}
    if unknown := rest.keys() - Asked.__annotations__.keys():
        known = ", ".join(sorted(Asked.__annotations__))
        raise ConfigInvalid(f"evaluate takes no {', '.join(sorted(unknown))}; it takes {known}")
    spec = _spec(work.kit, target)
    options = RunOptions(**{**_kept(kept, recorded=not spec), "target": spec, **_plain(work.kit, rest)})
    return with_settings(work, options)


def _kept(kept: Kept, *, recorded: bool) -> dict[str, Any]:
    """Answers that came with the cases count where nobody else is to answer."""
    given: dict[str, Any] = {"datasets": kept.datasets, "dialect": kept.dialect, "name": GIVEN if kept.made else ""}
    return {**given, "responses": kept.responses} if recorded else given


def _spec(kit: Kit, target: GivenTarget) -> str:
    if target is None or isinstance(target, str):
        return target or ""
    functions = GivenFunctions()
    kit.kinds.put(functions)
    return functions.add(target)


def _plain(kit: Kit, rest: Mapping[str, Any]) -> dict[str, Any]:
    """As the options want it: tuples of text."""
    made = dict(rest)
    for name in ("responses", "evals", "gates", "candidates", "component_ids"):
        if name in made:
            made[name] = _several(made[name])
    for name in ("rubric", "agent"):
        if name in made:
            made[name] = str(made[name])
    if "filters" in made:
        made["filters"] = {key: _several(values) for key, values in made["filters"].items()}
    if "graders" in made:
        made["graders"] = tuple(_grader(kit, each) for each in made["graders"])
    return made


def _several(value: Any) -> tuple[str, ...]:
    return (str(value),) if isinstance(value, str | Path) else tuple(map(str, value))


def _grader(kit: Kit, given: str | Grader | Binding) -> str:
    if isinstance(given, str):
        return given
    kit.graders.put(given)
    return given.name


def watching(asked: Asked) -> Callable[[Started], Progress]:
    told = asked.get("progress")
    return lambda _: told if told is not None else _nobody


def _nobody(_: Sequence[Result]) -> None:
    return None
