"""Every gate of a run, decided: one ruling for each candidate where the gate is about candidates, one where it is about
the whole run. Loads numpy and scipy: `services/gating.py` imports it when there is a gate."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from howsure.errors import InputError
from howsure.model.gate import GateRuling
from howsure.model.summary import Summary
from howsure.policies.gates import (
    AllHold,
    Asked,
    Errors,
    Gate,
    Latency,
    MeanGrade,
    NoRegression,
    PassRate,
    Repeated,
    Spending,
)
from howsure.services.comparison.changed import changed_between
from howsure.services.gates.deciding import nothing
from howsure.services.gates.estimating import latency, mean_grade, pass_rate, per_case, repeated
from howsure.services.gates.evidence import Evidence
from howsure.services.gates.reading import read_columns, which_of
from howsure.services.gates.regression import no_regression
from howsure.services.gates.totals import all_hold, errors, spending
from howsure.store.store import Store


async def rulings(store: Store, summary: Summary, gates: Sequence[Gate]) -> tuple[GateRuling, ...]:
    """What came of each gate, in their order."""
    columns = await read_columns(store, summary.run, [gate.asked for gate in gates])
    evidence = Evidence(summary, columns)
    found: list[GateRuling] = []
    for gate in gates:
        try:
            found += [replace(each, expression=gate.expression) for each in await _rulings(store, gate.asked, evidence)]
        except InputError as error:
            # What the run lacks is not what the agent did wrong: the gate cannot be decided.
            found.append(replace(nothing(_sentence(str(error))), expression=gate.expression))
    return tuple(found)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?")) else ".")


async def _rulings(store: Store, asked: Asked, evidence: Evidence) -> list[GateRuling]:
    match asked:
        case Errors():
            return [errors(asked, evidence)]
        case Spending(per_case=False):
            return [spending(asked, evidence)]
        case NoRegression():
            return await _regressions(store, asked, evidence)
        case _:
            names = evidence.candidates(which_of(asked))
            several = len(evidence.summary.candidates) > 1
            return [replace(_of(asked, evidence, name), candidate=name if several else "") for name in names]


def _of(asked: Asked, evidence: Evidence, candidate: str) -> GateRuling:
    match asked:
        case PassRate():
            return pass_rate(asked, evidence, candidate)
        case MeanGrade():
            return mean_grade(asked, evidence, candidate)
        case Repeated():
            return repeated(asked, evidence, candidate)
        case Latency():
            return latency(asked, evidence, candidate)
        case AllHold():
            return all_hold(asked, evidence, candidate)
        case Spending():
            return per_case(asked, evidence, candidate)
        case Errors() | NoRegression():
            raise TypeError(f"{type(asked).__name__} is not about one candidate")


async def _regressions(store: Store, asked: NoRegression, evidence: Evidence) -> list[GateRuling]:
    base = await store.earlier_run(asked.versus, evidence.run)
    before = Evidence(await store.summary(base.id), await read_columns(store, base, [asked]))
    changed = await changed_between(store, base, evidence.run)
    several = len(evidence.summary.candidates) > 1
    return [
        replace(no_regression(asked, evidence, before, changed, name), candidate=name if several else "")
        for name in evidence.candidates(asked.which)
    ]
