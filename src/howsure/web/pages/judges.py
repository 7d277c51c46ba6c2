"""The judges: how far each agrees with people, with intervals; where it errs, how stable it is, and how it withstands
attacks. A judge of recent runs that nobody measured is shown as such."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import NotFound
from howsure.judges.offline.opinions import MEASURED
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.calibration import AgreementGroup, AttackOutcome, Calibration, Figure, JudgePin, Stability
from howsure.model.run import Run
from howsure.model.run_request import OFFLINE
from howsure.reports.figures import NOTHING, pluralize, short_time
from howsure.reports.headlines import grader_name
from howsure.reports.judge_reports import figure_percent, figure_text, kappa_text, not_compared_parts
from howsure.reports.run_facts import without_folders
from howsure.reports.safe_text import make_inert, one_line
from howsure.services.judge.judge_records import (
    JUDGE_TESTS,
    CalibrationHead,
    SavedJudgeTest,
    load_calibrations,
    read_heads,
    run_judge_pin,
)
from howsure.store.store import Store
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, host_of, number_in_query, run_views_of

JudgeKey = tuple[str, str]
RECENT_RUNS = 20
JUDGES_PER_PAGE = 3
CALIBRATIONS_READ = 100
ALL_PARTS = "criteria"
"""The level of a calibration group that holds all criteria of a grader."""


class JudgeRecords(Struct, frozen=True, kw_only=True):
    """What is known about judges. `measured` holds each calibrated judge, the latest first, with its number of
    calibrations; `calibrations` holds the newest one of each judge on the page."""

    measured: Mapping[JudgeKey, tuple[JudgePin, int]] = {}
    calibrations: Sequence[Calibration] = ()
    tests: Sequence[SavedJudgeTest] = ()


def count_calibrations(pins: Iterable[JudgePin]) -> dict[JudgeKey, tuple[JudgePin, int]]:
    """Each judge with its number of calibrations, the latest first; `pins` come oldest first."""
    found: dict[JudgeKey, tuple[JudgePin, int]] = {}
    for pin in pins:
        found[judge_key(pin)] = (pin, found.pop(judge_key(pin), (pin, 0))[1] + 1)
    return dict(reversed(found.items()))


def known_judges(records: JudgeRecords, runs: Sequence[Run]) -> dict[JudgeKey, JudgePin]:
    """The judges of recent runs first, then others that were measured or tested."""
    used = [run_judge_pin(run.pins) for run in runs if run.pins.request.judge]
    found: dict[JudgeKey, JudgePin] = {}
    measured = [pin for pin, _ in records.measured.values()]
    for pin in (*used, *measured, *(each.test.judge for each in records.tests[::-1])):
        found.setdefault(judge_key(pin), pin)
    return found


def judge_key(pin: JudgePin) -> JudgeKey:
    return pin.spec, pin.sha256


async def visible_heads(store: Store, heads: Sequence[CalibrationHead], within: AccessScope) -> list[CalibrationHead]:
    """The calibrations of runs that the caller may see."""
    if within == EVERYWHERE:
        return list(heads)
    visible = set()
    for run_id in {head.run for head in heads}:
        with suppress(NotFound):
            await store.run(run_id, within)
            visible.add(run_id)
    return [head for head in heads if head.run in visible]


class JudgeAgreementLine(Struct, frozen=True, kw_only=True):
    """The agreement of a judge with people on one grader."""

    name: str
    agreement: str
    kappa: str
    n: int
    confusion: tuple[tuple[str, tuple[int, ...]], ...]
    rating: str


class TrialLine(Struct, frozen=True):
    """One harmless change or one attack, and its effect."""

    name: str
    about: str
    figure: str
    flips: int


class JudgeLine(Struct, frozen=True, kw_only=True):
    """One version of one judge."""

    spec: str
    version: str
    seen_in: str
    sentence: str
    is_measured: bool
    measured: str
    labels: str
    groups: tuple[JudgeAgreementLine, ...]
    criteria: tuple[JudgeAgreementLine, ...]
    earlier: int
    runs: int
    tested: str
    stability: tuple[TrialLine, ...]
    attacks: tuple[TrialLine, ...]
    by_makers: tuple[tuple[str, str, str, int, str], ...]


class JudgesPage(Struct, frozen=True, kw_only=True):
    answer: str
    judges: tuple[JudgeLine, ...]
    further: str = ""


def judges_page(records: JudgeRecords, runs: Sequence[Run], start: int = 0) -> JudgesPage:
    every = known_judges(records, runs)
    used: dict[JudgeKey, list[str]] = {}
    for run in runs:
        used.setdefault(judge_key(run_judge_pin(run.pins)), []).append(run.name or run.id[:8])
    shown = list(every.values())[start : start + JUDGES_PER_PAGE]
    number, judges = sum(key in records.measured for key in every), pluralize(len(every), "judge")
    answer = f"{number} of {judges} measured against people."
    if not number:
        answer = f"{judges}: how far to trust {'it' if len(every) == 1 else 'them'} has not been measured."
    return JudgesPage(
        answer=answer if every else "No judge has judged anything yet.",
        judges=tuple(_judge_line(pin, records, used) for pin in shown),
        further=f"/judges?start={start + JUDGES_PER_PAGE}" if start + JUDGES_PER_PAGE < len(every) else "",
    )


def _judge_line(pin: JudgePin, records: JudgeRecords, used: Mapping[JudgeKey, Sequence[str]]) -> JudgeLine:
    """`used`: the names of the runs that each judge judged, the newest first."""
    own = [each for each in records.calibrations if judge_key(each.judge) == judge_key(pin)]
    tried = [each for each in records.tests if judge_key(each.test.judge) == judge_key(pin)]
    newest = own[-1] if own else None
    test = tried[-1] if tried else None
    groups = [each for each in newest.groups if not each.where] if newest else []
    # The least stable and the most successful first.
    stability = sorted(
        test.test.stability if test else (),
        key=lambda each: 1.0 if each.unchanged.value is None else each.unchanged.value,
    )
    attacks = sorted(test.test.attacks if test else (), key=lambda each: -(each.success.value or 0.0))
    return JudgeLine(
        spec=make_inert(without_folders(pin.spec)),
        version=pin.sha256[:8],
        seen_in=make_inert(used.get(judge_key(pin), [""])[0]),
        sentence=_sentence(groups, newest),
        is_measured=newest is not None,
        measured=short_time(newest.at) if newest else "",
        labels=_label_coverage(newest) if newest else "",
        groups=tuple(_agreement_line(each) for each in groups if not each.criterion),
        criteria=tuple(_agreement_line(each) for each in groups if each.criterion),
        earlier=max(0, records.measured.get(judge_key(pin), (pin, 0))[1] - 1),
        runs=len(used.get(judge_key(pin), ())),
        tested=_describe_test(test) if test else "",
        stability=tuple(_trial(each, each.unchanged) for each in stability),
        attacks=tuple(_trial(each, each.success) for each in attacks),
        by_makers=tuple(
            (each.what, each.data, each.kind.value, each.n, f"{each.value:.3f}")
            for each in (MEASURED if pin.spec == OFFLINE else ())
        ),
    )


def _sentence(groups: Sequence[AgreementGroup], newest: Calibration | None) -> str:
    """The grader with the least agreement decides: a judge is as good as its worst grader."""
    if newest is None:
        return (
            "Not calibrated: it has not been compared with people, so nothing shows how far its scores can be trusted."
        )
    shares = [(each, each.verdicts.agreement) for each in groups if each.verdicts and not each.criterion]
    known = [(each, figure) for each, figure in shares if figure.value is not None]
    if not known:
        return "Measured, but not in verdicts that can be compared."
    worst, figure = min(known, key=lambda pair: pair[1].value or 0.0)
    share, grader = figure_percent(figure), make_inert(grader_name(worst.grader))
    return f"Agrees with people on {share} of verdicts for {grader}, where it agrees least."


def _label_coverage(newest: Calibration) -> str:
    coverage = newest.coverage
    compared = [f"{coverage.compared:,} compared"] if coverage.compared else []
    summands = " + ".join([*compared, *not_compared_parts(coverage)]) or "0 compared"
    return f"{pluralize(coverage.things, 'labelled grade')} = {summands}"


def _agreement_line(each: AgreementGroup) -> JudgeAgreementLine:
    verdicts, ratings = each.verdicts, each.ratings
    grader = make_inert(grader_name(each.grader)) + (": one by one" if each.level == ALL_PARTS else "")
    return JudgeAgreementLine(
        name=one_line(each.text or each.criterion, 200) if each.criterion else grader,
        agreement=figure_percent(verdicts.agreement) if verdicts else NOTHING,
        kappa=kappa_text(verdicts) if verdicts else NOTHING,
        n=each.coverage.compared,
        confusion=tuple((word, tuple(counts.values())) for word, counts in verdicts.confusion.items())
        if verdicts
        else (),
        rating=f"Spearman {figure_text(ratings.spearman)}, off by {figure_text(ratings.mae)} on average"
        if ratings
        else "",
    )


def _describe_test(saved: SavedJudgeTest) -> str:
    test = saved.test
    size = f"{pluralize(test.cases, 'answer')}, {pluralize(test.grades, 'grade')}"
    return (
        f"tested {short_time(saved.at)} on {size}; "
        f"attacks turned {figure_percent(test.turned)} of the grades that should fail"
    )


def _trial(each: Stability | AttackOutcome, share: Figure) -> TrialLine:
    return TrialLine(make_inert(each.name), make_inert(each.about), figure_percent(share), len(each.flips))


async def show(request: Request) -> Response:
    caller, host, start = caller_of(request), host_of(request), number_in_query(request, "start")
    heads = (await asyncio.to_thread(read_heads, host.work))[-CALIBRATIONS_READ:]
    visible = await visible_heads(host.store, heads, caller.within)
    runs = await run_views_of(request).judged_runs(await host.store.runs(limit=RECENT_RUNS, within=caller.within))
    # Saved tests name cases and no run, so only callers who may see everything get them.
    tests = await asyncio.to_thread(JUDGE_TESTS.read_all, host.work) if caller.within == EVERYWHERE else []
    records = JudgeRecords(measured=count_calibrations(head.judge for head in visible), tests=tests)
    newest = {judge_key(head.judge): head for head in visible}
    page = list(known_judges(records, runs))[start : start + JUDGES_PER_PAGE]
    shown = [newest[key] for key in page if key in newest]
    calibrations = await asyncio.to_thread(load_calibrations, host.work, shown)
    return respond(request, "judges.html", judges_page(replace(records, calibrations=calibrations), runs, start))


ROUTES = [PageRoute("/judges", show)]
