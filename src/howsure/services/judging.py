"""Who judges a run: a recording, the offline judge, a live model behind the one door, or nobody."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from howsure.config import FILE, PanelSettings
from howsure.dialects.finding import digest
from howsure.errors import ConfigInvalid, Conflict, NotFound, PlanRefused, Problem
from howsure.judges.answering import answering_fingerprint
from howsure.judges.base import Judge
from howsure.judges.batching import BatchingJudge
from howsure.judges.documents import Documents
from howsure.judges.guard import GuardedJudge
from howsure.judges.live import LiveJudge
from howsure.judges.offline.judge import OfflineJudge
from howsure.judges.panel import NAME as PANEL
from howsure.judges.panel import Member, PanelJudge
from howsure.judges.prompt_files import prompts_fingerprint
from howsure.judges.prompting import NO_DOCUMENTS
from howsure.judges.recorded import RecordedJudge
from howsure.judges.voting import Bench
from howsure.llm.base import LanguageModel
from howsure.llm.budget import parse_budget
from howsure.llm.lenient import Lenient
from howsure.llm.specs import ModelSpec, parse
from howsure.model.calls import CallSettings
from howsure.model.run import Spent
from howsure.services.aiming import Playing
from howsure.services.fingerprints import fingerprint
from howsure.services.manners import PLAIN, Manner, manner_of
from howsure.services.paths import stored
from howsure.services.way import Wanted as Wanted
from howsure.services.way import Way, open_way
from howsure.version import __version__

RECORDED = "recorded"
OFFLINE = "offline"
NONE = "none"
UNASKED = (OFFLINE, RECORDED)
"""Members of a panel that need no model."""


class Source(Protocol):
    """Gives every lane of a run its judge."""

    @property
    def warnings(self) -> Sequence[Problem]: ...

    def at(self, candidate: str, repeat: int) -> Judge: ...


class Offline:
    """The judge that needs no model."""

    warnings: tuple[Problem, ...] = ()

    def at(self, candidate: str, repeat: int) -> Judge:
        return OfflineJudge()


class Live:
    """A model, in the manner of a judge. Repeats have caches of their own: they are asked again, not copied."""

    warnings: tuple[Problem, ...] = ()

    def __init__(
        self,
        model: LanguageModel,
        manner: Manner = PLAIN,
        documents: Documents = NO_DOCUMENTS,
        *,
        batch: bool = False,
    ) -> None:
        # One for all lanes: what the model refuses is found out once.
        self._model = Lenient(model, manner.wished) if manner.wished else model
        self._manner = manner
        self._documents = documents
        self._batch = batch

    @property
    def pin(self) -> str:
        """Of everything that shapes its replies."""
        return fingerprint([self._judge().pin, self._batch])

    def at(self, candidate: str, repeat: int) -> Judge:
        judge = self._judge(f"repeat {repeat}")
        return GuardedJudge(BatchingJudge(judge) if self._batch else judge)

    def _judge(self, lane: str = "") -> LiveJudge:
        manner, documents = self._manner, self._documents
        return LiveJudge(self._model, "", lane, settings=manner.settings, rated=manner.rated, documents=documents)


class Seated(Struct, frozen=True):
    """A member of a panel: where its judges come from, what it is pinned by, and whether it asks no model."""

    source: Source
    pin: str
    free: bool


class Panel:
    """Several of these as one; each lane has its own of every member."""

    def __init__(self, settings: PanelSettings, members: Mapping[str, Seated]) -> None:
        self._members = members
        self._bench = Bench(rule=settings.rule, members=tuple(members), votes=settings.votes, near=settings.near)

    @property
    def warnings(self) -> Sequence[Problem]:
        return [problem for member in self._members.values() for problem in member.source.warnings]

    def at(self, candidate: str, repeat: int) -> Judge:
        members = (Member(name, each.source.at(candidate, repeat), each.free) for name, each in self._members.items())
        return PanelJudge(members, self._bench)


class Judging(Struct, frozen=True, kw_only=True):
    """The judge of a run while it runs. `spec`, `sha256` and `prompts`, the hash of the words it is asked in, are what
    the run pins; `spent` tells what it cost. `models` are those under test: `target_sha256` pins how they are asked."""

    spec: str = ""
    sha256: str = ""
    prompts: str = ""
    source: Source | None = None
    spent: Callable[[], Spent | None] = lambda: None
    models: Mapping[str, LanguageModel] = field(default_factory=dict)
    target_sha256: str = ""
    documents: Documents = NO_DOCUMENTS
    playing: Playing = Playing()

    @property
    def is_recorded(self) -> bool:
        return self.spec.startswith(f"{RECORDED}:")


@asynccontextmanager
async def judging(wanted: Wanted) -> AsyncIterator[Judging]:
    """The judge that was asked for, and the models under test. Connections are open inside this block only."""
    if wanted.budget:
        parse_budget(wanted.budget)
    async with AsyncExitStack() as stack:
        specs = {text: parse(text, os.environ) for text in _asked(wanted)}
        way = await open_way(wanted, tuple(specs.values()), stack) if specs else None
        found = _found(wanted, specs, way)
        if way is None:
            yield found
        else:
            models = {text: way.door.model(specs[text], wanted.target_settings) for text in wanted.models}
            pin = _target_pin(wanted) if models else ""
            found = replace(found, spent=way.spent, models=models, target_sha256=pin, documents=way.documents)
            yield replace(found, playing=_playing(wanted, specs, way))


def _playing(wanted: Wanted, specs: Mapping[str, ModelSpec], way: Way) -> Playing:
    if not wanted.simulator:
        return Playing()
    model = way.door.model(specs[wanted.simulator])
    return Playing(spec=wanted.simulator, model=model, settings=wanted.simulator_settings)


def _asked(wanted: Wanted) -> list[str]:
    """The models that will be asked: the judge or those on the panel, and those under test."""
    kind = wanted.judge.partition(":")[0]
    if kind == PANEL:
        judges = [text for text in _configured(wanted).members if text.partition(":")[0] not in UNASKED]
    else:
        judges = [] if kind in ("", NONE, *UNASKED) else [wanted.judge]
    return list(dict.fromkeys([*judges, *wanted.models, *filter(None, [wanted.simulator])]))


def _found(wanted: Wanted, specs: Mapping[str, ModelSpec], way: Way | None) -> Judging:
    kind, _, rest = wanted.judge.partition(":")
    if kind in ("", NONE):
        return Judging()
    if wanted.judge == OFFLINE:
        return Judging(spec=OFFLINE, sha256=_offline_pin(), source=Offline())
    if kind == RECORDED:
        source, sha256 = _recorded(rest, wanted.panel)
        return Judging(spec=f"{RECORDED}:{stored(Path(rest))}", sha256=sha256, source=source)
    if kind == PANEL:
        return _panel(wanted, specs, way)
    assert way is not None
    live = _live(wanted, specs[wanted.judge], way, wanted.judge_settings)
    return Judging(spec=wanted.judge, sha256=live.pin, prompts=prompts_fingerprint(), source=live)


def _live(wanted: Wanted, spec: ModelSpec, way: Way, given: CallSettings, votes: int = 1) -> Live:
    manner = manner_of(spec.provider, given, votes)
    return Live(way.door.model(spec), manner, way.documents, batch=wanted.batch)


def _target_pin(wanted: Wanted) -> str:
    return fingerprint([answering_fingerprint(), wanted.target_settings, wanted.images])


def _offline_pin() -> str:
    return fingerprint([OFFLINE, __version__])


def _recorded(file: str, panel: PanelSettings | None = None) -> tuple[RecordedJudge, str]:
    if not file:
        raise PlanRefused("--judge recorded: needs a file: recorded:FILE")
    path = Path(file)
    if not path.is_file():
        raise NotFound(f"{path}: no such recording of a judge")
    return RecordedJudge.load(path, panel), digest(path)


def _panel(wanted: Wanted, specs: Mapping[str, ModelSpec], way: Way | None) -> Judging:
    """The panel of the settings: one door for all its live members, so one cache, budget and set of connections."""
    settings = _configured(wanted)
    asked = {text: specs[text] for text in settings.members if text in specs}
    members = dict(_seated(wanted, settings, asked, way))
    pinned = [settings.rule, settings.votes, settings.near, *((name, each.pin) for name, each in members.items())]
    words = prompts_fingerprint() if asked else ""
    return Judging(spec=named(settings), sha256=fingerprint(pinned), prompts=words, source=Panel(settings, members))


def named(panel: PanelSettings) -> str:
    """What a run pins: `panel: majority of openai:a, openai:b, offline`."""
    votes = "" if panel.votes == 1 else f", {panel.votes} votes"
    near = "" if panel.near is None else f" within {panel.near:g} of the mark"
    return f"{PANEL}: {panel.rule.value} of {', '.join(panel.members)}{votes}{near}"


def _configured(wanted: Wanted) -> PanelSettings:
    if wanted.panel is None:
        raise ConfigInvalid(
            f"--judge {PANEL} needs `panel:` in {FILE}, such as {{members: [openai:gpt-5, offline], rule: majority}}"
        )
    if wanted.judge not in (PANEL, named(wanted.panel)):
        raise Conflict(f"the judge was {wanted.judge!r}, and {FILE} now makes it {named(wanted.panel)!r}")
    return wanted.panel


def _seated(
    wanted: Wanted, panel: PanelSettings, specs: Mapping[str, ModelSpec], way: Way | None
) -> Iterator[tuple[str, Seated]]:
    """Every member by its name: a model's is short unless two addresses serve models of one name."""
    short = Counter(map(str, specs.values()))
    for text in panel.members:
        kind, _, rest = text.partition(":")
        if way is not None and (spec := specs.get(text)):
            name = str(spec) if short[str(spec)] == 1 else text
            live = _live(wanted, spec, way, panel.settings.get(text, wanted.judge_settings), panel.votes)
            yield name, Seated(live, live.pin, free=False)
        elif kind == RECORDED:
            yield text, Seated(*_recorded(rest), free=True)
        else:
            yield text, Seated(Offline(), _offline_pin(), free=True)
