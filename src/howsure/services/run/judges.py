"""The models that a run may ask: its judge (a recording, the offline judge, a live model, a panel, or none), the models
under test, and the one that plays the user."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import ClassVar

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
from howsure.llm.budget import CommonBudget, parse_budget
from howsure.llm.client import ModelClient
from howsure.llm.optional_settings import OptionalSettingsModel
from howsure.llm.specs import parse_model
from howsure.model.llm_settings import CallSettings
from howsure.model.run import ModelSpending
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.services.files import fingerprint, stored_path
from howsure.services.run.model_access import (
    RECORDED,
    JudgeSource,
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


class LiveJudgeSource(Struct, frozen=True):
    """A model as a judge. Repeats have caches of their own: they are asked again, not copied."""

    model: LanguageModel
    settings: JudgeSettings = JudgeSettings()
    documents: Documents = NO_DOCUMENTS
    batch: bool = False
    warnings: ClassVar[tuple[Problem, ...]] = ()

    @property
    def pin(self) -> str:
        """A hash of everything that shapes its replies."""
        return fingerprint([self._judge().pin, self.batch])

    def at(self, candidate: str, repeat: int) -> Judge:
        judge = self._judge(f"repeat {repeat}")
        return BatchingJudge(judge) if self.batch else judge

    def _judge(self, namespace: str = "") -> LiveJudge:
        settings, rated, rendering = self.settings.settings, self.settings.rated, self.settings.rendering
        return LiveJudge(
            self.model, "", namespace, settings=settings, rated=rated, documents=self.documents, rendering=rendering
        )


class PinnedJudge(Struct, frozen=True):
    """Where a judge comes from, the hash that a run pins of it, and whether it costs nothing."""

    source: JudgeSource
    pin: str
    free: bool


class PanelJudgeSource(Struct, frozen=True):
    """Several judges as one."""

    seats: Mapping[str, PinnedJudge]
    voting: VotingProcedure

    @property
    def warnings(self) -> Sequence[Problem]:
        return [problem for seat in self.seats.values() for problem in seat.source.warnings]

    def at(self, candidate: str, repeat: int) -> Judge:
        seats = self.seats.items()
        members = (PanelMember(name, seat.source.at(candidate, repeat), seat.free) for name, seat in seats)
        return PanelJudge(members, self.voting)


@asynccontextmanager
async def open_models(
    work: Workspace,
    request: RunRequest,
    *,
    before: ModelSpending | None = None,
    shared: SharedAccess | None = None,
    budget: CommonBudget | None = None,
) -> AsyncIterator[OpenModels]:
    """The models that a request names. Connections are open inside this block only."""
    if request.budget:
        parse_budget(request.budget)
    settings = work.settings
    candidates = resolve_candidates(request, work)
    target = candidates[0].target
    tested = [each.model for each in candidates if each.model]
    player = simulator_model(request.simulator, target, work.kit)
    judges = list(judge_models(work, request))
    names = dict.fromkeys([*judges, *tested, *filter(None, [player])])
    specs = {text: parse_model(text, os.environ, work.kit.providers.by_name()) for text in names}
    how_asked = "" if target.is_recorded else _how_asked(settings, candidates)
    documents = open_documents(work, request)
    async with AsyncExitStack() as stack:
        if not specs:
            judged = _JudgeOpener(work, request, specs, None, documents).open()
            yield replace(judged, target_sha256=how_asked, documents=documents)
            return
        client, spent = await open_model_access(
            work, request, tuple(specs.values()), stack, before=before, shared=shared, budget=budget
        )
        yield replace(
            _JudgeOpener(work, request, specs, client, documents).open(),
            models={text: client.model(specs[text], settings.target_settings) for text in tested},
            target_sha256=how_asked,
            simulator=client.model(specs[player]) if player else None,
            documents=documents,
            judge_reads=bool(judges),
            spent=spent,
            check_budget=client.check_budget,
        )


def judge_models(work: Workspace, request: RunRequest) -> dict[str, ModelSpec]:
    """The models that judge, by the names that they are asked for; ConfigInvalid where one lacks its key or address."""
    kind = request.judge.partition(":")[0]
    named = _panel_settings(work, request).members if kind == PANEL else () if kind in ("", NONE) else (request.judge,)
    judges = [text for text in named if text != OFFLINE and text.partition(":")[0] != RECORDED]
    return {text: parse_model(text, os.environ, work.kit.providers.by_name()) for text in judges}


def _how_asked(settings: Settings, candidates: Sequence[Candidate]) -> str:
    """A hash of what shapes the requests to live targets, besides their own settings."""
    own = [[each.name, settings.candidates[each.name]] for each in candidates if each.name in settings.candidates]
    limit = settings.document_characters
    changed = [*own, *([limit] if limit != DOCUMENT_CHARACTERS else [])]
    return fingerprint([answer_prompts_fingerprint(), settings.target_settings, settings.images, *changed])


class _JudgeOpener(Struct, frozen=True):
    """Opens the judge that a request names. All live members of a panel share one client, so one cache, budget and set
    of connections; there is none where no model is asked."""

    work: Workspace
    request: RunRequest
    specs: Mapping[str, ModelSpec]
    client: ModelClient | None
    documents: Documents

    def open(self) -> OpenModels:
        text, settings = self.request.judge, self.work.settings
        kind, _, file = text.partition(":")
        if kind in ("", NONE):
            return OpenModels()
        if kind == PANEL:
            return self._panel(_panel_settings(self.work, self.request))
        if text == OFFLINE:
            return OpenModels(judge=OFFLINE, judge_sha256=OfflineJudgeSource.pin, source=OfflineJudgeSource())
        if kind == RECORDED:
            made = _recorded(file, settings.panel)
            return OpenModels(
                judge=f"{RECORDED}:{stored_path(Path(file))}",
                judge_sha256=made.pin,
                source=made.source,
                recorded_judges=getattr(made.source, "judges", ()),
            )
        made = self._live(text, settings.judge_settings)
        return OpenModels(judge=text, judge_sha256=made.pin, judge_prompts=prompts_fingerprint(), source=made.source)

    def _live(self, text: str, configured: CallSettings, votes: int = 1) -> PinnedJudge:
        assert self.client is not None
        spec, rendering = self.specs[text], self.work.settings.answer_rendering
        settings = replace(judge_settings_for(spec.provider, configured, votes), rendering=rendering)
        model: LanguageModel = self.client.model(spec)
        if settings.optional:
            # One model for the whole run: what it refuses is found out once.
            model = OptionalSettingsModel(model, settings.optional)
        source = LiveJudgeSource(model, settings, self.documents, self.request.batch_criteria)
        return PinnedJudge(source, source.pin, free=False)

    def _panel(self, panel: PanelSettings) -> OpenModels:
        live = {text: str(self.specs[text]) for text in panel.members if text in self.specs}
        # A model's name is short unless two addresses serve models of one name.
        short = Counter(live.values())
        seats: dict[str, PinnedJudge] = {}
        for text in panel.members:
            kind, _, file = text.partition(":")
            if text in live:
                configured = panel.settings.get(text, self.work.settings.judge_settings)
                seats[live[text] if short[live[text]] == 1 else text] = self._live(text, configured, panel.votes)
            elif kind == RECORDED:
                seats[text] = _recorded(file)
            else:
                seats[text] = PinnedJudge(OfflineJudgeSource(), OfflineJudgeSource.pin, free=True)
        pinned = [panel.rule, panel.votes, panel.near, *((name, seat.pin) for name, seat in seats.items())]
        voting = VotingProcedure(rule=panel.rule, members=tuple(seats), votes=panel.votes, near=panel.near)
        return OpenModels(
            judge=panel_name(panel),
            judge_sha256=fingerprint(pinned),
            judge_prompts=prompts_fingerprint() if live else "",
            source=PanelJudgeSource(seats, voting),
        )


def _recorded(file: str, panel: PanelSettings | None = None) -> PinnedJudge:
    if not file:
        raise PlanRefused("--judge recorded: needs a file: recorded:FILE")
    path = Path(file)
    if not path.is_file():
        raise NotFound(f"{path}: no such recording of a judge")
    return PinnedJudge(RecordedJudge.load(path, panel), digest(path), free=True)


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
