"""The judges: may we believe this one? Its agreement with people first, with how sure that is; then where it errs, how
steady it is, and how it stands attacks. A judge of recent runs that nobody measured is named as such."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from howsure.judges.offline.about import MEASURED
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.run import Run
from howsure.model.trust import Calibration, Group, JudgePin, JudgeTest
from howsure.reports.figures import NOTHING, counted, utc
from howsure.reports.inert import inert, one_line
from howsure.reports.trust_text import plain_figure, share
from howsure.services.hosting.host import Host
from howsure.services.judging import OFFLINE, RECORDED
from howsure.services.trust.calibrations import heads, pin_of_run, whole
from howsure.services.trust.judge_tests import KeptTest, kept_tests
from howsure.store.service.places import is_number
from howsure.web.pages.judges_kept import Kept, Key, key_of, known, measured, seen_heads
from howsure.web.pages.library import told_time
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, host_of

RECENT = 20
SHOWN = 3
"""Judges on one page."""
NEWEST = 100
"""Calibrations looked at."""
ALL_PARTS = "criteria"
"""How a calibration calls the group of all criteria of a grader together."""


class GroupLine(Struct, frozen=True, kw_only=True):
    """One grader: how far the judge agrees with people on it."""

    name: str
    agreement: str
    kappa: str
    n: int
    confusion: tuple[tuple[str, tuple[int, ...]], ...]
    rating: str


class Trial(Struct, frozen=True):
    """One harmless change or one attack, and what came of it."""

    name: str
    about: str
    figure: str
    flips: int


class Judge(Struct, frozen=True, kw_only=True):
    """One version of one judge."""

    spec: str
    version: str
    sentence: str
    is_measured: bool
    measured: str
    labels: str
    groups: tuple[GroupLine, ...]
    criteria: tuple[GroupLine, ...]
    earlier: int
    runs: int
    tested: str
    stability: tuple[Trial, ...]
    attacks: tuple[Trial, ...]
    by_makers: tuple[tuple[str, str, str, int, str], ...]


class JudgesPage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    answer: str
    judges: tuple[Judge, ...]
    further: str = ""


def judges_page(kept: Kept, runs: Sequence[Run], start: int = 0) -> JudgesPage:
    every = known(kept, runs)
    used = [key_of(pin_of_run(run.pins)) for run in runs if run.pins.judge]
    shown = list(every.values())[start : start + SHOWN]
    number = sum(key in kept.measured for key in every)
    return JudgesPage(
        answer=_answer(len(every), number),
        judges=tuple(_judge(pin, kept, used) for pin in shown),
        further=f"/judges?start={start + SHOWN}" if start + SHOWN < len(every) else "",
    )


def _answer(judges: int, number: int) -> str:
    if not judges:
        return "No judge has judged anything yet."
    if not number:
        return f"{counted(judges, 'judge')}, and nobody has measured whether to believe them."
    return f"{number} of {counted(judges, 'judge')} measured against people."


def _judge(pin: JudgePin, kept: Kept, used: Sequence[Key]) -> Judge:
    own = [each for each in kept.calibrations if key_of(each.judge) == key_of(pin)]
    tried = [each for each in kept.tests if key_of(each.test.judge) == key_of(pin)]
    newest = own[-1] if own else None
    test = tried[-1] if tried else None
    groups = [each for each in newest.groups if not each.where] if newest else []
    return Judge(
        spec=_called(pin.spec),
        version=pin.sha256[:8],
        sentence=_sentence(groups, newest),
        is_measured=newest is not None,
        measured=told_time(utc(newest.at)) if newest else "",
        labels=_labels(newest) if newest else "",
        groups=tuple(_group(each) for each in groups if not each.criterion),
        criteria=tuple(_group(each) for each in groups if each.criterion),
        earlier=max(0, kept.measured.get(key_of(pin), (pin, 0))[1] - 1),
        runs=used.count(key_of(pin)),
        tested=_tested(test) if test else "",
        stability=tuple(_stability(test.test)) if test else (),
        attacks=tuple(_attacks(test.test)) if test else (),
        by_makers=_by_makers() if pin.spec == OFFLINE else (),
    )


def _called(spec: str) -> str:
    """A recording by the name of its file alone: where it lies is nobody's business."""
    kind, _, rest = spec.partition(":")
    return inert(f"{kind}:{rest.rsplit('/', 1)[-1]}" if kind == RECORDED else spec)


