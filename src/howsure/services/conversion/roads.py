"""Which fitting leads to which format. A case that the format can write as it is stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from howsure.dialects.documents import Reason
from howsure.dialects.explain_cases import unwritable as explain_reasons
from howsure.dialects.golden_writing import unwritable as golden_reasons
from howsure.dialects.importers.base import Options
from howsure.dialects.legal_writing import unwritable as legal_reasons
from howsure.dialects.test_set_writing import unwritable as test_set_reasons
from howsure.model.case import Case
from howsure.services.conversion.ledger import Fitted
from howsure.services.conversion.to_explain import to_explain
from howsure.services.conversion.to_golden import to_golden
from howsure.services.conversion.to_legal import to_legal
from howsure.services.conversion.to_simulation import to_simulation
from howsure.services.conversion.to_test_set import to_test_set

Fit = Callable[[Case], Fitted]
Reasons = Callable[[Case], Iterable[Reason]]


def fit_for(target: str, options: Options, source: str) -> Fit:
    """How a case is made to fit; `source` names the first source, for rows that must name where they come from."""
    dataset = options.metadata.get("dataset") or options.agent or source
    agent = {"agent_name": options.agent} if options.agent else {}
    roads: dict[str, tuple[Reasons, Fit]] = {
        "golden": (golden_reasons, to_golden),
        "test-set": (test_set_reasons, to_test_set),
        "legal": (legal_reasons, partial(to_legal, dataset=dataset)),
        "explain": (explain_reasons, partial(to_explain, given_labels={**options.metadata, **agent})),
    }
    if target not in roads:
        return to_simulation
    reasons, fit = roads[target]
    return partial(_fitted, reasons, fit)


def _fitted(reasons: Reasons, fit: Fit, case: Case) -> Fitted:
    for _ in reasons(case):
        return fit(case)
    return Fitted(case)
