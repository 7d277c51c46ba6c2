"""`howsure rank`: orders the candidates of stored runs, with intervals of their ranks: from pairs that a judge
compared, if there are any, else from verdicts or the values of a grader, where the better of two results of a case
wins. Loads numpy and scipy: imported only when needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct

from howsure.errors import NotFound, PlanRefused
from howsure.judges.pairwise import AnswerOrder, Pick, PickedPosition, Preference
from howsure.model.comparison import Side
from howsure.model.leaderboard import Leaderboard, PairJudgement, RankedCandidate
from howsure.model.score import Direction
from howsure.reports.figures import pluralize
from howsure.services.compare.pairs import RunColumns, grade_means, side_columns, verdict_means
from howsure.services.judge.pairs import RankedSide, choose_candidates, read_judgements
from howsure.services.workspace import Workspace
from howsure.stats.rankings import Comparisons, StrengthModel, bradley_terry, rank_intervals, value_interval
from howsure.store.store import Store

PAIRS, VERDICT = "pairs", "verdict"
_OUTCOMES = {Preference.A: 1.0, Preference.B: 0.0}


class RankRequest(Struct, frozen=True, kw_only=True):
    """Which candidates of which runs. `by` "": pairs if a judge compared some, else verdicts. `judge`: the judge whose
    pairs count, if there are several."""

    runs: tuple[str, ...]
    candidates: tuple[str, ...] = ()
    by: str = ""
    judge: str = ""
    confidence: float = 0.95


class _Meeting(Struct, frozen=True):
    """Two candidates compared on a case. `shown` is 1 if the first was shown first, -1 if it was shown second, 0 if
    neither; `longer` is the logarithm of the ratio of their lengths."""

    case_id: str
    first: int
    second: int
    outcome: float
    shown: int = 0
    longer: float = 0.0


async def rank_candidates(work: Workspace, request: RankRequest) -> Leaderboard:
    """The leaderboard; `PlanRefused` if the candidates cannot be ordered."""
    if not 0.5 < request.confidence < 1:
        raise PlanRefused(f"--confidence lies between 0.5 and 1, such as 0.95, not {request.confidence:g}")
    async with await work.store(read_only=True) as store:
        sides = await choose_candidates(store, request.runs, request.candidates)
        notes: list[str] = []
        judged = read_judgements(work, sides, request.judge) if request.by in ("", PAIRS) else []
        if request.by == PAIRS and not judged:
            raise PlanRefused("no judge compared these candidates yet: `howsure judge pairs RUN... --judge SPEC`")
        if judged:
            meetings = list(_judged_meetings(judged, sides))
        else:
            changed = await _changed_cases(store, sides)
            if changed:
                notes.append(f"{pluralize(len(changed), 'case')} left out: not the same in all runs")
            values = await case_values(store, sides, request.by)
            meetings = list(_meetings(values, changed))
    by = PAIRS if judged else request.by or VERDICT
    return _leaderboard(sides, meetings, by, judged[0].judge if judged else "", request.confidence, notes)


def _judged_meetings(judged: Iterable[PairJudgement], sides: Sequence[RankedSide]) -> Iterable[_Meeting]:
    places = {side.source: place for place, side in enumerate(sides)}
    for each in judged:
        longer = float(np.log((each.lengths[0] + 1) / (each.lengths[1] + 1)))
        meant = [
            (1 if order == AnswerOrder.AB.value else -1, Pick(place=PickedPosition(pick)).meant(AnswerOrder(order)))
            for order, pick in each.picks.items()
        ]
        # If no judge was asked, or a panel voted, the preference counts as much as two orders do.
        for shown, preference in meant or [(0, Preference(each.preference))] * 2:
            outcome = _OUTCOMES.get(preference, 0.5)
            yield _Meeting(each.case_id, places[each.first], places[each.second], outcome, shown, longer)


async def _changed_cases(store: Store, sides: Sequence[RankedSide]) -> set[str]:
    """The cases that are not the same in all runs."""
    runs = list(dict.fromkeys(side.run.id for side in sides))
    pairs = [await store.changed_cases(runs[0], other) for other in runs[1:]]
    return {before.id for pair in pairs for before, _ in pair}


async def case_values(store: Store, sides: Sequence[RankedSide], grader: str) -> list[Mapping[str, float]]:
    """The value of each candidate on each case: the mean over its repeats, negated if less is better."""
    found: list[Mapping[str, float]] = []
    for side in sides:
        attempts, measured = await store.columns(side.run.id)
        columns = RunColumns(run=side.run, attempts=attempts, measured=measured, faces={})
        own = side_columns(columns, Side(name="", run_id=side.run.id, run_name="", candidate=side.candidate))
        means, sign = verdict_means(own), 1.0
        if grader not in ("", VERDICT):
            if (grader, None) not in own.measured:
                names = sorted(name for name, part in own.measured if part is None)
                raise NotFound(f"{side.name!r} has no grader {grader!r}; it has {', '.join(names) or 'none'}")
            means = grade_means(own, [(grader, None)])
            sign = -1.0 if own.measured[grader, None].direction is Direction.LOWER else 1.0
        known = ((place, key) for place, key in enumerate(own.keys) if means.known[place])
        found.append({key: sign * means.sums[place] / means.counts[place] for place, key in known})
    return found


def _meetings(values: Sequence[Mapping[str, float]], changed: set[str]) -> Iterable[_Meeting]:
    for first, second in combinations(range(len(values)), 2):
        for case, one in values[first].items():
            if case in values[second] and case not in changed:
                yield _Meeting(case, first, second, float(np.sign(one - values[second][case]) + 1) / 2)


def _fit(sides: int, meetings: Sequence[_Meeting], names: Sequence[str]) -> StrengthModel | None:
    """The model, with these fields of the meetings as controls."""
    cases = {case: place for place, case in enumerate(dict.fromkeys(each.case_id for each in meetings))}
    return bradley_terry(
        sides,
        Comparisons(
            first=np.array([each.first for each in meetings], np.int64),
            second=np.array([each.second for each in meetings], np.int64),
            outcome=np.array([each.outcome for each in meetings]),
            cluster=np.array([cases[each.case_id] for each in meetings], np.int64),
            controls=np.array([[getattr(each, name) for name in names] for each in meetings], float).reshape(
                len(meetings), len(names)
            ),
        ),
    )


def _leaderboard(
    sides: Sequence[RankedSide],
    meetings: Sequence[_Meeting],
    by: str,
    judge: str,
    confidence: float,
    notes: Sequence[str],
) -> Leaderboard:
    used = ["shown"] if any(each.shown for each in meetings) else []
    model = _fit(len(sides), meetings, used)
    if model is None:
        raise PlanRefused(
            "the candidates cannot be put in one order: some share no case with the others, not even through a third"
        )
    long = _fit(len(sides), meetings, [*used, "longer"]) if any(each.longer for each in meetings) else None
    ranks = rank_intervals(model, confidence)
    equal = rank_intervals(long, confidence) if long else None
    order = sorted(range(len(sides)), key=lambda place: (-model.strengths[place], sides[place].name))
    place_of_length = len(sides) + len(used)
    return Leaderboard(
        by=by,
        judge=judge,
        cases=len({each.case_id for each in meetings}),
        comparisons=len(meetings),
        confidence=confidence,
        candidates=tuple(
            RankedCandidate(
                name=sides[place].name,
                source=sides[place].source,
                strength=float(model.strengths[place]),
                interval=value_interval(model, place, confidence),
                ranks=ranks[place],
                ranks_at_equal_length=equal[place] if equal else None,
                **_record(meetings, place),
            )
            for place in order
        ),
        tie_share=sum(each.outcome == 0.5 for each in meetings) / len(meetings),
        first_effect=float(model.effects[0]) if used else None,
        first_interval=value_interval(model, len(sides), confidence) if used else None,
        length_effect=float(long.effects[-1]) if long else None,
        length_interval=value_interval(long, place_of_length, confidence) if long else None,
        notes=(*notes, *_notes(model, meetings)),
    )


def _record(meetings: Sequence[_Meeting], place: int) -> dict[str, int]:
    met = (each for each in meetings if place in (each.first, each.second))
    own = [each.outcome if each.first == place else 1 - each.outcome for each in met]
    return {"won": own.count(1.0), "tied": own.count(0.5), "lost": own.count(0.0)}


def _notes(model: StrengthModel, meetings: Sequence[_Meeting]) -> Iterable[str]:
    if model.covariance is None:
        cases = len({each.case_id for each in meetings})
        yield f"{pluralize(cases, 'case')} are too few to tell how sure the order is"
    if model.bounded:
        yield "some candidate never lost, or never won, so strengths have no natural end: half a win each way is added"
