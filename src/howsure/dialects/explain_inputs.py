"""The Explain input bundle: the names of evals brought to one spelling, payloads that must agree with the fields they
repeat, and payloads built from those fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from howsure.dialects.explain_schema import ALIASES, PAYLOADS, RAG_EVAL, RAG_MODE, REPEATS
from howsure.dialects.json_places import Spot
from howsure.dialects.strict_json import parse
from howsure.dialects.wording import did_you_mean, shown
from howsure.errors import Problem

Json = dict[str, Any]
_KINDS = {key: list if key.endswith("Tools") else str for key in REPEATS}
_NAMES = {name.lower(): name for name in PAYLOADS} | {alias.lower(): name for alias, name in ALIASES.items()}


def canonical(row: Json, spot: Spot) -> tuple[Json, list[Problem]]:
    """The row with every eval under its own name. An eval nobody knows is a problem, and left out."""
    problems: list[Problem] = []
    changed: Json = {}
    if isinstance(row.get("required_evals"), list):
        changed["required_evals"] = _listed(row["required_evals"], spot.below("required_evals"), problems)
    if isinstance(row.get("explain_inputs"), dict):
        changed["explain_inputs"] = _bundle(row["explain_inputs"], spot.below("explain_inputs"), problems)
    return {**row, **changed} if changed else row, problems


def _listed(names: Sequence[Any], spot: Spot, problems: list[Problem]) -> list[Any]:
    """Names that are no texts are left for the schema to refuse."""
    listed: list[Any] = []
    for index, name in enumerate(names):
        known = _NAMES.get(name.lower()) if isinstance(name, str) else name
        if known is None:
            problems.append(_unknown(name, spot.below(index)))
        elif known in listed:
            problems.append(spot.below(index).warning("duplicate-eval", f"{known} is named twice", found=shown(name)))
        else:
            listed.append(known)
    return listed


def _bundle(payloads: Mapping[str, Any], spot: Spot, problems: list[Problem]) -> Json:
    bundle: Json = {}
    for name, payload in payloads.items():
        known = _NAMES.get(name.lower())
        if known is None:
            problems.append(_unknown(name, spot.below(name)))
        elif known in bundle:
            problems.append(spot.below(name).problem("duplicate-eval", f"{known} has two payloads", found=shown(name)))
        else:
            bundle[known] = _with_mode(payload) if name.lower() != known.lower() else payload
    return bundle


def _with_mode(payload: Any) -> Any:
    """The alias says the mode in its name, so its payload need not."""
    return {"rag_mode": RAG_MODE, **payload} if isinstance(payload, dict) else payload


def _unknown(name: str, spot: Spot) -> Problem:
    known = ", ".join(PAYLOADS)
    hint = did_you_mean(name, [*PAYLOADS, *ALIASES])
    return spot.problem("unknown-eval", f"no eval is named {shown(name)}", expected=known, found=shown(name), hint=hint)


def completed(row: Json) -> Json:
    """The row with what only its payloads say in the fields that they repeat."""
    missing = {key: field for key, field in REPEATS.items() if field not in row}
    said: Json = {}
    for payload in _payloads(row).values():
        for key in missing.keys() & payload.keys():
            value = json_text(payload[key]) if _KINDS[key] is list else payload[key]
            if isinstance(value, _KINDS[key]):
                said.setdefault(missing[key], value)
    return {**row, **said} if said else row


def unreadable_tools(row: Json, spot: Spot) -> Iterator[Problem]:
    """Payloads whose tools are a text, and that not of a list."""
    for eval, payload in _payloads(row).items():
        for key, value in payload.items():
            if _KINDS.get(key) is list and isinstance(value, str) and not isinstance(json_text(value), list):
                message, place = "must be a list or the JSON text of one", spot.below("explain_inputs", eval, key)
                yield place.problem("not-a-list", message, expected="array", found=shown(value))


def disagreements(row: Json, spot: Spot) -> Iterator[Problem]:
    """Payloads that say something else than the field they repeat."""
    for eval, payload in _payloads(row).items():
        for key, value in payload.items():
            field = REPEATS.get(key)
            if field is None or type(row.get(field)) is not _KINDS[key] or _alike(value, row[field], key):
                continue
            message = f"`{key}` of {eval} is not what `{field}` says{_where(value, row[field])}"
            place = spot.below("explain_inputs", eval, key)
            hint = "make them equal, or leave the payload out: it is built from the fields"
            yield place.problem(
                "explain-inputs-disagree", message, expected=shown(row[field]), found=shown(value), hint=hint
            )


def _payloads(row: Json) -> dict[str, Json]:
    bundle = row.get("explain_inputs")
    return {name: one for name, one in bundle.items() if isinstance(one, dict)} if isinstance(bundle, dict) else {}


def _alike(payload: Any, field: Any, key: str) -> bool:
    """A payload that cannot be read at all is another problem's business."""
    if _KINDS[key] is str:
        return payload == field or not isinstance(payload, str)
    plain = plain_tools(payload)
    return not isinstance(plain, list) or bool(plain == plain_tools(field))


def _where(one: Any, other: Any) -> str:
    """Long texts differ where nobody looks."""
    if not isinstance(one, str) or not isinstance(other, str):
        return ""
    pairs = enumerate(zip(one, other, strict=False))
    at = next((index for index, (left, right) in pairs if left != right), min(len(one), len(other)))
    return f" (from character {at + 1} on)"


def plain_tools(value: Any) -> Any:
    """A list of tools or calls without the freedom in writing it: JSON texts read, described tools by their name."""
    value = json_text(value)
    return [_plain_tool(each) for each in value] if isinstance(value, list) else value


def _plain_tool(tool: Any) -> Any:
    if not isinstance(tool, dict):
        return tool
    if "tool" not in tool:
        return tool.get("name", tool)
    return {**tool, "arguments": json_text(tool.get("arguments", {}))}


def json_text(value: Any) -> Any:
    """What a JSON text says; anything else as it is, a text that is no JSON too."""
    if not isinstance(value, str):
        return value
    read, problems = parse(value.encode("utf-8", "surrogatepass"), file="", line=None)
    return value if problems else read


def payload_of(eval: str, row: Mapping[str, Any]) -> Json:
    """The payload of an eval, from the fields of a row."""
    mode = {"rag_mode": RAG_MODE} if eval == RAG_EVAL else {}
    return {key: row.get(REPEATS[key], _KINDS[key]()) for key in PAYLOADS[eval]} | mode
