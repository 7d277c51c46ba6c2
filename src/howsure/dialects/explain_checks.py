"""What the schema of an Explain row cannot say: ids and names that must fit each other, payloads, texts that should
hold JSON. Parts of a wrong type are passed over: the schema names those.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from howsure.dialects.explain_inputs import disagreements, json_text, unreadable_tools
from howsure.dialects.explain_schema import AGENTS, DEFAULT_EVALS, PHASE_AGENTS, TOPIC_FAMILIES
from howsure.dialects.json_places import Spot
from howsure.dialects.matcher_shapes import matcher_problems
from howsure.dialects.wording import a, did_you_mean, kind_of, shown
from howsure.errors import Problem

Json = dict[str, Any]

_NEEDS = {"TaskAdherenceExplain": "task_goal", "ToolCallAccuracyExplain": "available_tools"}
"""Fields without which an eval cannot be asked."""


def row_problems(row: Json, spot: Spot, profiles: Collection[str] | None) -> Iterator[Problem]:
    """`row` is canonical, and completed from its payloads."""
    yield from _id(row, spot)
    yield from _open_names(row, spot)
    yield from _phase(row, spot)
    yield from _profile(row, spot, profiles)
    yield from _calls(row, spot)
    yield from _evals(row, spot)
    yield from unreadable_tools(row, spot)
    yield from disagreements(row, spot)


def _id(row: Json, spot: Spot) -> Iterator[Problem]:
    id, agent = row.get("case_id"), row.get("agent_name")
    if not (isinstance(id, str) and isinstance(agent, str) and id.strip() and agent.strip()):
        return
    if not re.fullmatch(re.escape(agent) + "-[0-9]{3,}", id):
        message = "must be the agent's name, a hyphen and three or more digits"
        yield spot.below("case_id").problem("bad-pattern", message, expected=f"{agent}-001", found=shown(id))


def _open_names(row: Json, spot: Spot) -> Iterator[Problem]:
    """Lists that grow: what is not on them is worth a look, no more."""
    for field, known, code in (
        ("agent_name", AGENTS, "unknown-agent"),
        ("topic_family", TOPIC_FAMILIES, "unknown-topic-family"),
    ):
        name = row.get(field)
        if isinstance(name, str) and name.strip() and name not in known:
            message = f"{shown(name)} is not one of those we know; it is kept"
            yield spot.below(field).warning(code, message, found=shown(name), hint=did_you_mean(name, known))


def _phase(row: Json, spot: Spot) -> Iterator[Problem]:
    if "phase" not in row and row.get("agent_name") in PHASE_AGENTS:
        message, hint = "`phase` is required for this agent", "only agents that run a whole workflow have none"
        yield spot.below("phase").problem("missing-field", message, expected="phase", hint=hint)


def _profile(row: Json, spot: Spot, profiles: Collection[str] | None) -> Iterator[Problem]:
    name = row.get("threshold_profile")
    if profiles is None or not isinstance(name, str) or not name.strip() or name in profiles:
        return
    known = ", ".join(sorted(profiles))
    message, hint = f"there is no profile {shown(name)}", f"known: {known}; more can be added in howsure.yaml"
    yield spot.below("threshold_profile").problem(
        "unknown-profile", message, expected=known, found=shown(name), hint=hint
    )


def _calls(row: Json, spot: Spot) -> Iterator[Problem]:
    for field in ("expected_tool_calls", "invoked_tool_calls"):
        calls = row.get(field)
        for index, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict) and "arguments" in call:
                yield from _arguments(call["arguments"], field, spot.below(field, index, "arguments"))
    if row.get("invoked_tool_calls") and "model_answer" not in row:
        message = "`invoked_tool_calls` belong to a recorded answer, and there is none"
        yield spot.below("model_answer").problem("missing-field", message, expected="model_answer")


def _arguments(given: Any, field: str, spot: Spot) -> Iterator[Problem]:
    arguments = json_text(given)
    if isinstance(given, str) and not isinstance(arguments, dict):
        what = "no JSON" if isinstance(arguments, str) else f"the JSON text of {a(kind_of(arguments))}"
        message = f"must be an object or the JSON text of one, not {what}"
        yield spot.problem("not-an-object", message, expected="object", found=shown(given))
    elif field == "expected_tool_calls":
        yield from matcher_problems(arguments, spot)


def _evals(row: Json, spot: Spot) -> Iterator[Problem]:
    """Evals that are asked for, and cannot be asked or lack their payload."""
    evals, bundle = row.get("required_evals") or DEFAULT_EVALS, row.get("explain_inputs")
    for eval in evals:
        field = _NEEDS.get(eval) if isinstance(eval, str) else None
        if field is not None and row.get(field, "") in ("", None):
            yield spot.below(field).problem("missing-field", f"`{field}` is needed by {eval}", expected=field)
    if isinstance(bundle, dict):
        for eval in evals:
            if isinstance(eval, str) and eval not in bundle:
                yield _without_payload(f"{eval} has no payload", spot.below("explain_inputs", eval))
    elif bundle is None and "model_answer" in row:
        yield _without_payload("there are no payloads", spot.below("explain_inputs"))


def _without_payload(message: str, spot: Spot) -> Problem:
    return spot.warning("missing-payload", f"{message}; built from the fields")
