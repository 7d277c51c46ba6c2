"""A case as a golden question. Expectations that golden has no field for are kept in `reference_data` under names of
their own, where judged evals can map them; the rest of the case in `metadata.howsure`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import structs

from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.golden_schema import FILE_FIELDS, labels
from howsure.dialects.reference_data import INTERACTIONS
from howsure.model.case import Case, World
from howsure.model.expectation import AgentsInvolved, Expectation, FinalState, ToolCalls, Trajectory
from howsure.services.conversion.inputs import as_turns, with_options
from howsure.services.conversion.ledger import Fitted, Pad
from howsure.services.conversion.neutral import BOX, Box, Neutral, folded, neutral
from howsure.services.conversion.parts import kind_name, lose_rest

Json = dict[str, Any]
NATIVE = (ToolCalls, Trajectory, FinalState, AgentsInvolved)


def to_golden(case: Case) -> Fitted:
    pad, given = Pad(), neutral(case)
    plain = given.case
    told = case.metadata.get("reference_data", {})
    expectations, reference = _expectations(plain.expectations, dict(given.reference), told.keys(), pad)
    metadata = _metadata(given, pad)
    stays = ("updated_datetime", UNKNOWN) if _is_of_calls(given.rest.get(UNKNOWN)) else ("updated_datetime",)
    rest = {key: given.rest[key] for key in stays if key in given.rest}
    lose_rest(given.rest, pad, stays)
    if plain.recorded is not None:
        pad.lost("recorded", "golden files hold questions, not what was answered; a simulation file holds both")
    kept: Json = {**({"metadata": metadata} if metadata else {}), **rest}
    if reference:
        kept["reference_data"] = reference
    if given.beside:
        # Under a key of their own, for the header of a test set would make the file look like one.
        kept[FILE_FIELDS] = {BOX: given.beside} if case.world == World.TEST_SET else given.beside
    return pad.fitted(
        structs.replace(
            plain,
            input=with_options(as_turns(plain.input, Pad()), plain.expectations),
            expectations=expectations,
            world=World.GOLDEN,
            name="",
            profile="",
            tags=(),
            tools=None,
            recorded=None,
            labels=labels(metadata, agent=plain.labels.get("agent", "")),
            metadata=kept,
        )
    )


def _is_of_calls(unknown: Any) -> bool:
    """Whether fields that nobody knows stand in reference calls: golden questions have those in the same place."""
    return isinstance(unknown, dict) and all(pointer.startswith(f"{INTERACTIONS}/") for pointer in unknown)


def _expectations(
    given: tuple[Expectation, ...], reference: Json, before: Collection[str], pad: Pad
) -> tuple[tuple[Expectation, ...], Json]:
    """`before` are the references that the case told by keys of its own already."""
    native: dict[type, Expectation] = {}
    for expectation in given:
        kind, name = type(expectation), f"expectations.{kind_name(expectation)}"
        if kind in NATIVE:
            if kind in native:
                pad.lost(name, "golden questions have room for one of a kind")
            native.setdefault(kind, expectation)
            continue
        told = folded(expectation)
        if told.keys() & reference.keys():
            pad.lost(name, "its place in reference_data is taken")
        else:
            reference |= told
            if not all(key in before for key in told):
                pad.changed(name, "kept in reference_data; no grader of the golden world checks it by itself")
    return tuple(native[kind] for kind in NATIVE if kind in native), reference


def _metadata(given: Neutral, pad: Pad) -> Json:
    """The free metadata, the labels it does not say, and a box for what has no field."""
    case = given.case
    metadata = dict(given.flat)
    for key, value in case.labels.items():
        if key != "agent":
            metadata.setdefault(key, value)
    box = msgspec.to_builtins(Box(name=case.name, profile=case.profile, tags=case.tags, tools=case.tools))
    for name in box:
        pad.changed(name, f"kept in metadata.{BOX}, where no grader looks")
    aside = Pad()
    if with_options(as_turns(case.input, aside), case.expectations) != as_turns(case.input, Pad()):
        aside.changed("input.message", "the options were put after the message")
    if aside.entries:
        box["input"] = msgspec.to_builtins(case.input)
        for entry in aside.entries:
            pad.changed(entry.field, f"{entry.why}; kept in metadata.{BOX}")
    return {**metadata, **({BOX: box} if box else {})}
