"""Which sides are compared: runs by the candidates they share, two candidates or two groups of one run."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import NotFound, PlanRefused
from howsure.model.comparison import Side
from howsure.reports.figures import counted
from howsure.services.comparison.halves import RunColumns

LISTED = 8


class Wanted(Struct, frozen=True, kw_only=True):
    """What to compare. Several runs: each with the first; `by` are labels to slice by. One run: two of its candidates
    (`candidates`), or, with `pair`, the cases of each value of the label `by` paired by the label `pair`, each value
    against `base` (without: the first there is).

    `cluster` None: what the datasets suggest; "": none. `margin` is the share of a scale below which a difference
    counts as none.
    """

    runs: tuple[str, ...]
    by: tuple[str, ...] = ()
    pair: str = ""
    base: str = ""
    candidates: tuple[tuple[str, str], ...] = ()
    cluster: str | None = None
    margin: float = 0.05
    confidence: float = 0.95

    @property
    def grouped(self) -> bool:
        return bool(self.pair)


class Versus(Struct, frozen=True, kw_only=True):
    """Two sides to compare, each with the place of its run."""

    first: tuple[int, Side]
    second: tuple[int, Side]


class Sides(Struct, frozen=True, kw_only=True):
    """All there is to compare; `left_out` says what is not, and why."""

    versus: tuple[Versus, ...]
    left_out: tuple[str, ...] = ()


def check(wanted: Wanted) -> None:
    """Refuse what cannot be compared before anything is read."""
    if not 0 <= wanted.margin < 1:
        raise PlanRefused(f"--margin is a share of the scale, such as 0.05, not {wanted.margin:g}")
    if not 0.5 < wanted.confidence < 1:
        raise PlanRefused(f"--confidence lies between 0.5 and 1, such as 0.95, not {wanted.confidence:g}")
    if wanted.grouped and (len(wanted.runs) != 1 or len(wanted.by) != 1):
        raise PlanRefused("--pair compares groups inside one run: name one RUN and one --by LABEL")
    if len(wanted.runs) == 1 and not wanted.grouped and not wanted.candidates:
        raise PlanRefused(
            "one run alone has nothing to be compared with: name a second RUN, two of its candidates "
            "(--candidate A=B), or two groups of its cases (--by LABEL --pair LABEL)"
        )
    if wanted.base and not wanted.grouped:
        raise PlanRefused("--base names the group to start from: it goes with --by and --pair")


def sides(runs: Sequence[RunColumns], wanted: Wanted) -> Sides:
    if wanted.grouped:
        return _groups(runs[0], wanted)
    if len(runs) == 1:
        found = [_candidates(0, runs[0], 0, runs[0], wanted)]
    else:
        found = [_candidates(0, runs[0], place, run, wanted) for place, run in enumerate(runs) if place]
    return Sides(
        versus=_named([each for one in found for each in one.versus]),
        left_out=tuple(dict.fromkeys(each for one in found for each in one.left_out)),
    )


def _candidates(one: int, first: RunColumns, other: int, second: RunColumns, wanted: Wanted) -> Sides:
    ours, theirs = first.attempts.candidate_names, second.attempts.candidate_names
    named = wanted.candidates or _shared(ours, theirs)
    if not named:
        raise PlanRefused(
            f"{_called(first)} has the candidates {_listed(ours)}, {_called(second)} has {_listed(theirs)}: "
            "none in common; say which to compare with --candidate A=B"
        )
    for name, known, run in [(pair[0], ours, first) for pair in named] + [(pair[1], theirs, second) for pair in named]:
        if name not in known:
            raise NotFound(f"{_called(run)} has no candidate {name!r}; it has {_listed(known)}")
    left = [] if wanted.candidates else _lonely(first, {pair[0] for pair in named})
    left += [] if wanted.candidates else _lonely(second, {pair[1] for pair in named})
    made = [Versus(first=(one, _side(first, a)), second=(other, _side(second, b))) for a, b in named]
    return Sides(versus=tuple(made), left_out=tuple(left))


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """By name; a single one on each side is meant whatever it is called."""
    if len(ours) == len(theirs) == 1:
        return ((ours[0], theirs[0]),)
    return tuple((name, name) for name in ours if name in theirs)


def _lonely(columns: RunColumns, used: set[str]) -> list[str]:
    alone = [name for name in columns.attempts.candidate_names if name not in used]
    return [f"candidate {name!r} of {_called(columns)} has no counterpart" for name in alone]


def _groups(columns: RunColumns, wanted: Wanted) -> Sides:
    (label,) = wanted.by
    faces = [columns.faces[case] for case in columns.attempts.case_ids if case in columns.faces]
    known = list(dict.fromkeys(face.labels[label] for face in faces if label in face.labels))
    labels = sorted({name for face in faces for name in face.labels})
    for name in (label, wanted.pair):
        if name not in labels:
            raise NotFound(f"no case of {_called(columns)} has the label {name!r}; they have {_listed(labels)}")
    if len(known) < 2:
        raise PlanRefused(f"all cases of {_called(columns)} have {label}={known[0]}: there is nothing to compare")
    base = wanted.base or known[0]
    if base not in known:
        raise NotFound(f"no case of {_called(columns)} has {label}={base}; there is {_listed(known)}")
    candidate = _one_candidate(columns, wanted)
    first = _side(columns, candidate, base)
    made = [Versus(first=(0, first), second=(0, _side(columns, candidate, value))) for value in known if value != base]
    lacking = sum(label not in face.labels or wanted.pair not in face.labels for face in faces)
    left = (f"{counted(lacking, 'case')} without {label} or {wanted.pair}",) if lacking else ()
    return Sides(versus=tuple(made), left_out=left)


def _one_candidate(columns: RunColumns, wanted: Wanted) -> str:
    names = columns.attempts.candidate_names
    chosen = {name for pair in wanted.candidates for name in pair} or set(names)
    if len(chosen) != 1 or not chosen <= set(names):
        raise PlanRefused(f"groups are compared for one candidate: --candidate NAME=NAME with one of {_listed(names)}")
    return chosen.pop()


def _side(columns: RunColumns, candidate: str, group: str = "") -> Side:
    return Side(name=group, run_id=columns.run.id, run_name=columns.run.name, candidate=candidate, group=group)


def _named(found: Sequence[Versus]) -> tuple[Versus, ...]:
    """With names as short as tell the sides apart: the run's, with its id where another run has the same name, with the
    candidate where a run takes part with several."""
    every = [side for versus in found for _, side in (versus.first, versus.second)]
    runs = {side.run_id: side.run_name for side in every}
    ambiguous = {name for name in runs.values() if not name or list(runs.values()).count(name) > 1}
    several = len({(side.run_id, side.candidate) for side in every}) > len(runs)

    def name(side: Side) -> Side:
        run = f"{side.run_name or 'run'} ({side.run_id[:8]})" if side.run_name in ambiguous else side.run_name
        candidate = side.candidate or "unnamed"
        return replace(side, name=candidate if several and len(runs) == 1 else f"{run}/{candidate}" if several else run)

    return tuple(
        Versus(first=(one.first[0], name(one.first[1])), second=(one.second[0], name(one.second[1]))) for one in found
    )


def _called(columns: RunColumns) -> str:
    return f"run {columns.run.name!r} ({columns.run.id[:8]})"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:LISTED])
    return f"{shown}, …" if len(names) > LISTED else shown or "none"
