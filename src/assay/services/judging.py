"""Who judges a run: a recording, the offline judge, a live model behind the one door, or nobody."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from assay.config import FILE, PanelSettings
from assay.dialects.finding import digest
from assay.errors import ConfigInvalid, Conflict, NotFound, PlanRefused, Problem
from assay.judges.base import Judge
from assay.judges.documents import Documents
from assay.judges.guard import GuardedJudge
from assay.judges.live import LiveJudge
from assay.judges.offline.judge import OfflineJudge
from assay.judges.panel import NAME as PANEL
from assay.judges.panel import Member, PanelJudge
from assay.judges.prompt_files import prompts_fingerprint
from assay.judges.prompting import NO_DOCUMENTS
from assay.judges.recorded import RecordedJudge
from assay.judges.voting import Bench
from assay.llm.base import Cache, LanguageModel
from assay.llm.budget import Spending, check_priced, parse_budget
from assay.llm.budget import Spent as Booked
from assay.llm.cache import NoCache
from assay.llm.costs import priced
from assay.llm.door import ATTEMPT_SECONDS, Door, Fittings, Habits
from assay.llm.specs import ModelSpec, parse
from assay.llm.tracing import to_file
from assay.model.run import Spent
from assay.prices.table import PriceTable
from assay.services.fingerprints import fingerprint
from assay.services.paths import stored
from assay.store.replies import ReplyCache
from assay.version import __version__

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
    """A model. Repeats have caches of their own: they are asked again, not copied."""

    warnings: tuple[Problem, ...] = ()

    def __init__(self, model: LanguageModel, documents: Documents = NO_DOCUMENTS) -> None:
        self._model = model
        self._documents = documents

    def at(self, candidate: str, repeat: int) -> Judge:
        lane = f"repeat {repeat}"
        return GuardedJudge(LiveJudge(self._model, self._model.name, namespace=lane, documents=self._documents))


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


class Wanted(Struct, frozen=True, kw_only=True):
    """What the options say of judging. `models` are those under test; attachments are looked for in `folders`."""

    judge: str
    concurrency: int = 8
    cache: Path | None = None
    trace: Path | None = None
    budget: str = ""
    before: Spent | None = None
    prices: PriceTable | None = None
    panel: PanelSettings | None = None
    models: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    attempt_seconds: float = ATTEMPT_SECONDS


class Judging(Struct, frozen=True, kw_only=True):
    """The judge of a run while it runs. `spec` and `sha256` are what the run pins; `spent` tells what it cost."""

    spec: str = ""
    sha256: str = ""
    source: Source | None = None
    spent: Callable[[], Spent | None] = lambda: None
    models: Mapping[str, LanguageModel] = field(default_factory=dict)

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
        way = await _way(wanted, tuple(specs.values()), stack) if specs else None
        found = _found(wanted, specs, way)
        if way is None:
            yield found
        else:
            models = {text: way.door.model(specs[text]) for text in wanted.models}
            yield replace(found, spent=way.spent, models=models)


def _asked(wanted: Wanted) -> list[str]:
    """The models that will be asked: the judge or those on the panel, and those under test."""
    kind = wanted.judge.partition(":")[0]
    if kind == PANEL:
        judges = [text for text in _configured(wanted).members if text.partition(":")[0] not in UNASKED]
    else:
        judges = [] if kind in ("", NONE, *UNASKED) else [wanted.judge]
    return list(dict.fromkeys([*judges, *wanted.models]))


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
    spec = specs[wanted.judge]
    assert way is not None
    return Judging(spec=wanted.judge, sha256=_live_pin(spec), source=Live(way.door.model(spec), way.documents))


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
    members = dict(_seated(settings.members, asked, way))
    pinned = [settings.rule, settings.votes, settings.near, *((name, each.pin) for name, each in members.items())]
    return Judging(spec=named(settings), sha256=fingerprint(pinned), source=Panel(settings, members))


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


def _seated(texts: Sequence[str], specs: Mapping[str, ModelSpec], way: Way | None) -> Iterator[tuple[str, Seated]]:
    """Every member by its name: a model's is short unless two addresses serve models of one name."""
    short = Counter(map(str, specs.values()))
    for text in texts:
        kind, _, rest = text.partition(":")
        if way is not None and (spec := specs.get(text)):
            name = str(spec) if short[str(spec)] == 1 else text
            yield name, Seated(Live(way.door.model(spec), way.documents), _live_pin(spec), free=False)
        elif kind == RECORDED:
            yield text, Seated(*_recorded(rest), free=True)
        else:
            yield text, Seated(Offline(), _offline_pin(), free=True)


class Way(Struct, frozen=True):
    """The open door, and what went through it."""

    door: Door
    spent: Callable[[], Spent]
    documents: Documents


def _live_pin(spec: ModelSpec) -> str:
    return fingerprint([str(spec), prompts_fingerprint()])


async def _way(wanted: Wanted, specs: Sequence[ModelSpec], stack: AsyncExitStack) -> Way:
    spending = _spending(wanted, specs)
    cache: Cache = NoCache()
    if wanted.cache is not None:
        cache = await stack.enter_async_context(ReplyCache.open(wanted.cache))
    fittings = Fittings(
        cache=cache,
        budget=spending,
        prices=wanted.prices,
        trace=None if wanted.trace is None else to_file(stack.enter_context(_opened(wanted.trace))),
    )
    # The HTTP client takes a quarter of a second to import: only runs that ask a model pay for it.
    opening = import_module("assay.llm.opening")
    door: Door = await stack.enter_async_context(opening.open_door(os.environ, _habits(wanted), fittings))
    return Way(door, lambda: _spent(door, wanted, spending), Documents(wanted.folders))


def _habits(wanted: Wanted) -> Habits:
    return Habits(concurrency=wanted.concurrency, attempt_seconds=wanted.attempt_seconds)


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("ab")
    except OSError as error:
        raise ConfigInvalid(f"--trace {path}: cannot be written: {error.strerror}") from error


def _spending(wanted: Wanted, specs: Sequence[ModelSpec]) -> Spending | None:
    if not wanted.budget:
        return None
    allowance = parse_budget(wanted.budget)
    check_priced(allowance, priced(specs, wanted.prices or PriceTable.load()))
    before = wanted.before or Spent()
    return Spending(allowance, time.monotonic, Booked(usd=before.usd, tokens=before.tokens, seconds=before.seconds))


def _spent(door: Door, wanted: Wanted, spending: Spending | None) -> Spent:
    """What the run has cost, with what it had cost before it was resumed."""
    before, now = wanted.before or Spent(), door.total
    return Spent(
        usd=before.usd + now.cost_usd,
        tokens=before.tokens + now.prompt_tokens + now.completion_tokens + now.thinking_tokens,
        seconds=spending.spent.seconds if spending else before.seconds,
        calls=before.calls + now.answered,
        cached=before.cached + now.cached,
        unpriced=before.unpriced + now.unpriced,
    )
