"""What the cases of a run can be chosen by: verdict, candidate, tag, grader, component, who is answerable, order."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from howsure.model.run import Run
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.store.browsing import Order, Tag
from howsure.store.store import Store
from howsure.web.filtering import ALL, Filter, name_of

ORDERS = {Order.WORST: "worst first", Order.FILE: "as in the file", Order.SLOWEST: "slowest first"}
MOST = 100
DIFFICULTY = "difficulty"


class Facet(Struct, frozen=True):
    """One thing that can be chosen; `number` None: nobody counted."""

    value: str
    word: str
    number: int | None
    chosen: bool
    address: str = ""


class Facets(Struct, frozen=True):
    """A filter, and what it can be set to."""

    name: str
    word: str
    choices: tuple[Facet, ...]

    @property
    def groups(self) -> tuple[tuple[str, tuple[Facet, ...]], ...]:
        """Labels (`difficulty: hard`) under the name of each, difficulty first; what has none, in front."""
        found: dict[str, list[Facet]] = {"": []}
        for each in self.choices:
            name, colon, _ = each.word.partition(": ") if self.name == "tag" else ("", "", "")
            found.setdefault(name if colon else "", []).append(each)
        ordered = sorted(found, key=lambda name: (name != "", name != DIFFICULTY))
        return tuple((name, tuple(found[name])) for name in ordered if found[name])


class Offered(Struct, frozen=True, kw_only=True):
    """What there is to choose from in one run."""

    summary: Summary
    tags: Sequence[Tag]


async def facets_of(store: Store, summary: Summary) -> Offered:
    return Offered(summary=summary, tags=await store.browsing.tags(summary.run))


def chips(run: Run, chosen: Filter, flaky: int) -> tuple[Facet, ...]:
    """The verdicts, the flaky and all, each with how many there are in the whole run."""
    shown = "" if chosen.flaky else chosen.shown_verdict(run.counts.failed)

    def chip(word: str, number: int, **changes: str) -> Facet:
        is_chosen = bool(chosen.flaky) if word == "flaky" else shown == word
        return Facet(word, word, number, is_chosen, f"/runs/{run.id}?{chosen.query(**changes)}#cases")

    counts = run.counts
    order = (Verdict.FAILED, Verdict.ERRORED, Verdict.SKIPPED, Verdict.PASSED)
    verdicts = [chip(each.value, getattr(counts, each.value), verdict=each.value, flaky="") for each in order]
    unsteady = [chip("flaky", flaky, verdict=ALL, flaky="yes")] if run.pins.repeat > 1 else []
    return (*verdicts, *unsteady, chip(ALL, counts.completed, verdict=ALL, flaky=""))


def facets(offered: Offered, chosen: Filter) -> tuple[Facets, ...]:
    """Those that leave something to choose."""
    summary = offered.summary
    candidates = [(name_of(name), name or "unnamed", counts.completed) for name, counts in summary.candidates.items()]
    graders: dict[str, int] = {}
    for grader in summary.graders:
        graders[grader.name] = graders.get(grader.name, 0) + grader.failed + grader.errored
    failing = [(name, name, number) for name, number in graders.items() if number]
    components = [
        (name, name.replace("_", " "), tally.failed + tally.errored) for name, tally in summary.components.items()
    ]
    all_of = [
        _facets("candidate", "candidate", candidates if len(candidates) > 1 else [], chosen.candidate),
        _facets("grader", "failed by", failing, chosen.grader),
        _facets("component", "component", [each for each in components if each[2]], chosen.component),
        _facets("fault", "answerable", [(name, name, number) for name, number in summary.faults.items()], chosen.fault),
        _facets("tag", "tag or label", [(tag.text, tag.text, tag.cases) for tag in offered.tags], chosen.tag),
        _orders(chosen),
    ]
    return tuple(each for each in all_of if each.choices)


def _facets(name: str, word: str, values: Sequence[tuple[str, str, int]], chosen: str) -> Facets:
    known = [Facet(value, shown, number, value == chosen) for value, shown, number in values[:MOST]]
    if chosen and not any(each.chosen for each in known):
        known.append(Facet(chosen, chosen, None, True))
    return Facets(name, word, tuple(known))


def _orders(chosen: Filter) -> Facets:
    order = chosen.order or Order.WORST.value
    return Facets(
        "order", "order", tuple(Facet(each.value, word, None, each.value == order) for each, word in ORDERS.items())
    )
