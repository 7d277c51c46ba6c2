"""A case as a golden question. Expectations for which golden has no field go to `reference_data` under keys of their
own, where judged evals can map them; the rest of the case goes to `metadata.howsure`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import structs

from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.golden import FILE_FIELDS, labels
from howsure.dialects.reference_data import INTERACTIONS
from howsure.model.case import Case, World
from howsure.model.expectation import AgentsInvolved, Expectation, FinalState, ToolCalls, Trajectory
from howsure.services.convert.loss_report import CaseLosses, FittedCase, kind_name, lose_keys
from howsure.services.convert.neutral_cases import (
    STORED_KEY,
    NeutralCase,
    StoredParts,
    as_reference_data,
    as_turns,
    make_neutral,
    with_options,
)

Json = dict[str, Any]
NATIVE = (ToolCalls, Trajectory, FinalState, AgentsInvolved)


def to_golden(case: Case) -> FittedCase:
    losses, neutral = CaseLosses(), make_neutral(case)
    plain = neutral.case
    own = case.metadata.get("reference_data", {})
    expectations, reference = _expectations(plain.expectations, dict(neutral.reference), own.keys(), losses)
    metadata = _metadata(neutral, losses)
    unknown = neutral.rest.get(UNKNOWN)
    # Unknown fields of reference calls stay: golden questions have those calls in the same place.
    of_calls = isinstance(unknown, dict) and all(pointer.startswith(f"{INTERACTIONS}/") for pointer in unknown)
    stays = ("updated_datetime", UNKNOWN) if of_calls else ("updated_datetime",)
    rest = {key: neutral.rest[key] for key in stays if key in neutral.rest}
    lose_keys("metadata", neutral.rest, losses, stays)
    if plain.recorded is not None:
        losses.lost("recorded", "golden files hold questions, not what was answered; a simulation file holds both")
    stored: Json = {**({"metadata": metadata} if metadata else {}), **rest}
    if reference:
        stored["reference_data"] = reference
    if neutral.beside:
        # Under a key of their own: the header of a test set would make the file look like a test set.
        stored[FILE_FIELDS] = {STORED_KEY: neutral.beside} if case.world == World.TEST_SET else neutral.beside
    return losses.fitted(
        structs.replace(
            plain,
            input=with_options(as_turns(plain.input, CaseLosses()), plain.expectations),
            expectations=expectations,
            world=World.GOLDEN,
            name="",
            profile="",
            tags=(),
            tools=None,
            recorded=None,
            labels=labels(metadata, agent=plain.labels.get("agent", "")),
            metadata=stored,
        )
    )


def _expectations(
    expectations: tuple[Expectation, ...], reference: Json, before: Collection[str], losses: CaseLosses
) -> tuple[tuple[Expectation, ...], Json]:
    """The expectations that golden has fields for, and `reference` with the others. `before`: the keys of
    `reference_data` that the case had already."""
    native: dict[type, Expectation] = {}
    for expectation in expectations:
        kind, name = type(expectation), f"expectations.{kind_name(expectation)}"
        if kind in NATIVE:
            if kind in native:
                losses.lost(name, "golden questions have room for one of a kind")
            native.setdefault(kind, expectation)
            continue
        keys = as_reference_data(expectation)
        if keys.keys() & reference.keys():
            losses.lost(name, "its place in reference_data is taken")
        else:
            reference |= keys
            if not all(key in before for key in keys):
                losses.changed(name, "kept in reference_data; no grader of the golden world checks it by itself")
    return tuple(native[kind] for kind in NATIVE if kind in native), reference


def _metadata(neutral: NeutralCase, losses: CaseLosses) -> Json:
    """The free metadata, the labels that it lacks, and the stored parts for which golden has no field."""
    case = neutral.case
    metadata = dict(neutral.flat)
    for key, value in case.labels.items():
        if key != "agent":
            metadata.setdefault(key, value)
    box = msgspec.to_builtins(StoredParts(name=case.name, profile=case.profile, tags=case.tags, tools=case.tools))
    for name in box:
        losses.changed(name, f"kept in metadata.{STORED_KEY}, where no grader looks")
    aside = CaseLosses()
    if with_options(as_turns(case.input, aside), case.expectations) != as_turns(case.input, CaseLosses()):
        aside.changed("input.message", "the options were put after the message")
    if aside.entries:
        box["input"] = msgspec.to_builtins(case.input)
        for entry in aside.entries:
            losses.changed(entry.field, f"{entry.why}; kept in metadata.{STORED_KEY}")
    return {**metadata, **({STORED_KEY: box} if box else {})}