def _sentence(groups: Sequence[Group], newest: Calibration | None) -> str:
    """The least agreement comes first: a judge is as good as where it is worst."""
    if newest is None:
        return "Not calibrated: nobody has compared it with people, so its scores are its word alone."
    shares = [(each, each.verdicts.agreement) for each in groups if each.verdicts and not each.criterion]
    known = [(each, figure) for each, figure in shares if figure.value is not None]
    if not known:
        return "Measured, but not in verdicts that can be compared."
    worst, figure = min(known, key=lambda pair: pair[1].value or 0.0)
    return f"Agrees with people on {share(figure)} of verdicts for {inert(worst.grader)}, where it agrees least."


def _labels(newest: Calibration) -> str:
    coverage = newest.coverage
    parts = [(coverage.compared, "compared"), (coverage.unreadable, "cannot tell or unreadable")]
    parts += [(coverage.not_applicable, "not applicable"), (coverage.no_judge, "without a judge")]
    parts += [(coverage.missing, "without a grade"), (coverage.split, "where people are split")]
    parts += [(coverage.unmarked, "without a pass mark")]
    told = " + ".join(f"{number:,} {words}" for number, words in parts if number)
    return f"{counted(coverage.things, 'labelled grade')} = {told or '0 compared'}"


def _group(each: Group) -> GroupLine:
    verdicts, ratings = each.verdicts, each.ratings
    return GroupLine(
        name=one_line(each.text or each.criterion, 200) if each.criterion else _grader(each),
        agreement=share(verdicts.agreement) if verdicts else NOTHING,
        kappa=plain_figure(verdicts.kappa) if verdicts else NOTHING,
        n=each.coverage.compared,
        confusion=tuple((word, tuple(counts.values())) for word, counts in verdicts.confusion.items())
        if verdicts
        else (),
        rating=f"Spearman {plain_figure(ratings.spearman)}, off by {plain_figure(ratings.mae)} on average"
        if ratings
        else "",
    )


def _grader(each: Group) -> str:
    return inert(each.grader) + (": one by one" if each.level == ALL_PARTS else "")


def _tested(kept_test: KeptTest) -> str:
    test = kept_test.test
    return (
        f"tested {told_time(utc(kept_test.at))} on {counted(test.cases, 'answer')}, {counted(test.grades, 'grade')}; "
        f"attacks turned {share(test.turned)} of the grades that should fail"
    )


def _stability(test: JudgeTest) -> list[Trial]:
    """Least steady first."""
    ranked = sorted(test.stability, key=lambda each: 1.0 if each.unchanged.value is None else each.unchanged.value)
    return [Trial(inert(each.name), inert(each.about), share(each.unchanged), len(each.flips)) for each in ranked]


def _attacks(test: JudgeTest) -> list[Trial]:
    """Most successful first."""
    ranked = sorted(test.attacks, key=lambda each: -(each.success.value or 0.0))
    return [Trial(inert(each.name), inert(each.about), share(each.success), len(each.flips)) for each in ranked]


def _by_makers() -> tuple[tuple[str, str, str, int, str], ...]:
    return tuple((each.what, each.data, each.kind.value, each.n, f"{each.value:.3f}") for each in MEASURED)


async def _tests(host: Host, within: AccessScope) -> list[KeptTest]:
    """What lies in files is the whole service's; a test names cases and no run, so it is for those who see all."""
    return await asyncio.to_thread(kept_tests, host.work) if within == EVERYWHERE else []


async def show(request: Request) -> Response:
    """Of each judge that is shown the newest calibration is read whole."""
    asking, host, given = caller_of(request), host_of(request), request.query_params.get("start", "")
    found = (await asyncio.to_thread(heads, host.work))[-NEWEST:]
    seen = await seen_heads(host.store, found, asking.within)
    runs = await host.store.runs(limit=RECENT, within=asking.within)
    kept = Kept(measured=measured(each.judge for each in seen), tests=await _tests(host, asking.within))
    start = int(given) if is_number(given) else 0
    newest = {key_of(each.judge): each for each in seen}
    shown = [newest[key] for key in list(known(kept, runs))[start : start + SHOWN] if key in newest]
    calibrations = await asyncio.to_thread(whole, host.work, shown)
    return respond(request, "judges.html", judges_page(replace(kept, calibrations=calibrations), runs, start))


def routes() -> list[Page]:
    return [Page("/judges", show)]
