"""Planning a run: read everything, refuse before anything is spent, and pin what made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.agent_file import read_agent
from howsure.dialects.finding import digest
from howsure.dialects.rubric_file import applicable, read_rubric
from howsure.engine.plan import CandidateRepeat, Rules
from howsure.errors import NotFound, PlanRefused, UnknownName
from howsure.graders.base import Binding, Grader, Setting
from howsure.judges.base import Judge
from howsure.judges.recording import RecordingJudge
from howsure.kit import Kit
from howsure.model.agent import Agent
from howsure.model.case import Case, World
from howsure.model.profile import Profile
from howsure.model.rubric import Rubric
from howsure.model.run import DatasetPin, Pins
from howsure.policies.gate_reading import read_gates
from howsure.policies.profiles import DEFAULT_PROFILE
from howsure.services.aiming import RECORDED, Aim, Cast, Ground, Playing, aim_of, chat_models, playing_for
from howsure.services.answers import Answers
from howsure.services.coverage import LaneName, Sides, Watch
from howsure.services.evals import with_evals
from howsure.services.fingerprints import fingerprint
from howsure.services.judging import Judging
from howsure.services.options import RunOptions
from howsure.services.paths import stored
from howsure.services.pooling import Pool
from howsure.services.survey import Survey, survey
from howsure.targets.recorded import Recordings
from howsure.version import __version__

CONCURRENCY = 8
LOCAL, RAY = "local", "ray"
"""The engines: this machine alone, or a cluster."""


class Plan(Struct, frozen=True, kw_only=True):
    """A run that may start: its cases, lanes and rules, and the pins that say what it was made of."""

    survey: Survey
    lanes: tuple[CandidateRepeat, ...]
    rules: Rules
    pins: Pins
    warnings: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return self.survey.total * len(self.lanes)


class Given(Struct, frozen=True, kw_only=True):
    """What was read and opened besides the datasets. `found`: they were surveyed elsewhere, by somebody who saw whether
    users are `simulated`."""

    rubric: Rubric | None = None
    agent: Agent | None = None
    answers: Answers | None = None
    judging: Judging = Judging()
    ground: Ground = Ground()
    pool: Pool | None = None
    record: Callable[[bytes], None] | None = None
    now: Callable[[], datetime] | None = None
    found: Survey | None = None
    simulated: bool = False


def plan(options: RunOptions, kit: Kit, given: Given) -> Plan:
    """Everything a run needs, or every reason why it cannot be had."""
    _check_numbers(options)
    read_gates(options.gates)
    kit = with_evals(kit, options.evals)
    aim = aim_of(options.target, kit, given.ground.blocks)
    recordings = given.answers.recordings if given.answers else None
    candidates = candidates_for(options, aim, recordings)
    cast = _cast(options, kit, given, aim)
    lanes = [(name, repeat) for name in candidates for repeat in range(1, options.repeat + 1)]
    sides = {lane: (cast.target(*lane), cast.users(*lane)) for lane in lanes}
    watch = Watch(sides, given.agent)
    found = given.found or survey(
        options.datasets,
        kit,
        watch,
        dialect=options.dialect,
        filters=options.filters,
        limit=options.limit,
        glance=recordings is None and aim.is_recorded and given.agent is None,
    )
    if given.pool is not None:
        found = replace(found, shape=given.pool)
    watch.refuse()
    rules = rules_for(options, kit)
    return Plan(
        survey=found,
        lanes=_lanes(options, kit, given, rules, cast, sides),
        rules=rules,
        pins=replace(
            _pins(options, found, given, rules, candidates),
            plugins=tuple(kit.brought),
            target_sha256="".join((given.judging.target_sha256, aim.sha256)),
            **_user_pins(options, given, cast.playing, simulated=watch.simulated or given.simulated),
        ),
        warnings=(
            *watch.warnings(given.rubric),
            *map(str, found.warnings),
            *(map(str, given.judging.source.warnings) if given.judging.source else ()),
        ),
    )


def _lanes(
    options: RunOptions,
    kit: Kit,
    given: Given,
    rules: Rules,
    cast: Cast,
    sides: Mapping[LaneName, Sides],
) -> tuple[CandidateRepeat, ...]:
    return tuple(
        CandidateRepeat(
            target=target,
            graders=graders_for(options, kit, cast, given, _setting(kit, given, rules, name, repeat)),
            users=users,
            candidate=name,
            repeat=repeat,
            limits=cast.limits,
            replays=options.replays,
        )
        for (name, repeat), (target, users) in sides.items()
    )


def _cast(options: RunOptions, kit: Kit, given: Given, aim: Aim) -> Cast:
    return Cast(
        aim=aim,
        kit=kit,
        ground=given.ground,
        playing=playing_for(options.simulator, aim, given.judging.playing),
        state=options.state,
        agent=given.agent,
        recordings=given.answers.recordings if given.answers else None,
        models=given.judging.models,
        documents=given.judging.documents,
    )


def _check_numbers(options: RunOptions) -> None:
    for name, value in (
        ("--repeat", options.repeat),
        ("--limit", options.limit),
        ("--max-concurrency", options.concurrency),
    ):
        if value is not None and value < 1:
            raise PlanRefused(f"{name} must be 1 or more, not {value}")
    if options.replays < 0:
        raise PlanRefused(f"--replay-spoiled must be 0 or more, not {options.replays}")


def candidates_for(options: RunOptions, aim: Aim, recordings: Recordings | None) -> tuple[str, ...]:
    recorded = recordings.candidates if recordings and not aim.replay else ()
    return options.candidates or recorded or chat_models(aim, options) or ("",)


def graders_for(options: RunOptions, kit: Kit, cast: Cast, given: Given, setting: Setting) -> tuple[Grader, ...]:
    """The graders of one lane: those asked for, or all; each with what it needs of the run."""
    if options.graders is not None:
        known = [kit.graders[name] for name in options.graders]
    else:
        # Optional graders ask a judge for what no pass rule needs: only a recording is asked without being told to.
        known = [each for each in kit.graders if given.judging.is_recorded or not getattr(each, "optional", False)]
        known = [each for each in known if cast.simulates or not getattr(each, "of_users", False)]
    return tuple(each.bind(setting) if isinstance(each, Binding) else each for each in known)


def _setting(kit: Kit, given: Given, rules: Rules, candidate: str, repeat: int) -> Setting:
    source = given.judging.source
    asked: Judge | None = None if source is None else source.at(candidate, repeat)
    if asked is not None and given.record is not None:
        asked = RecordingJudge(asked, given.record, candidate=candidate, repeat=repeat)
    return Setting(
        judge=asked,
        rubric=given.rubric,
        agent=given.agent,
        contracts=kit.contracts,
        now=given.now,
        marks=partial(profile_mark, rules),
    )


def profile_mark(rules: Rules, case: Case, grader: str) -> float | None:
    """The pass mark that the profile of a case sets for a grader: judges that vote near it must know it."""
    chosen = rules.profile_for(case)
    if case.world == World.EXPLAIN and not (chosen and chosen.name):
        chosen = rules.profiles.get(DEFAULT_PROFILE)
    return chosen.marks.get(grader) if chosen else None


def rules_for(options: RunOptions, kit: Kit) -> Rules:
    profiles = {each.name: each for each in kit.profiles}
    chosen: Profile | None = None
    if options.profile:
        if options.profile not in profiles:
            raise UnknownName("profile", options.profile, list(profiles))
        chosen = profiles[options.profile]
    return Rules(
        policies=kit.policies,
        fallback=kit.policies[World.PLAIN],
        profiles=profiles,
        profile=chosen,
        normalization=options.normalization,
    )


def read_given(options: RunOptions, answers: Answers | None) -> Given:
    """The rubric and the agent of the options. A rubric that the filters empty is no rubric: criteria only."""
    rubric = read_rubric(_file(options.rubric, "rubric")) if options.rubric else None
    if rubric is not None:
        kept = applicable(rubric, options.component_scope or None, options.component_ids)
        rubric = kept if kept.rules else None
    agent = read_agent(_file(options.agent, "agent")) if options.agent else None
    return Given(rubric=rubric, agent=agent, answers=answers)


def _file(path: str, kind: str) -> Path:
    if not Path(path).is_file():
        raise NotFound(f"{path}: no such {kind} file")
    return Path(path)


def _user_pins(options: RunOptions, given: Given, playing: Playing, *, simulated: int) -> dict[str, Any]:
    """Who plays the user's side, where somebody does."""
    pooled = Path(options.criteria_from)
    return {
        "criteria_from": DatasetPin(path=stored(pooled), sha256=digest(pooled)) if given.pool else None,
        "simulator": playing.spec if simulated else "",
        "simulator_sha256": playing.sha256 if simulated else "",
        "replays": options.replays,
    }


