"""The plan of a run: everything is read, what cannot work is refused before anything is spent, and what made it is
pinned. One request becomes one plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.agent_files import read_agent
from howsure.dialects.datasets import digest
from howsure.dialects.rubric_files import applicable, read_rubric
from howsure.engine.candidates import CandidateRepeat, Rules
from howsure.errors import NotFound, PlanRefused, UnknownName
from howsure.graders.base import BindableGrader, Grader, GraderContext
from howsure.judges.recordings import RecordingJudge
from howsure.kit import Kit
from howsure.llm.transport import AddressGuard
from howsure.model.agent import Agent
from howsure.model.case import Case, World
from howsure.model.rubric import Rubric
from howsure.model.run import DatasetPin, Pins
from howsure.model.run_request import DEFAULT_CONCURRENCY, RunRequest
from howsure.model.verdict import Profile
from howsure.policies.gate_expressions import read_gates
from howsure.policies.profiles import DEFAULT_PROFILE
from howsure.services.files import fingerprint, stored_path
from howsure.services.run.model_access import OpenModels
from howsure.services.run.participants import RECORDED, Participants, chat_models
from howsure.services.run.pooled_criteria import PooledCriteria
from howsure.services.run.preflight import CaseSelection, CheckedDataset, CoverageCheck, preflight
from howsure.services.run.recorded_answers import RecordedAnswers
from howsure.services.workspace import Workspace
from howsure.version import __version__

LOCAL, RAY = "local", "ray"
"""The engines: this machine alone, or a cluster."""


class RunMaterials(Struct, frozen=True, kw_only=True):
    """What a run reads besides its datasets. `log_reply` is told every reply of the judge."""

    rubric: Rubric | None = None
    agent: Agent | None = None
    answers: RecordedAnswers | None = None
    pool: PooledCriteria | None = None
    log_reply: Callable[[bytes], None] | None = None


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
    """The files that the request names. A rubric that the filters empty is no rubric: criteria only."""
    rubric = read_rubric(_existing_file(request.rubric, "rubric")) if request.rubric else None
    if rubric is not None:
        rubric = applicable(rubric, request.component_scope or None, request.component_ids)
        rubric = rubric if rubric.rules else None
    agent = read_agent(_existing_file(request.agent, "agent")) if request.agent else None
    return RunMaterials(rubric=rubric, agent=agent, answers=answers, pool=read_pool(request, kit))


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
    if request.replays < 0:
        raise PlanRefused(f"--replay-spoiled must be 0 or more, not {request.replays}")
    if request.gates:
        read_gates(request.gates)
    planner = _RunPlanner(work.with_evals(request.evals), request, materials, models, now, guard)
    return planner.plan(cases)


class _RunPlanner:
    """Makes one plan of one request."""

    def __init__(
        self,
        work: Workspace,
        request: RunRequest,
        materials: RunMaterials,
        models: OpenModels,
        now: Callable[[], datetime] | None,
        guard: AddressGuard | None,
    ) -> None:
        self._work = work
        self._request = request
        self._materials = materials
        self._models = models
        self._now = now
        self._recordings = materials.answers.recordings if materials.answers else None
        self._participants = Participants(
            work, request, models, agent=materials.agent, recordings=self._recordings, guard=guard
        )
        self._rules = rules_for(request, work.kit)

    def plan(self, cases: CaseSelection | None) -> Plan:
        request, participants, agent = self._request, self._participants, self._materials.agent
        target = participants.spec
        recorded = self._recordings.candidates if self._recordings and not target.replay else ()
        names = request.candidates or recorded or chat_models(target, request) or ("",)
        sides = {
            (name, repeat): (participants.target(name, repeat), participants.users(name, repeat))
            for name in names
            for repeat in range(1, request.repeat + 1)
        }
        coverage = CoverageCheck(sides, agent)
        simulated = cases is not None and bool(request.simulator)
        if cases is None:
            # Where nothing but its answer matters of a case, those that bring theirs need not be built to be seen.
            glance = self._recordings is None and target.is_recorded and agent is None
            cases = preflight(request, self._work.kit, coverage, glance=glance)
            coverage.refuse()
            simulated = bool(coverage.simulated)
        if self._materials.pool is not None:
            cases = replace(cases, shape=self._materials.pool)
        sources = (cases, self._models.source) if self._models.source else (cases,)
        return Plan(
            request=request,
            cases=cases,
            candidates=tuple(
                CandidateRepeat(
                    target=answering,
                    graders=tuple(self._graders(name, repeat)),
                    users=users,
                    candidate=name,
                    repeat=repeat,
                    limits=participants.limits,
                    replays=request.replays,
                )
                for (name, repeat), (answering, users) in sides.items()
            ),
            rules=self._rules,
            models=self._models,
            pins=self._pins(cases, names, simulated=simulated),
            warnings=(
                *coverage.warnings(self._materials.rubric),
                *(str(warning) for source in sources for warning in source.warnings),
            ),
        )

    def _graders(self, candidate: str, repeat: int) -> Iterator[Grader]:
        """The graders asked for; where none is named, every one that has something to do in such a run."""
        request, kit, materials, source = self._request, self._work.kit, self._materials, self._models.source
        judge = None if source is None else source.at(candidate, repeat)
        if judge is not None and materials.log_reply is not None:
            judge = RecordingJudge(judge, materials.log_reply, candidate=candidate, repeat=repeat)
        context = GraderContext(
            judge=judge,
            rubric=materials.rubric,
            agent=materials.agent,
            contracts=kit.contracts,
            now=self._now,
            marks=partial(profile_mark, self._rules),
        )
        if request.graders is not None:
            chosen = [kit.graders[name] for name in request.graders]
        else:
            # Optional graders ask a judge for what no pass rule needs: only a recording is asked without being told to.
            chosen = [each for each in kit.graders if self._models.is_recorded or not getattr(each, "optional", False)]
            chosen = [
                each
                for each in chosen
                if self._participants.simulates or not getattr(each, "measures_simulator", False)
            ]
        for grader in chosen:
            yield grader.bind(context) if isinstance(grader, BindableGrader) else grader

    def _pins(self, cases: CaseSelection, names: tuple[str, ...], *, simulated: bool) -> Pins:
        """The request with files that can be found again, and the hashes of what they hold."""
        request, materials, models, participants = self._request, self._materials, self._models, self._participants
        datasets = tuple(map(_dataset_pin, cases.datasets))
        responses = materials.answers.pins if materials.answers else ()
        evals = tuple(map(_file_pin, request.evals))
        pool = _file_pin(request.criteria_from) if materials.pool else None
        dialects = {pin.dialect for pin in datasets}
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
            ),
            datasets=datasets,
            responses=responses,
            criteria_from=pool,
            evals=evals,
            target_sha256=f"{models.target_sha256}{participants.spec.sha256}",
            simulator_sha256=participants.simulator_sha256 if simulated else "",
            judge_sha256=models.judge_sha256,
            judge_prompts=models.judge_prompts,
            policy_sha256=fingerprint([self._rules.profile, dict(self._rules.profiles)]),
            rubric=materials.rubric,
            rubric_sha256=fingerprint(materials.rubric) if materials.rubric else "",
            agent=materials.agent,
            plugins=tuple(self._work.kit.plugin_versions),
            howsure_version=__version__,
        )


def _dataset_pin(dataset: CheckedDataset) -> DatasetPin:
    return DatasetPin(
        path=stored_path(dataset.path),
        sha256=dataset.report.sha256,
        dialect=dataset.dialect.name,
        cases=dataset.report.cases,
        id=str(dataset.header.get("test_set_id") or ""),
        name=str(dataset.header.get("name") or ""),
        version=dataset.header.get("version"),
    )


def _file_pin(file: str) -> DatasetPin:
    return DatasetPin(path=stored_path(Path(file)), sha256=digest(Path(file)))


def profile_mark(rules: Rules, case: Case, grader: str) -> float | None:
    """The pass mark that the profile of a case sets for a grader: judges that vote near it must know it."""
    chosen = rules.profile_for(case)
    if case.world == World.EXPLAIN and not (chosen and chosen.name):
        chosen = rules.profiles.get(DEFAULT_PROFILE)
    return chosen.marks.get(grader) if chosen else None


def rules_for(request: RunRequest, kit: Kit) -> Rules:
    profiles = {each.name: each for each in kit.profiles}
    chosen: Profile | None = None
    if request.profile:
        if request.profile not in profiles:
            raise UnknownName("profile", request.profile, list(profiles))
        chosen = profiles[request.profile]
    return Rules(
        policies=kit.policies,
        fallback=kit.policies[World.PLAIN],
        profiles=profiles,
        profile=chosen,
        normalization=request.normalization,
    )
