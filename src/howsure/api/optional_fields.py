"""Optional fields of rules, items, questions and tools. An answer has all of them, null or empty where the author left
them out; what is stored has only those that were given. So a document that was read can be sent back unchanged."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

Json = dict[str, Any]


def with_optional_fields(model: type[BaseModel], content: Json) -> Json:
    """The content with every field that the parts of the model have; those of the whole are complete."""
    return _with_parts(model, content, _complete)


def without_defaults(model: type[BaseModel], content: Json) -> Json:
    """The content without known fields that only hold their default."""
    return _with_parts(model, content, _reduced)


def _complete(model: type[BaseModel], part: Json) -> Json:
    """Published fields first, then those that its author added."""
    own = {
        name: part[name] if name in part else _default(field)
        for name, field in model.model_fields.items()
        if name in part or not field.is_required()
    }
    return {**own, **part}


def _reduced(model: type[BaseModel], part: Json) -> Json:
    fields = model.model_fields
    return {
        name: value
        for name, value in part.items()
        if name not in fields or fields[name].is_required() or value != _default(fields[name])
    }


def _default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)


def _with_parts(model: type[BaseModel], content: Json, change: Callable[[type[BaseModel], Json], Json]) -> Json:
    changed = dict(content)
    for name, part_model in _parts(model).items():
        value = content.get(name)
        if isinstance(value, dict):
            changed[name] = change(part_model, _with_parts(part_model, value, change))
        elif isinstance(value, list):
            changed[name] = [
                change(part_model, _with_parts(part_model, each, change)) if isinstance(each, dict) else each
                for each in value
            ]
    return changed


@cache
def _parts(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The fields of a model that hold other models, or lists of them."""
    found = {name: _model_in(field.annotation) for name, field in model.model_fields.items()}
    return {name: inner for name, inner in found.items() if inner is not None}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _model_in(each)) is not None), None)
