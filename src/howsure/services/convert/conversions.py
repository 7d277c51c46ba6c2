"""Which conversion leads to which format. A case that the target format can write as it is stays unchanged; the
conversions to golden, test-set, legal and explain files live in modules of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from msgspec import structs

from howsure.dialects.base import Dialect
from howsure.dialects.explain_rows import unwritable as explain_reasons
from howsure.dialects.golden import unwritable as golden_reasons
from howsure.dialects.importers.base import ImportOptions
from howsure.dialects.legal import unwritable as legal_reasons
from howsure.dialects.lines import RowDialect
from howsure.dialects.test_set import unwritable as test_set_reasons
from howsure.dialects.writers import Reason
from howsure.model.case import Case, World
from howsure.services.convert.loss_report import CaseLosses, FittedCase, lose_keys
from howsure.services.convert.neutral_cases import make_neutral
from howsure.services.convert.to_explain import to_explain
from howsure.services.convert.to_golden import to_golden
from howsure.services.convert.to_legal import to_legal
from howsure.services.convert.to_test_set import to_test_set

COLUMNS = {"metadata": "question_metadata"}
"""What golden files and simulation files call the same thing."""
SIMULATION = "simulation"
COMPARED = ("input", "expectations", "name", "profile", "tags", "labels", "metadata", "tools", "state", "recorded")
"""Fields that a plug-in's dialect must give back; what it does not give back is lost or changed."""

FitCase = Callable[[Case], FittedCase]
UnwritableReasons = Callable[[Case], Iterable[Reason]]


def conversion_to(target: Dialect, options: ImportOptions, source: str) -> FitCase:
    """The function that makes a case fit the target. `source` names the first source file, for rows that must say
    which dataset they come from."""
    dataset = options.metadata.get("dataset") or options.agent or source
    agent = {"agent_name": options.agent} if options.agent else {}
    conversions: dict[str, tuple[UnwritableReasons, FitCase]] = {
        "golden": (golden_reasons, to_golden),
        "test-set": (test_set_reasons, to_test_set),
        "legal": (legal_reasons, partial(to_legal, dataset=dataset)),
        "explain": (explain_reasons, partial(to_explain, given_labels={**options.metadata, **agent})),
    }
    if target.name in conversions:
        reasons, fit = conversions[target.name]
        return lambda case: fit(case) if any(True for _ in reasons(case)) else FittedCase(case)
    if target.name == SIMULATION:
        return to_simulation
    return partial(to_row, dialect=target) if isinstance(target, RowDialect) else to_plain


def to_simulation(case: Case) -> FittedCase:
    """A golden question becomes a row that is still to be joined with its conversation: its metadata and its agent move
    to the columns that simulation files have for them, so the row needs no copy of the whole case. Cases of other
    worlds are written as they are, with the whole case in a column of its own."""
    if case.world != World.GOLDEN or "repeat" in case.labels or any(name in case.metadata for name in COLUMNS.values()):
        return FittedCase(case)
    metadata: dict[str, Any] = {COLUMNS.get(key, key): value for key, value in case.metadata.items()}
    agent = case.labels.get("agent")
    if agent and "app_name" not in metadata:
        metadata.setdefault("agent_name", agent)
    return FittedCase(structs.replace(case, labels={**case.labels, "repeat": "1"}, metadata=metadata))


def to_plain(case: Case) -> FittedCase:
    """A case for a plug-in's dialect: everything that the model has a field for stands there, and `metadata` holds the
    user's own."""
    if case.world == World.PLAIN:
        return FittedCase(case)
    losses, neutral = CaseLosses(), make_neutral(case)
    lose_keys("metadata", neutral.rest, losses)
    lose_keys("reference_data", neutral.reference, losses)
    return losses.fitted(structs.replace(neutral.case, world=World.PLAIN, metadata=neutral.flat))


def to_row(case: Case, dialect: RowDialect) -> FittedCase:
    """A case as a row of a plug-in's dialect. Reading the row back shows what the dialect does not hold; a case that it
    cannot write, or cannot read back, is left out."""
    fitted = to_plain(case)
    assert fitted.case is not None
    try:
        again = dialect.case(dict(dialect.row(fitted.case)))
    except (ValueError, LookupError, TypeError) as error:
        return FittedCase(None, (), f"the dialect {dialect.name!r} cannot hold it: {type(error).__name__}: {error}")
    losses = CaseLosses(fitted.entries)
    for name in COMPARED:
        before, after = getattr(fitted.case, name), getattr(again, name)
        if before and not after:
            losses.lost(name)
        elif before and before != after:
            losses.changed(name, f"a {dialect.name} row holds it in another form")
    return losses.fitted(fitted.case)
