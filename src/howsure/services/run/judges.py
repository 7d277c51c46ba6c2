"""The models that a run may ask: its judge (a recording, the offline judge, a live model, a panel, or none), the models
under test, and the one that plays the user."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from howsure.config import FILE, AnswerRendering, PanelSettings, Settings
from howsure.dialects.datasets import digest
from howsure.errors import ConfigInvalid, Conflict, NotFound, PlanRefused, Problem
from howsure.judges.answer_prompts import answer_prompts_fingerprint
from howsure.judges.base import Judge, VotingProcedure
from howsure.judges.batches import BatchingJudge
from howsure.judges.documents import DOCUMENT_CHARACTERS, NO_DOCUMENTS, Documents
from howsure.judges.judge_prompts import prompts_fingerprint
from howsure.judges.live_judges import LiveJudge
from howsure.judges.offline.judge import OfflineJudge
from howsure.judges.panels import PANEL as PANEL
from howsure.judges.panels import PanelJudge, PanelMember
from howsure.judges.recordings import RecordedJudge
from howsure.llm.base import LanguageModel, ModelSpec
from howsure.llm.budget import parse_budget
from howsure.llm.optional_settings import OptionalSettingsModel
from howsure.llm.specs import parse_model
from howsure.model.llm_settings import CallSettings
from howsure.model.run import ModelSpending
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.services.files import fingerprint, stored_path
from howsure.services.run.model_access import (
    RECORDED,
    JudgeSource,
    ModelAccess,
    OpenModels,
    SharedAccess,
    open_documents,
    open_model_access,
)
from howsure.services.run.participants import Candidate, resolve_candidates, simulator_model
from howsure.services.workspace import Workspace
from howsure.version import __version__

ALTERNATIVES = 5
"""Alternatives for each token: whole numbers from 1 to 5."""
WITHOUT_LOGPROBS = frozenset({"anthropic", "mistral"})
NONE = "none"
FREE_JUDGES = (OFFLINE, RECORDED)
"""Judges that need no model and cost nothing."""


class JudgeSettings(Struct, frozen=True, kw_only=True):
    """How a judge model is called, and how it is shown answers that are JSON. `rated` is for questions whose answer is
    a whole number on a scale. `optional` names settings that we add ourselves: a model that refuses one is asked
    without it, in this order."""

    settings: CallSettings = CallSettings()
    rated: CallSettings = CallSettings()
    optional: tuple[str, ...] = ()
    rendering: AnswerRendering = AnswerRendering.AS_IS


def judge_settings_for(provider: str, configured: CallSettings, votes: int = 1) -> JudgeSettings:
    """What the settings say; where they say nothing, no randomness, and the probabilities that a rating is weighed by.
    A judge that votes keeps its randomness: otherwise it would vote the same each time."""
    optional: list[str] = []
    settings = replace(configured, logprobs=None)
    count = configured.logprobs
    if count is None and provider not in WITHOUT_LOGPROBS:
        count = ALTERNATIVES
        optional.append("logprobs")
    if configured.temperature is None and votes == 1:
        settings = replace(settings, temperature=0.0)
        optional.append("temperature")
    rated = replace(settings, logprobs=count) if count else settings
    return JudgeSettings(settings=settings, rated=rated, optional=tuple(optional))


class OfflineJudgeSource:
    """The judge that needs no model."""

    pin = fingerprint([OFFLINE, __version__])
    warnings: tuple[Problem, ...] = ()

    def at(self, candidate: str, repeat: int) -> Judge:
        return OfflineJudge()


class LiveJudgeSource:
    """A model as a judge. Repeats have caches of their own: they are asked again, not copied."""

    warnings: tuple[Problem, ...] = ()

    def __init__(
        self,
        model: LanguageModel,
        settings: JudgeSettings | None = None,
        documents: Documents = NO_DOCUMENTS,
        *,
        batch: bool = False,
    ) -> None:
        self._settings = settings or JudgeSettings()
        optional = self._settings.optional
        # One model for the whole run: what it refuses is found out once.
        self._model = OptionalSettingsModel(model, optional) if optional else model
        self._documents = documents
        self._batch = batch

    @property
    def pin(self) -> str:
        """A hash of everything that shapes its replies."""
        return fingerprint([self._judge().pin, self._batch])

    def at(self, candidate: str, repeat: int) -> Judge:
        judge = self._judge(f"repeat {repeat}")
        return BatchingJudge(judge) if self._batch else judge

    def _judge(self, namespace: str = "") -> LiveJudge:
        chosen = self._settings
        return LiveJudge(
            self._model,
            "",
            namespace,
            settings=chosen.settings,
            rated=chosen.rated,
            documents=self._documents,
            rendering=chosen.rendering,
        )


class PanelMemberSource(Struct, frozen=True):
    """A member of a panel: where its judges come from, its hash, and whether it costs nothing."""

    source: JudgeSource
    pin: str
    free: bool


class PanelJudgeSource:
    """Several judges as one."""

    def __init__(self, settings: PanelSettings, seats: Mapping[str, PanelMemberSource]) -> None:
        self._seats = seats
        self._voting = VotingProcedure(
            rule=settings.rule, members=tuple(seats), votes=settings.votes, near=settings.near
        )

    @property
    def warnings(self) -> Sequence[Problem]:
        return [problem for seat in self._seats.values() for problem in seat.source.warnings]

    def at(self, candidate: str, repeat: int) -> Judge:
        members = (
            PanelMember(name, seat.source.at(candidate, repeat), seat.free) for name, seat in self._seats.items()
        )
        return PanelJudge(members, self._voting)


@asynccontextmanager
async def open_models(
    work: Workspace, request: RunRequest, *, before: ModelSpending | None = None, shared: SharedAccess | None = None
) -> AsyncIterator[OpenModels]:
    """The models that a request names. Connections are open inside this block only."""
    if request.budget:
        parse_budget(request.budget)
    settings, kind = work.settings, request.judge.partition(":")[0]
    candidates = resolve_candidates(request, work)
    target = candidates[0].target
    tested = [each.model for each in candidates if each.model]
    player = simulator_model(request.simulator, target, work.kit)
    judges = [] if kind in ("", NONE, PANEL, *FREE_JUDGES) else [request.judge]
    if kind == PANEL:
        judges = [text for text in _panel_settings(work, request).members if text.partition(":")[0] not in FREE_JUDGES]
    names = dict.fromkeys([*judges, *tested, *filter(None, [player])])
    specs = {text: parse_model(text, os.environ, work.kit.providers.by_name()) for text in names}
    how_asked = "" if target.is_recorded else _how_asked(settings, candidates)
    async with AsyncExitStack() as stack:
        if not specs:
            judged = _open_judge(work, request, specs, None)
            yield replace(judged, target_sha256=how_asked, documents=open_documents(work, request))
            return
        access = await open_model_access(work, request, tuple(specs.values()), stack, before=before, shared=shared)
        yield replace(
            _open_judge(work, request, specs, access),
            models={text: access.client.model(specs[text], settings.target_settings) for text in tested},
            target_sha256=how_asked,
            simulator=access.client.model(specs[player]) if player else None,
            documents=access.documents,
            judge_reads=bool(judges),
            spent=access.spent,
        )


def _how_asked(settings: Settings, candidates: Sequence[Candidate]) -> str:
    """A hash of what shapes the requests to live targets, besides their own settings."""
    own = [[each.name, settings.candidates[each.name]] for each in candidates if each.name in settings.candidates]
    limit = settings.document_characters
    changed = [*own, *([limit] if limit != DOCUMENT_CHARACTERS else [])]
    return fingerprint([answer_prompts_fingerprint(), settings.target_settings, settings.images, *changed])


def _open_judge(
    work: Workspace, request: RunRequest, specs: Mapping[str, ModelSpec], access: ModelAccess | None
) -> OpenModels:
    kind, _, file = request.judge.partition(":")
    if kind in ("", NONE):
        return OpenModels()
    if request.judge == OFFLINE:
        return OpenModels(judge=OFFLINE, judge_sha256=OfflineJudgeSource.pin, source=OfflineJudgeSource())
    if kind == RECORDED:
        source, sha256 = _recorded_judge(file, work.settings.panel)
        return OpenModels(judge=f"{RECORDED}:{stored_path(Path(file))}", judge_sha256=sha256, source=source)
    if kind == PANEL:
        return _open_panel(work, request, specs, access)
    assert access is not None
    live = _live_judge(work, request, specs[request.judge], access, work.settings.judge_settings)
    return OpenModels(judge=request.judge, judge_sha256=live.pin, judge_prompts=prompts_fingerprint(), source=live)


def _live_judge(
    work: Workspace, request: RunRequest, spec: ModelSpec, access: ModelAccess, configured: CallSettings, votes: int = 1
) -> LiveJudgeSource:
    rendering = work.settings.answer_rendering
    settings = replace(judge_settings_for(spec.provider, configured, votes), rendering=rendering)
    return LiveJudgeSource(access.client.model(spec), settings, access.documents, batch=request.batch_criteria)


def _recorded_judge(file: str, panel: PanelSettings | None = None) -> tuple[RecordedJudge, str]:
    if not file:
        raise PlanRefused("--judge recorded: needs a file: recorded:FILE")
    path = Path(file)
    if not path.is_file():
        raise NotFound(f"{path}: no such recording of a judge")
    return RecordedJudge.load(path, panel), digest(path)


def _open_panel(
    work: Workspace, request: RunRequest, specs: Mapping[str, ModelSpec], access: ModelAccess | None
) -> OpenModels:
    """The panel of the settings. All its live members share one client, so one cache, budget and set of connections."""
    panel = _panel_settings(work, request)
    live = {text: specs[text] for text in panel.members if text in specs}
    # A model's name is short unless two addresses serve models of one name.
    short = Counter(map(str, live.values()))
    seats: dict[str, PanelMemberSource] = {}
    for text in panel.members:
        kind, _, file = text.partition(":")
        if access is not None and (spec := live.get(text)):
            configured = panel.settings.get(text, work.settings.judge_settings)
            source = _live_judge(work, request, spec, access, configured, panel.votes)
            seats[str(spec) if short[str(spec)] == 1 else text] = PanelMemberSource(source, source.pin, free=False)
        elif kind == RECORDED:
            seats[text] = PanelMemberSource(*_recorded_judge(file), free=True)
        else:
            seats[text] = PanelMemberSource(OfflineJudgeSource(), OfflineJudgeSource.pin, free=True)
    pinned = [panel.rule, panel.votes, panel.near, *((name, seat.pin) for name, seat in seats.items())]
    return OpenModels(
        judge=panel_name(panel),
        judge_sha256=fingerprint(pinned),
        judge_prompts=prompts_fingerprint() if live else "",
        source=PanelJudgeSource(panel, seats),
    )


def panel_name(panel: PanelSettings) -> str:
    """What a run pins: `panel: majority of openai:a, openai:b, offline`."""
    votes = "" if panel.votes == 1 else f", {panel.votes} votes"
    near = "" if panel.near is None else f" within {panel.near:g} of the mark"
    return f"{PANEL}: {panel.rule.value} of {', '.join(panel.members)}{votes}{near}"


def _panel_settings(work: Workspace, request: RunRequest) -> PanelSettings:
    panel = work.settings.panel
    if panel is None:
        raise ConfigInvalid(
            f"--judge {PANEL} needs `panel:` in {FILE}, such as {{members: [openai:gpt-5, offline], rule: majority}}"
        )
    if request.judge not in (PANEL, panel_name(panel)):
        raise Conflict(f"the judge was {request.judge!r}, and {FILE} now makes it {panel_name(panel)!r}")
    return panel
