"""The tools of an ADK agent, read from its source without running it: the functions in the `tools=[…]` of its agents,
with their signatures and docstrings. If one element cannot be read, none is used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.dialects.lines import open_file
from howsure.dialects.problems import Spot
from howsure.dialects.strict_json import Json
from howsure.errors import Problem

AGENTS = {"Agent", "LlmAgent"}
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "list": "array"}
_GIVEN_BY_ADK = {"tool_context", "self", "ctx", "input_stream"}
_SKIPPED_FOLDERS = {".venv", "venv", "__pycache__", "tests", "eval", ".adk"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class ToolDeclarations(Struct, frozen=True):
    """Function declarations, or the problem that prevents them."""

    declarations: list[Json]
    problems: list[Problem]


class _UnreadableTool(Exception):
    """A tool that only running the agent would reveal."""


def declared_tools_of(folder: Path) -> ToolDeclarations:
    """The tools of all agents in the folder, each once."""
    functions: dict[str, Function] = {}
    agents: list[tuple[Path, ast.Call]] = []
    for path, tree in _modules(folder):
        functions |= {node.name: node for node in ast.walk(tree) if isinstance(node, Function)}
        agents += [(path, node) for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) in AGENTS]
    declarations: dict[str, Json] = {}
    for path, agent in agents:
        for element in _listed(agent, "tools"):
            try:
                declaration = _declaration(element, functions)
            except _UnreadableTool:
                return ToolDeclarations([], [_incomplete(path, element)])
            declarations.setdefault(declaration["name"], declaration)
        if _listed(agent, "sub_agents"):
            declarations.setdefault("transfer_to_agent", _TRANSFER)
    return ToolDeclarations([{"function_declarations": list(declarations.values())}] if declarations else [], [])


_TRANSFER: Json = {
    "name": "transfer_to_agent",
    "description": "Hand over to another agent.",
    "parameters": {"type": "object", "properties": {"agent_name": {"type": "string"}}, "required": ["agent_name"]},
}


def _modules(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        if not _SKIPPED_FOLDERS & set(path.relative_to(folder).parts):
            with open_file(path) as file:
                source = file.read()
            try:
                yield path, ast.parse(source)
            except (SyntaxError, ValueError, RecursionError):
                continue


def _listed(agent: ast.Call, name: str) -> list[ast.expr]:
    """The elements of a list argument; the argument itself where it is not a list."""
    value = next((keyword.value for keyword in agent.keywords if keyword.arg == name), None)
    if value is None:
        return []
    return list(value.elts) if isinstance(value, ast.List | ast.Tuple) else [value]


def _declaration(element: ast.expr, functions: dict[str, Function]) -> Json:
    """The declaration of a function that is named, or wrapped as `FunctionTool(f)`."""
    if isinstance(element, ast.Call):
        wrapped = [*element.args, *(keyword.value for keyword in element.keywords if keyword.arg == "func")]
        if len(wrapped) != 1 or _name(element.func) not in ("FunctionTool", "LongRunningFunctionTool"):
            raise _UnreadableTool
        element = wrapped[0]
    function = functions.get(_name(element))
    if function is None:
        raise _UnreadableTool
    return _function(function)


def _function(function: Function) -> Json:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    optional = {one.arg for one in plain[len(plain) - len(arguments.defaults) :]} if arguments.defaults else set()
    optional |= {one.arg for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default}
    visible = [one for one in (*plain, *arguments.kwonlyargs) if one.arg not in _GIVEN_BY_ADK]
    parameters: Json = {
        "type": "object",
        "properties": {one.arg: _type(one.annotation) for one in visible},
        "required": [one.arg for one in visible if one.arg not in optional],
    }
    return {"name": function.name, "description": ast.get_docstring(function) or "", "parameters": parameters}


def _type(annotation: ast.expr | None) -> Json:
    base: Any = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    known = _TYPES.get(_name(base)) if base is not None else None
    return {"type": known} if known else {}


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _incomplete(path: Path, element: ast.expr) -> Problem:
    message = f"the tool `{ast.unparse(element)[:80]}` cannot be known without running the agent; no tools are declared"
    hint = "name the functions themselves in `tools`, or convert with histories of ADK 2, which list the tools"
    return Spot(str(path), element.lineno).warning("unreadable-tool", message, hint=hint)
