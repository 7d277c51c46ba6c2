"""The JSON Schema of `howsure.yaml` (`howsure schema settings`), made from the structs that it is read into. What is
said of a key is the sentence that stands below it there."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise
from textwrap import dedent
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.inspect import DictType, StructType, UnionType, VarTupleType, multi_type_info

from howsure.config import Settings
from howsure.kit import Kit
from howsure.targets.chat.tools import ChatSettings

REF = "#/$defs/"


def settings_schema(kit: Kit) -> dict[str, Any]:
    """The schema, with the settings of every kind of target that names its struct as `settings`."""
    kinds = {kind.name: getattr(kind, "settings", None) for kind in kit.kinds}
    blocks = {"chat": ChatSettings, **{name: struct for name, struct in kinds.items() if struct}}
    structs = (Settings, *blocks.values())
    (top, *refs), parts = msgspec.json.schema_components(structs, ref_template=REF + "{name}")
    for struct in _with_inner(structs):
        for name, text in field_texts(struct).items():
            parts[struct.__name__]["properties"][name]["description"] = text
    for name, block in blocks.items():
        shape = parts[block.__name__]
        kind = {"const": name, "description": "The kind of target; needed."}
        shape |= {"properties": {"kind": kind, **shape["properties"]}, "additionalProperties": False}
    chosen = [
        {"if": {"properties": {"kind": {"const": name}}}, "then": ref} for name, ref in zip(blocks, refs, strict=True)
    ]
    names = {"kind": {"enum": ["chat", *kinds]}}
    target = {"type": "object", "required": ["kind"], "properties": names, "allOf": chosen}
    parts["Settings"]["properties"]["targets"]["additionalProperties"] = target
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "$defs": parts}


def _with_inner(structs: tuple[type[Struct], ...]) -> set[type[Struct]]:
    """The structs, and those that their fields hold."""
    found: set[type[Struct]] = set()
    waiting = list(multi_type_info(structs))
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, StructType) and kind.cls not in found:
            found.add(kind.cls)
            waiting += [each.type for each in kind.fields]
        elif isinstance(kind, UnionType):
            waiting += kind.types
        elif isinstance(kind, DictType | VarTupleType):
            waiting.append(kind.value_type if isinstance(kind, DictType) else kind.item_type)
    return found


def field_texts(struct: type[Struct]) -> dict[str, str]:
    """The sentence that stands below each field, in the struct and in those that it extends."""
    texts: dict[str, str] = {}
    for kind in reversed(struct.__mro__[: struct.__mro__.index(Struct)]):
        (tree,) = ast.parse(dedent(inspect.getsource(kind))).body
        assert isinstance(tree, ast.ClassDef)
        for field, below in pairwise(tree.body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                texts[ast.unparse(field.target)] = " ".join(ast.literal_eval(below.value).split())
    return texts
