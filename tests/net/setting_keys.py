"""Every key of `howsure.yaml`, from its JSON Schema: the list that the net is held to, and the tables of
docs/settings.md
(`make settings-docs`)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from howsure.kit.plugins import builtin_kit
from howsure.kit.settings_schema import REF, settings_schema

Json = dict[str, Any]
TABLE = re.compile(r"(?<=<!-- keys of )(?P<places>[^>]+) -->\n.*?(?=<!-- end -->)", re.DOTALL)
WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "object": "block"}
TOP = "howsure.yaml"
HEAD = "| key | type | default | what it does |\n| --- | --- | --- | --- |\n"


class SettingKey(Struct, frozen=True, kw_only=True):
    """One key. In its place, `*` stands for any name, `*[http]` for the name of a target of that kind, `[]` for each
    entry of a list."""

    place: str
    name: str
    type: str
    default: str
    text: str
    values: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return f"{self.place}.{self.name}".removeprefix(".")


def setting_keys(schema: Json, place: str = "", block: str = "Settings") -> Iterator[SettingKey]:
    """The keys of a block, each followed by those inside it."""
    shape = schema["$defs"][block]
    for name, part in shape["properties"].items():
        path = f"{place}.{name}" if place else name
        given = part.get("default")
        default = msgspec.json.encode(given).decode().strip('"') if isinstance(given, str | int | float) else ""
        inner = [(within, ref, schema["$defs"][ref]) for within, ref in _blocks(path, part)]
        yield SettingKey(
            place=place,
            name=name,
            type=_words(part, schema),
            default="needed" if name in shape.get("required", ()) else default,
            text=part.get("description", ""),
            values=tuple(value for *_, kind in inner for value in kind.get("enum", ())),
        )
        for within, ref, kind in inner:
            if "properties" in kind:
                yield from setting_keys(schema, within, ref)


def _blocks(path: str, part: Json) -> Iterator[tuple[str, str]]:
    """The definitions that a part of the schema refers to, each with the place where it holds."""
    match part:
        case {"$ref": str(ref)}:
            yield path, ref.removeprefix(REF)
        case {"anyOf": [*options]}:
            for each in options:
                yield from _blocks(path, each)
        case {"items": dict(each)}:
            yield from _blocks(f"{path}[]", each)
        case {"additionalProperties": {"allOf": [*kinds]}}:
            for each in kinds:
                yield from _blocks(f"{path}.*[{each['if']['properties']['kind']['const']}]", each["then"])
        case {"additionalProperties": dict(each)}:
            yield from _blocks(f"{path}.*", each)
        case _:
            pass


def _words(part: Json, schema: Json) -> str:
    match part:
        case {"$ref": str(ref)}:
            return _words(schema["$defs"][ref.removeprefix(REF)], schema)
        case {"const": str(value)}:
            return f"`{value}`"
        case {"enum": [*values]}:
            return " or ".join(f"`{value}`" for value in values)
        case {"anyOf": [*options]}:
            return " or ".join(_words(each, schema) for each in options if each != {"type": "null"})
        case {"items": dict(each)}:
            return f"list of {_words(each, schema)}"
        case {"additionalProperties": dict(each)}:
            return f"{_words(each, schema)} by name"
        case _:
            return WORDS.get(part.get("type", ""), "any value")


def all_keys() -> list[SettingKey]:
    return list(setting_keys(settings_schema(builtin_kit(()))))


def settings_page(page: str) -> str:
    """The page with its tables written anew. Places that have the same keys share a table."""
    keys = all_keys()

    def table(match: re.Match[str]) -> str:
        place = match["places"].split()[0].removeprefix(TOP)
        rows = [
            f"| `{key.name}` | {key.type} | {f'`{key.default}`' if key.default else ''} | {key.text} |\n"
            for key in keys
            if key.place == place
        ]
        return f"{match['places']} -->\n{HEAD}{''.join(rows)}"

    return TABLE.sub(table, page)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(settings_page(path.read_text(encoding="utf-8")), encoding="utf-8")
