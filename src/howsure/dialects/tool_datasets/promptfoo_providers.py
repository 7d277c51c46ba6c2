"""The providers of a promptfoo configuration as targets: models, HTTP addresses, Python files and programs. Nothing is
run or asked here; who has no counterpart is named with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from howsure.dialects.base import FileCandidates
from howsure.dialects.documents import JsonDocument
from howsure.dialects.importers.chat_messages import tools_in
from howsure.dialects.tool_datasets.documents import FILE_PREFIX, YAML_ENDINGS, Row, ToolFolder, object_in
from howsure.model.llm_settings import CallSettings

CODE = "howsure.targets.promptfoo"
CHATS = {
    "openai": ("chat", "responses"), "anthropic": ("messages",), "google": (), "mistral": (), "ollama": ("chat",),
    "azure": ("chat", "responses"), "azureopenai": ("chat",),
}  # fmt: skip
"""Providers of chat models that are asked here, too, with the kinds of their interfaces that stand in an id."""
CALLS = tuple(CallSettings.__struct_fields__)
RENAMED = {"max_output_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "reasoning_effort": "effort"}
_VARIABLE = re.compile(r"\{\{\s*([\w.]+)\s*(?:\|[^}]*)?\}\}")
_PATH = re.compile(r"(?:json|data|response)?((?:\??\.\w+|\[\d+\]|\[['\"][^'\"]+['\"]\])+)")


class NotAskable(ValueError):
    """Why a provider cannot be asked here."""


def provider_candidates(config: JsonDocument, folder: ToolFolder, prompts: Sequence[str]) -> FileCandidates:
    """Every provider under a short name: its label, or what its id ends in."""
    found = FileCandidates(prompts=tuple(prompts))
    for id, label, settings in _providers(config, folder):
        taken = {*found.targets, *found.refused}
        last = id.rpartition(":")[2] if id.partition(":")[0] in CHATS else id
        names = [label, last, id, *(f"{label or id} ({number})" for number in range(2, len(taken) + 3))]
        name = next(name for name in names if name and name not in taken)
        try:
            found.targets[name], found.calls[name] = _target(id, settings, folder)
        except NotAskable as error:
            found.refused[name] = f"{id} {error}"
    return found


def _providers(config: JsonDocument, folder: ToolFolder) -> Iterator[tuple[str, str, Row]]:
    raw = config.value.get("providers") or config.value.get("targets") or []
    for each in _inside_files(raw if isinstance(raw, list) else [raw], config, folder):
        provider = {"id": each} if isinstance(each, str) else object_in(each)
        if "id" not in provider and len(provider) == 1:
            ((id, inner),) = provider.items()
            provider = {"id": id, **inner} if isinstance(inner, dict) else {"id": f"{id}:{inner}"}
        id, label = str(provider.get("id") or "?"), str(provider.get("label") or "")
        if each:
            rest = {key: provider[key] for key in ("transform", "prompts", "env") if key in provider}
            yield id, label, {**object_in(provider.get("config")), **rest}


def _inside_files(raw: list[Any], config: JsonDocument, folder: ToolFolder) -> Iterator[Any]:
    """The providers; those in a file of JSON or YAML, which may hold several, in place of its name."""
    for each in raw:
        id = str(each.get("id") or "") if isinstance(each, dict) else str(each)
        if not (id.startswith(FILE_PREFIX) and id.endswith((".json", *YAML_ENDINGS))):
            yield each
        elif path := folder.find(id, config.spot.below("providers")):
            found, own = folder.value(path), {key: value for key, value in object_in(each).items() if key != "id"}
            yield from (
                {**inner, **own} if own and isinstance(inner, dict) else inner
                for inner in (found if isinstance(found, list) else [found])
            )


def _target(id: str, settings: Row, folder: ToolFolder) -> tuple[Row, Row]:
    """The block of a provider and its call settings."""
    kind, _, rest = id.partition(":")
    settings = dict(settings)
    env = object_in(settings.pop("env", None))
    if kind in CHATS:
        return _chat(kind, rest, settings, folder)
    if kind in ("http", "https"):
        return _http(id if "//" in id else str(settings.get("url", "")), settings), {}
    function, arguments = "", Row()
    if id == "echo":
        function = "echo"
    elif kind in ("python", "file") and ".py" in rest:
        file, _, name = rest.removeprefix("//").partition(".py")
        arguments = {"file": f"{file}.py", "name": name.removeprefix(":") or "call_api", "config": settings}
        function = "call_python"
    elif kind == "exec" and rest.strip():
        function, arguments = "call_program", {"command": rest.strip(), "config": settings, "env": env}
    if function:
        more = {"arguments": arguments} if arguments else {}
        return {"kind": "function", "function": f"{CODE}:{function}", **more}, {}
    hint = "it is code in another language than Python" if kind == "file" else "name another one with --target"
    raise NotAskable(f"is not asked here; {hint}")


def _chat(kind: str, rest: str, settings: Row, folder: ToolFolder) -> tuple[Row, Row]:
    interface, colon, _ = rest.partition(":")
    known = interface in CHATS[kind]
    if colon and kind != "ollama" and not known and not interface.startswith("ft"):
        raise NotAskable(f"is not asked here; its interface {interface!r} is no chat")
    model = rest.removeprefix(f"{interface}:") if colon and known else rest
    if not model or settings.get("transform"):
        raise NotAskable("names no model" if not model else "has a transform in JavaScript, which is not run")
    address = settings.get("apiBaseUrl") or settings.get("baseURL")
    block: Row = {"kind": "chat", "model": f"{kind.removesuffix('openai') or kind}:{model}"}
    block["model"] += f"@{address}" if address else ""
    calls: Row = {}
    for key, value in settings.items():
        if RENAMED.get(key, key) in CALLS:
            calls[RENAMED.get(key, key)] = value
        elif key == "tools":
            block["tools"] = _tools(value, folder)
        elif key not in ("apiBaseUrl", "baseURL", "prompts"):
            folder.lack(f"provider setting `{key}`")
    return block, calls


def _tools(value: Any, folder: ToolFolder) -> list[Any]:
    if isinstance(value, str):
        path = folder.folder / value.removeprefix(FILE_PREFIX)
        inside = path.resolve().is_relative_to(folder.folder.resolve())
        if not (inside and path.is_file() and path.suffix in (".json", *YAML_ENDINGS)):
            raise NotAskable(f"has tools that are not here: {value}")
        value = folder.value(path)
    return [msgspec.to_builtins(tool) for tool in tools_in(value) or ()]


def _http(url: str, settings: Row) -> Row:
    answer = settings.get("transformResponse", settings.get("responseParser", ""))
    path = _PATH.fullmatch(str(answer).strip()) if answer else None
    if answer and path is None:
        raise NotAskable(f"has a `transformResponse` that is code, which is not run: {answer}")
    if settings.get("request"):
        raise NotAskable("has a raw `request`, which is not sent here")
    sent = {key: settings[key] for key in ("method", "headers", "body") if settings.get(key) not in (None, {})}
    block = {"kind": "http", **_placeholders({"url": url, **sent})}
    return {**block, "answer": path[1].replace("?.", ".").removeprefix(".")} if path else block


def _placeholders(value: Any) -> Any:
    """Their variables as ours: the prompt is the message, other variables are of the state of the case."""

    def ours(mark: re.Match[str]) -> str:
        name = mark[1]
        if name == "prompt":
            return "{message}"
        return f"${{{name.removeprefix('env.')}}}" if name.startswith("env.") else f"{{state.{name}}}"

    if isinstance(value, dict):
        return {key: _placeholders(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_placeholders(each) for each in value]
    return _VARIABLE.sub(ours, value) if isinstance(value, str) else value
