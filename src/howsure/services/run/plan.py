"""The plan of a run: everything is read, what cannot work is refused before anything is spent, and what made it is
pinned. One request becomes one plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.config import Settings
from howsure.dialects.agent_files import applicable, read_agent, read_rubric
from howsure.dialects.datasets import digest
from howsure.engine.candidates import CandidateRepeat, Rules
from howsure.errors import NUL, NotFound, PlanRefused
from howsure.graders.base import BindableGrader, Grader, GraderContext
from howsure.graders.rubric import RubricGrader
from howsure.judges.recordings import RecordingJudge
from howsure.kit import Kit
from howsure.llm.transport import AddressGuard
from howsure.model.agent import Agent
from howsure.model.case import Case, World
from howsure.model.rubric import Rubric
from howsure.model.run import DatasetPin, Pins
from howsure.model.run_request import DEFAULT_CONCURRENCY, RunRequest
from howsure.policies.gates import read_anytime_gate, read_gates
from howsure.policies.verdicts import DEFAULT_PROFILE, builtin_profiles
from howsure.services.files import fingerprint, stored_path
from howsure.services.run.model_access import RECORDED, OpenModels
from howsure.services.run.participants import Participants
from howsure.services.run.preflight import CaseSelection, CheckedDataset, CoverageCheck, PlanNotes, preflight
from howsure.services.run.recorded_answers import PooledCriteria, RecordedAnswers
from howsure.services.workspace import Workspace
from howsure.version import __version__

LOCAL, RAY = "local", "ray"
"""The engines: this machine alone, or a cluster."""
CALLS = ("judge_settings", "target_settings", "simulator_settings", "attempt_seconds", "retry")
LIMITS = ("images", "answer_rendering", "document_characters", "turn_seconds", "case_seconds")
"""Settings that shape a run, besides those that its request repeats or whose hash is pinned."""


class RunMaterials(Struct, frozen=True, kw_only=True):
    """What a run reads besides its datasets. `log_reply` is told every reply of the judge; `notes` say what of it is
    not used."""

    rubric: Rubric | None = None
    agent: Agent | None = None
    answers: RecordedAnswers | None = None
    pool: PooledCriteria | None = None
    log_reply: Callable[[bytes], None] | None = None
    notes: tuple[str, ...] = ()


class Plan(Struct, frozen=True, kw_only=True):
    """A run that may start: its cases, candidates and rules, the models it may ask, and the pins that say what it was
    made of. Every case is tried with every one of `candidates`."""

    request: RunRequest
    cases: CaseSelection
    candidates: tuple[CandidateRepeat, ...]
    rules: Rules
    models: OpenModels
    pins: Pins
    warnings: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return self.cases.total * len(self.candidates)

    @property
    def concurrency(self) -> int:
        return self.request.concurrency or DEFAULT_CONCURRENCY


def read_materials(request: RunRequest, kit: Kit, answers: RecordedAnswers | None = None) -> RunMaterials:
    """The files that the request names."""
    named = read_rubric(_existing_file(request.rubric, "rubric")) if request.rubric else None
    rubric, notes = rubric_to_ask(named, request)
    agent = read_agent(_existing_file(request.agent, "agent")) if request.agent else None
    return RunMaterials(rubric=rubric, agent=agent, answers=answers, pool=read_pool(request, kit), notes=notes)


def rubric_to_ask(rubric: Rubric | None, request: RunRequest) -> tuple[Rubric | None, tuple[str, ...]]:
    """The rules that the filters leave. Where they leave none, or no grader asks them, the run has no rubric, and a
    note says why."""
    if rubric is None:
        return None, ()
    names, grader = request.graders or (), RubricGrader.name
    if f"-{grader}" in names or (names and not request.changes_graders and grader not in names):
        return None, (f"the rubric {rubric.name!r} is not used: the grader `{grader}` is not among those chosen",)
    left = applicable(rubric, request.component_scope or None, request.component_ids)
    if left.rules:
        return left, ()
    about = ", ".join(filter(None, (request.component_scope, *request.component_ids)))
    return None, (f"the rubric {rubric.name!r} is not used: none of its rules is about {about}",)


def read_pool(request: RunRequest, kit: Kit) -> PooledCriteria | None:
    return PooledCriteria.of(Path(request.criteria_from), kit) if request.criteria_from else None


def _existing_file(path: str, kind: str) -> Path:
    if not Path(path).is_file():
        raise NotFound(f"{path}: no such {kind} file")
    return Path(path)


def plan_run(
    work: Workspace,
    request: RunRequest,
    materials: RunMaterials,
    models: OpenModels,
    *,
    now: Callable[[], datetime] | None = None,
    cases: CaseSelection | None = None,
    guard: AddressGuard | None = None,
) -> Plan:
    """Everything that a run needs, or every reason why it cannot be had. `cases` are given where they were checked
    before and nothing has changed since. `guard` says where the target may be reached."""
    for name, value in (
        ("--repeat", request.repeat),
        ("--limit", request.limit),
        ("--max-concurrency", request.concurrency),
    ):
        if value is not None and value < 1:
            raise PlanRefused(f"{name} must be 1 or more, not {value}")
    pool = materials.pool
    if pool is not None and not pool.criteria and materials.rubric is None:
        raise PlanRefused(
            f"criteria from {pool.source.name or pool.source.path}: no item of it has a success criterion"
        )
    if request.replays < 0:
        raise PlanRefused(f"--replay-spoiled must be 0 or more, not {request.replays}")
    if request.gates:
        read_gates(request.gates)
    if request.until_sure:
        read_anytime_gate(request.until_sure)
        if request.engine == RAY:
            raise PlanRefused("--until-sure: a cluster asks cases in no order; use --engine local")
    work = work.with_evals(request.evals)
    work.check_profiles()
    recordings = materials.answers.recordings if materials.answers else None
    participants = Participants(work, request, models, agent=materials.agent, recordings=recordings, guard=guard)
    rules = rules_for(request, work.kit)
    return _RunPlanner(work, request, materials, models, participants, rules, now).plan(cases)


class _RunPlanner(Struct, frozen=True):
    """Makes one plan of one request."""

    work: Workspace
    request: RunRequest
    materials: RunMaterials
    models: OpenModels
    participants: Participants
    rules: Rules
    now: Callable[[], datetime] | None

    def plan(self, cases: CaseSelection | None) -> Plan:
        request, participants, agent = self.request, self.participants, self.materials.agent
        target = participants.spec
        answering = {each.name: each for each in participants.candidates}
        if wrong := [name for name in answering if "\0" in name]:
            raise PlanRefused(f"{NUL} stands in the name of the candidate {wrong[0]!r}")
        sides = {
            (name, repeat): (participants.target(each, repeat), participants.users(name, repeat))
            for name, each in answering.items()
            for repeat in range(1, request.repeat + 1)
        }
        candidates = tuple(
            CandidateRepeat(
                target=side,
                graders=tuple(self._graders(name, repeat)),
                users=users,
                candidate=name,
                prompt=answering[name].prompt,
                repeat=repeat,
                limits=participants.limits(answering[name]),
                case_flags=participants.case_flags(answering[name]),
                replays=request.replays,
                check_budget=participants.budget_check(answering[name]),
            )
            for (name, repeat), (side, users) in sides.items()
        )
        coverage = CoverageCheck(sides, agent, left_out=request.partial, answered=self._answered)
        noticed = PlanNotes(candidates, self.rules, self.work.kit, self.models.judge)
        simulated = cases is not None and bool(request.simulator)
        if cases is None:
            # Where nothing but its answer matters of a case, those that bring theirs need not be built to be seen.
            glance = self.materials.answers is None and target.is_recorded and agent is None
            shape = self.materials.pool

            def look(case: Case) -> None:
                coverage(case)
                noticed(shape(case) if shape else case)

            cases = preflight(request, self.work.kit, look, glance=glance and noticed.may_glance)
            coverage.refuse([each.report.columns for each in cases.datasets if each.report.columns])
            noticed.refuse(require_contracts=self.work.settings.require_contracts)
            simulated = bool(coverage.simulated)
        notes = (*self.materials.notes, *noticed.notes())
        if self.materials.pool is not None:
            cases = replace(cases, shape=self.materials.pool)
        sources = (cases, self.models.source, self.materials.answers)
        return Plan(
            request=request,
            cases=cases,
            candidates=candidates,
            rules=self.rules,
            models=self.models,
            pins=replace(self._pins(cases, tuple(answering), simulated=simulated), notes=notes),
            warnings=(
                *notes,
                *coverage.warnings(self.materials.rubric),
                *(str(warning) for source in sources if source for warning in source.warnings),
            ),
        )

    @property
    def _answered(self) -> set[str]:
        """The cases that recorded answers name, if all cases are looked at."""
        every = self.request.limit is None and not self.request.filters
        return self.materials.answers.case_ids if self.materials.answers and every else set()

    def _graders(self, candidate: str, repeat: int) -> Iterator[Grader]:
        """The graders asked for; where none is named, those of the profile and every one that has something to do."""
        request, kit, materials, source = self.request, self.work.kit, self.materials, self.models.source
        judge = None if source is None else source.at(candidate, repeat)
        if judge is not None and materials.log_reply is not None:
            judge = RecordingJudge(judge, materials.log_reply, candidate=candidate, repeat=repeat)
        context = GraderContext(
            judge=judge,
            rubric=materials.rubric,
            agent=materials.agent,
            contracts=kit.contracts,
            now=self.now,
            marks=partial(profile_mark, self.rules),
            policies=kit.dataset_policies,
            named=frozenset(name.removeprefix("+") for name in request.graders or ()),
        )
        named = {*self.rules.profile.marks, *self.rules.profile.hard_fails} if self.rules.profile else set()
        # Optional graders ask a judge for what no pass rule needs, unless the profile does: only a recording is asked
        # without being told to.
        usual = [
            each
            for each in kit.graders
            if (self.models.is_recorded or each.name in named or not getattr(each, "optional", False))
            and (self.participants.simulates or not getattr(each, "measures_simulator", False))
        ]
        for grader in named_graders(request, kit, usual):
            yield grader.bind(context) if isinstance(grader, BindableGrader) else grader

    def _pins(self, cases: CaseSelection, names: tuple[str, ...], *, simulated: bool) -> Pins:
        """The request with files that can be found again, and the hashes of what they hold."""
        request, materials, models, participants = self.request, self.materials, self.models, self.participants
        datasets = tuple(map(_dataset_pin, cases.datasets))
        responses = materials.answers.pins if materials.answers else ()
        evals = tuple(DatasetPin(path=stored_path(Path(each)), sha256=digest(Path(each))) for each in request.evals)
        pool = materials.pool.source if materials.pool else None
        dialects = {pin.dialect for pin in datasets}
        own_policies = [self.work.settings.policies] if self.work.settings.policies else []
        profile, usual = self.rules.profile, builtin_profiles()[0].marks
        return Pins(
            request=replace(
                request,
                datasets=tuple(pin.path for pin in datasets),
                dialect=dialects.pop() if len(dialects) == 1 else "",
                target=request.target or RECORDED,
                responses=tuple(pin.path for pin in responses),
                candidates=tuple(names),
                judge=models.judge,
                evals=tuple(pin.path for pin in evals),
                criteria_from=pool.path if pool else "",
                simulator=participants.simulator if simulated else "",
                concurrency=request.concurrency or DEFAULT_CONCURRENCY,
                engine="" if request.engine == LOCAL else request.engine,
                # The rubric and the agent are pinned whole; what this process writes beside the run is not part of it.
                **dict.fromkeys(("rubric", "agent", "trace", "record_judge", "name"), ""),
                cache=True,
                asks_anew=False,
            ),
            datasets=datasets,
            responses=responses,
            criteria_from=pool,
            evals=evals,
            target_sha256=participants.target_sha256,
            simulator_sha256=participants.simulator_sha256 if simulated else "",
            judge_sha256=models.judge_sha256,
            judge_prompts=models.judge_prompts,
            recorded_judges=models.recorded_judges,
            policy_sha256=fingerprint([self.rules.profile, dict(self.rules.profiles), *own_policies]),
            rubric=materials.rubric,
            rubric_sha256=fingerprint(materials.rubric) if materials.rubric else "",
            agent=materials.agent,
            plugins=tuple(self.work.kit.plugin_versions),
            judged=tuple(each.name for each in self._graders(names[0], 1) if getattr(each, "judge", None) is not None),
            # What somebody set in the profile asked for: the built-in marks are for whichever evals a case has.
            marks={name: mark for name, mark in (profile.marks if profile else {}).items() if usual.get(name) != mark},
            settings=shaping_settings(self.work.settings, names),
            models={each.name: each.model for each in participants.candidates if each.model},
            howsure_version=__version__,
        )


def named_graders(
    request: RunRequest, kit: Kit, usual: Sequence[Grader | BindableGrader]
) -> list[Grader | BindableGrader]:
    """`a,b`: only these. `+a,-b`: the usual ones with a and without b."""
    names = request.graders
    if names is None:
        return list(usual)
    if not request.changes_graders:
        return [kit.graders[name] for name in names]
    added, taken = ([kit.graders[name[1:]] for name in names if name[:1] == sign] for sign in "+-")
    said = f"--graders {','.join(names)}"
    if len(added) + len(taken) < len(names):
        raise PlanRefused(f"{said}: names with + or - change the usual graders, plain names mean only these: not both")
    if both := [each.name for each in added if each in taken]:
        raise PlanRefused(f"{said}: {both[0]} is both added and taken away")
    return [each for each in (*usual, *(one for one in added if one not in usual)) if each not in taken]


def shaping_settings(settings: Settings, candidates: Sequence[str]) -> dict[str, Any]:
    """The settings that shape a run, where they were changed; and those of its candidates."""
    usual = Settings()
    own = {f"candidate {name}": settings.candidates[name] for name in candidates if name in settings.candidates}
    changed = {name: getattr(settings, name) for name in (*CALLS, *LIMITS)}
    changed = {name: value for name, value in changed.items() if value != getattr(usual, name)}
    return {name: msgspec.to_builtins(value) for name, value in {**changed, **own}.items()}


def _dataset_pin(dataset: CheckedDataset) -> DatasetPin:
    return DatasetPin(
        path=stored_path(dataset.path),
        sha256=dataset.report.sha256,
        size=dataset.report.size,
        dialect=dataset.dialect.name,
        cases=dataset.report.cases,
        selected=dataset.selected,
        id=str(dataset.header.get("test_set_id") or ""),
        name=str(dataset.header.get("name") or ""),
        version=dataset.header.get("version"),
    )


def profile_mark(rules: Rules, case: Case, grader: str) -> float | None:
    """The pass mark that the profile of a case sets for a grader: judges that vote near it must know it."""
    chosen = rules.profile_for(case)
    if case.world == World.EXPLAIN and not (chosen and chosen.name):
        chosen = rules.profiles.get(DEFAULT_PROFILE)
    return chosen.marks.get(grader) if chosen else None


def rules_for(request: RunRequest, kit: Kit) -> Rules:
    return Rules(
        policies=kit.policies,
        fallback=kit.policies[World.PLAIN],
        profiles=kit.profiles.by_name(),
        profile=kit.profiles[request.profile] if request.profile else None,
        normalization=request.normalization,
    )
