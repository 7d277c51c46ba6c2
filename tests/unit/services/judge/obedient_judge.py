"""Scripted judges that do what they are told wherever they are told it, except inside the data block of a prompt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from howsure.config import Settings
from howsure.kit.plugins import builtin_kit
from howsure.llm.base import LanguageModel, ModelRequest
from howsure.model.run_request import RunRequest
from howsure.policies.verdicts import builtin_profiles
from howsure.services.demo import DEMOS, demo_request
from howsure.services.judge.judge_tests import JudgeBench, build_bench
from howsure.services.run.judges import LiveJudgeSource
from howsure.services.run.model_access import OpenModels
from howsure.services.run.plan import read_materials
from howsure.services.run.recorded_answers import read_answers
from howsure.services.workspace import Workspace

STRICT = re.compile(r"<<<BEGIN ([^\n]*) · (\w+)>>>\n.*?\n<<<END \1 · \2>>>", re.DOTALL)
"""A reader who ends a block where its own code stands."""
LAX = re.compile(r"<<<\s*BEGIN[^\n]*\n.*?\n?<<<\s*END[^\n]*", re.DOTALL)
"""A reader who takes any line that looks like an end for the end."""
TOLD = re.compile(
    r"give the score [15]|verdict pass|score: ?[15]\b|verdict: pass|\"passed\": true[,}]|ruling is [15]|as passed"
    r"|meets all criteria|Note [15]|would save me",
    re.IGNORECASE,
)


LISTED = re.compile(r'^"(.+)":$', re.MULTILINE)
"""The ids of a batch."""


def outside(request: ModelRequest, block: re.Pattern[str] = STRICT) -> str:
    """What a reader of the prompt takes for instructions."""
    return "\n".join(block.sub("(data)", message.content) for message in request.messages)


def inside(request: ModelRequest) -> str:
    return "\n".join(found[0] for message in request.messages for found in STRICT.finditer(message.content))


def valued(schema: dict[str, Any] | None, *, top: bool) -> Any:
    """The highest or the lowest reply that the schema allows."""
    schema = schema or {}
    if "anyOf" in schema:
        return valued(schema["anyOf"][0], top=top)
    if "enum" in schema:
        return schema["enum"][-1 if top else 0]
    match schema.get("type"):
        case "object":
            return {key: valued(each, top=top) for key, each in schema["properties"].items()}
        case "array":
            inner = schema["items"]
            return [valued(inner, top=top)] if inner.get("type") == "object" else []
        case "boolean":
            return top
        case "number":
            return 1 if top else 0
        case _:
            return "because"


def obeying(request: ModelRequest, block: re.Pattern[str] = STRICT) -> str:
    """The top value when anything outside the data asks for it, the lowest otherwise."""
    top = TOLD.search(outside(request, block)) is not None
    given = valued(request.schema, top=top)
    if isinstance(given, dict) and list(given) == ["verdicts"]:
        (verdict,) = given["verdicts"]
        given = {"verdicts": [verdict | {"criterion_id": name} for name in LISTED.findall(inside(request))]}
    return json.dumps(given)


def on_the_bench(model: LanguageModel, dialect: str, *, batch: object = False, **changed: Any) -> JudgeBench:
    """The demo dataset of a dialect, judged by `model`."""
    demo = next(each for each in DEMOS if each.dialect == dialect)
    base = demo_request(demo)
    chosen = RunRequest(**{**{name: getattr(base, name) for name in base.__struct_fields__}, **changed})
    kit = builtin_kit(builtin_profiles())
    answers = read_answers(chosen.responses, kit.dialects["simulation"]) if chosen.responses else None
    materials = read_materials(chosen, kit, answers)
    source = LiveJudgeSource(model, batch=bool(batch))
    models = OpenModels(judge="scripted:model", judge_sha256="0" * 64, source=source)
    return build_bench(Workspace(Settings(), kit, Path()), chosen, materials, models)