def _pins(options: RunOptions, found: Survey, given: Given, rules: Rules, candidates: Sequence[str]) -> Pins:
    return Pins(
        datasets=tuple(
            DatasetPin(
                path=stored(each.path),
                sha256=each.report.sha256,
                dialect=each.dialect.name,
                cases=each.report.cases,
                id=str(each.header.get("test_set_id") or ""),
                name=str(each.header.get("name") or ""),
                version=each.header.get("version"),
            )
            for each in found.datasets
        ),
        target=options.target or RECORDED,
        responses=given.answers.pins if given.answers else (),
        candidates=tuple(candidates),
        repeat=options.repeat,
        judge=given.judging.spec,
        judge_sha256=given.judging.sha256,
        judge_prompts=given.judging.prompts,
        batch_criteria=options.batch_criteria,
        graders=options.graders,
        evals=tuple(DatasetPin(path=stored(Path(file)), sha256=digest(Path(file))) for file in options.evals),
        profile=options.profile,
        normalization=options.normalization,
        policy_sha256=fingerprint([rules.profile, dict(rules.profiles)]),
        rubric=given.rubric,
        rubric_sha256=fingerprint(given.rubric) if given.rubric else "",
        agent=given.agent,
        component_scope=options.component_scope,
        component_ids=options.component_ids,
        filters=options.filters,
        limit=options.limit,
        state=options.state,
        concurrency=options.concurrency or CONCURRENCY,
        engine="" if options.engine == LOCAL else options.engine,
        budget=options.budget,
        gates=options.gates,
        howsure_version=__version__,
    )
