"""`python -m howsure.api.reference docs/api.md`: writes the reference of every path and shape into the page, below its
marker, from the OpenAPI description of the service. A test holds the page up to date."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from howsure.api.access import ORGANIZATION_HEADER
from howsure.api.app import PREFIX, ServiceAccess, create_app
from howsure.api.published import PUBLISHED_FIELDS, PUBLISHED_OPERATIONS
from howsure.api.requests import IDEMPOTENCY_HEADER
from howsure.config import Settings
from howsure.kit.plugins import builtin_kit
from howsure.policies.verdicts import builtin_profiles
from howsure.services.workspace import Host, Workspace

Json = Mapping[str, Any]
MARKER = "<!-- below: python -m howsure.api.reference docs/api.md -->\n"
METHODS = ("get", "post", "put", "patch", "delete")
EVERYWHERE = ("400", "401", "403", "408", "413", "415", "422", "429", "500", "503")
"""Errors that any operation may give; the page explains them at its beginning."""
PAGING = ("limit", "cursor")
ADDED = "*added*"
MARKED = (
    f"What is marked {ADDED} is not in the document that this API began with: a client written to that document needs "
    "none of it. A shape that is marked is added with all its fields."
)


def reference(description: Json) -> str:
    """Every operation, by what it is about, then every shape."""
    shapes = description["components"]["schemas"]
    parts = ["## Every path", MARKED, *_paths(description), "## Every shape", *_shapes(shapes)]
    return "\n\n".join(parts) + "\n"


def _paths(description: Json) -> Iterator[str]:
    about: dict[str, list[str]] = {}
    for path, operations in description["paths"].items():
        for method in METHODS:
            if method in operations:
                operation = operations[method]
                about.setdefault(operation["tags"][-1], []).append(_operation(method, path, operation))
    head = "| | | query and headers | body | answer |\n| --- | --- | --- | --- | --- |\n"
    for tag in sorted(about):
        yield f"### {tag}"
        yield head + "\n".join(about[tag])


def _operation(method: str, path: str, operation: Json) -> str:
    summary = operation.get("description", "").split("\n\n")[0].replace("\n", " ").strip() or operation["summary"]
    place = f"`{method.upper()} {path.removeprefix(PREFIX)}`"
    summary = _marked(summary, f"{method.upper()} {path.removeprefix(PREFIX)}" in PUBLISHED_OPERATIONS)
    return f"| {place} | {_cell(summary)} | {_parameters(operation)} | {_body(operation)} | {_answers(operation)} |"


def _parameters(operation: Json) -> str:
    named = [
        f"`{each['name']}`{'' if not each['required'] else ' (needed)'}"
        for each in operation.get("parameters", ())
        if each["in"] != "path" and each["name"] not in (IDEMPOTENCY_HEADER, ORGANIZATION_HEADER)
    ]
    paged = [f"`{name}`" for name in PAGING]
    if [name for name in named if name in paged] == paged:
        named = [*(name for name in named if name not in paged), "paged"]
    return ", ".join(named)


def _body(operation: Json) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        return _kind(content["application/json"]["schema"])
    return "a file" if content else ""


def _answers(operation: Json) -> str:
    fine = [(status, answer) for status, answer in operation["responses"].items() if status.startswith("2")]
    refused = [status for status in operation["responses"] if status[0] in "45" and status not in EVERYWHERE]
    listed = ", ".join(f"{status} {_answer_kind(answer)}".strip() for status, answer in fine)
    return f"{listed}; {', '.join(refused)}" if refused else listed


def _answer_kind(answer: Json) -> str:
    content = answer.get("content", {})
    if "application/json" in content:
        return _kind(content["application/json"].get("schema", {}))
    return ", ".join(f"`{kind}`" for kind in content)


def _shapes(shapes: Json) -> Iterator[str]:
    for name, shape in sorted(shapes.items()):
        yield f"### {name}"
        published = PUBLISHED_FIELDS.get(name)
        if about := _marked(shape.get("description", ""), published is not None):
            yield _cell(about)
        if fields := shape.get("properties"):
            needed = shape.get("required", ())
            lines = [
                f"| `{key}` | {_kind(field)} | {'always' if key in needed else ''} | "
                f"{_cell(_marked(_note(field), published is None or key in published))} |"
                for key, field in fields.items()
            ]
            yield "| field | | | |\n| --- | --- | --- | --- |\n" + "\n".join(lines)
        elif "enum" in shape:
            yield _kind(shape)


def _marked(text: str, is_published: bool) -> str:
    return text if is_published else f"{ADDED}: {text}" if text else ADDED


def _note(shape: Json) -> str:
    notes = [shape.get("description", "")]
    if shape.get("default") not in (None, "", [], {}):
        notes.append(f"default `{shape['default']}`")
    if shape.get("examples"):
        notes.append(f"such as `{shape['examples'][0]}`")
    return "; ".join(note for note in notes if note)


def _kind(shape: Json) -> str:
    """What a value is, in a few words."""
    if "$ref" in shape:
        name = shape["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in shape:
        return " or ".join(dict.fromkeys(_kind(each) for each in shape["anyOf"]))
    if "enum" in shape or "const" in shape:
        return ", ".join(f"`{value}`" for value in shape.get("enum", [shape.get("const")]))
    match shape.get("type"):
        case "array":
            return f"list of {_kind(shape.get('items', {}))}"
        case "object":
            inner = shape.get("additionalProperties")
            return f"object of {_kind(inner)}" if isinstance(inner, dict) and inner else "object"
        case "string":
            return "time" if shape.get("format") == "date-time" else "text"
        case None:
            return "anything"
        case kind:
            return str(kind)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


async def describe_service() -> Json:
    """The OpenAPI description of a service with nothing in it."""
    with TemporaryDirectory() as folder:
        work = Workspace(Settings(), builtin_kit(builtin_profiles()), Path(folder))
        async with await work.store() as store:
            return create_app(Host(work, store), ServiceAccess()).openapi()


def update_page(page: str, description: Json) -> str:
    """The page with the reference as it is now."""
    own, marker, _ = page.partition(MARKER)
    return f"{own}{marker or MARKER}\n{reference(description)}"


def main(path: Path) -> None:
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(update_page(page, asyncio.run(describe_service())), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
