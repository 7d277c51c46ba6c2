"""Reading the golden world's definition files (`metrics` by name, with templates and the columns that fill them) as
they are: every definition, or every problem with its place. docs/custom-evals.md describes the fields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from howsure.errors import DatasetInvalid, Level, Problem
from howsure.graders.case_sources import MISSING
from howsure.graders.definitions import Column, Composed, Definition
from howsure.graders.file_findings import Findings, close_to, shown
from howsure.graders.file_findings import Path as Place
from howsure.graders.measures import NAMES as MEASURES
from howsure.graders.templates import placeholders
from howsure.model.score import UNIT, Scale
from howsure.policies.golden import JUDGED_SHARES

TOP, PREFIX, COMMENT = "metrics", "metric_prefix", "_comment"
BY_PROGRAM = ("tool_usage_accuracy", "trajectory_accuracy", "state_management_fidelity", "agent_routing", *MEASURES)
JUDGED = "_judged"
"""What the name of a judged eval ends in where a program measures the same thing under the plain name."""
SUPPLIED = ("prompt", "response")
"""Placeholders that need no mapping."""
FIELDS = (
    *("metric_type", "is_managed", "managed_metric_name", "use_gemini_format", "natural_language_guidelines"),
    *("agents", "score_range", "dataset_mapping", "template", "instruction", "criteria", "rating_scores"),
    *("description", "applies_to"),
)
EVERYBODY = "data_explorer_agent"
"""The agent that the tools of the golden world put where a definition named none."""
_MAPPING = ("source_column", "default", "transform", "template", "source_columns")

Json = dict[str, Any]
Warn = Callable[[Problem], object]


def read_definitions(path: Path, warn: Warn | None = None) -> tuple[Definition, ...]:
    """The judged definitions, or DatasetInvalid with every problem. (Those that a program measures run by themselves.)
    `warn` is told of fields that nobody reads."""
    value, findings = _loaded(path)
    prefix = value.get(PREFIX, "")
    if not isinstance(prefix, str):
        findings.wrong((PREFIX,), "a text", prefix)
        prefix = ""
    for name in value:
        if name not in (TOP, PREFIX) and not name.startswith(COMMENT):
            findings.unknown((name,), (TOP, PREFIX), "a definition file", Level.WARNING)
    made = [
        _Reader(name, given, findings).definition(prefix.strip("_"))
        for name, given in _entries(value.get(TOP), findings)
    ]
    findings.refuse()
    if warn:
        for problem in findings.warnings:
            warn(problem)
    return tuple(each for each in made if each is not None)


def _loaded(path: Path) -> tuple[Json, Findings]:
    twice: list[str] = []
    try:
        text = path.read_text(encoding="utf-8-sig")
        value = json.loads(text, object_pairs_hook=lambda pairs: _unique(pairs, twice), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        problem = Problem(code="json-syntax", message=error.msg, file=str(path), line=error.lineno, column=error.colno)
        raise DatasetInvalid(str(path), [problem]) from error
    except (OSError, ValueError, RecursionError) as error:
        problem = Problem(code="unreadable", message=f"cannot be read: {error}", file=str(path))
        raise DatasetInvalid(str(path), [problem]) from error
    names = value.get(TOP) if isinstance(value, dict) else None
    findings = Findings(str(path), _lines(text, names if isinstance(names, dict) else {}))
    for key in twice:
        findings.add("duplicate-key", (key,), f"`{key}` stands twice in one object")
    if not isinstance(value, dict):
        findings.wrong((), "an object", value)
    return (value if isinstance(value, dict) else {}), findings


def _unique(pairs: list[tuple[str, Any]], twice: list[str]) -> Json:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice += [name for name in made if names.count(name) > 1 and not name.startswith(COMMENT)]
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _lines(text: str, names: Mapping[str, Any]) -> dict[Place, int]:
    lines: dict[Place, int] = {}
    for name in names:
        found = re.search(re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:\s*\{", text)
        if found:
            lines[(TOP, name)] = text.count("\n", 0, found.start()) + 1
    return lines


def _entries(given: Any, findings: Findings) -> Iterator[tuple[str, Json]]:
    if not isinstance(given, dict) or not given:
        expected = "definitions by name"
        findings.add("missing-field", (TOP,), f"`{TOP}` must hold {expected}", expected=expected, found=shown(given))
        return
    for name, each in given.items():
        # Whatever is not an object is a remark in this format.
        if isinstance(each, dict) and not name.startswith(COMMENT):
            yield name, each


class _Reader:
    """One definition. Whatever is wrong goes to the findings."""

    def __init__(self, name: str, given: Json, findings: Findings) -> None:
        self._name = name
        self._given = {key: value for key, value in given.items() if not key.startswith(COMMENT)}
        self._findings = findings

    def definition(self, prefix: str) -> Definition | None:
        """None: a program measures it, or it has problems."""
        for key in self._given:
            if key not in FIELDS:
                self._findings.unknown((TOP, self._name, key), FIELDS, "a definition", Level.WARNING)
        kind = self._given.get("metric_type", "llm")
        if kind == "deterministic":
            self._check_program()
            return None
        if kind != "llm":
            self._add("unknown-value", "metric_type", "is no type", expected="llm, deterministic", found=shown(kind))
        full = f"{prefix}_{self._name}".lstrip("_")
        name = f"{full}{JUDGED}" if full in BY_PROGRAM else full
        agents = self._agents()
        guidelines = self._text("natural_language_guidelines")
        if self._given.get("is_managed") or self._given.get("managed_metric_name"):
            managed = self._managed()
            return Definition(name=name, scale=UNIT, agents=agents, managed=managed, guidelines=guidelines)
        scale, mapping = self._scale(), self._mapping()
        template, question = self._text("template"), self._question()
        self._check_places(template or question, mapping)
        if not template.strip() and not question.strip():
            expected = "`template`, or `instruction` and `criteria`"
            self._add("missing-field", "template", f"it asks nothing: it needs {expected}", expected=expected)
        if scale is None:
            return None
        return Definition(
            name=name,
            scale=scale,
            template=template,
            question=question,
            mapping=mapping,
            agents=agents,
            guidelines=guidelines,
        )

    def _check_program(self) -> None:
        if self._name not in BY_PROGRAM:
            message = f"no program measures {self._name!r}"
            known, hint = ", ".join(BY_PROGRAM), close_to(self._name, BY_PROGRAM)
            self._add("unknown-name", "metric_type", message, expected=known, found=self._name, hint=hint)

    def _managed(self) -> str:
        said = self._given.get("managed_metric_name", self._name)
        name = said.lower() if isinstance(said, str) else ""
        if name not in JUDGED_SHARES:
            message, known = f"{shown(said)} is no managed eval that we know", ", ".join(map(str.upper, JUDGED_SHARES))
            hint = close_to(name, JUDGED_SHARES)
            self._add("unknown-name", "managed_metric_name", message, expected=known, found=shown(said), hint=hint)
        if "score_range" in self._given and self._scale() not in (UNIT, None):
            message = "a managed eval is the share of verdicts that hold, from 0 to 1"
            self._add("bad-scale", "score_range", message, expected="0 to 1", found=shown(self._given["score_range"]))
        return name

    def _agents(self) -> tuple[str, ...]:
        given = self._given.get("agents", [])
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            self._wrong("agents", "a list of names", given)
            return ()
        return () if EVERYBODY in given else tuple(given)

    def _text(self, key: str) -> str:
        given = self._given.get(key) or ""
        if isinstance(given, str):
            return given
        self._wrong(key, "a text", given)
        return ""

    def _scale(self) -> Scale | None:
        given = self._given.get("score_range")
        if given is None and isinstance(self._given.get("rating_scores"), dict):
            return self._rated()
        if not isinstance(given, dict):
            expected = "an object with `min` and `max`"
            message = "without a range nobody knows what a value means"
            self._add("missing-field", "score_range", message, expected=expected, found=shown(given))
            return None
        ends = [given.get("min"), given.get("max")]
        if not all(isinstance(end, int | float) and not isinstance(end, bool) and isfinite(end) for end in ends):
            self._wrong("score_range", "numbers under `min` and `max`", given)
            return None
        return self._from(float(given["min"]), float(given["max"]))

    def _rated(self) -> Scale | None:
        """The range of a definition that lists its values."""
        try:
            values = sorted(float(value) for value in self._given["rating_scores"])
        except ValueError:
            values = []
        if not values or not all(map(isfinite, values)):
            self._wrong("rating_scores", "meanings by number", self._given["rating_scores"])
            return None
        return self._from(values[0], values[-1])

    def _from(self, low: float, high: float) -> Scale | None:
        if low < high:
            return Scale(low, high)
        self._add("bad-scale", "score_range", "`min` must be less than `max`", found=f"{low:g} to {high:g}")
        return None

    def _question(self) -> str:
        """The question of the first generation: an instruction, criteria and what the ratings mean."""
        lines = [self._text("instruction")]
        for title, key in (("Criteria:", "criteria"), ("Ratings:", "rating_scores")):
            given = self._given.get(key)
            if isinstance(given, dict) and given:
                lines += [title, *(f"- {name}: {meaning}" for name, meaning in given.items())]
            elif given:
                self._wrong(key, "texts by name", given)
        return "\n".join(line for line in lines if line)

    def _mapping(self) -> dict[str, Column | Composed]:
        given = self._given.get("dataset_mapping") or {}
        if not isinstance(given, dict):
            self._wrong("dataset_mapping", "columns by placeholder", given)
            return {}
        mapping: dict[str, Column | Composed] = {}
        for name, each in given.items():
            if name.startswith(COMMENT):
                continue
            mapped = self._mapped(name, each)
            if mapped is not None:
                mapping[name] = mapped
        return mapping

    def _mapped(self, name: str, given: Any) -> Column | Composed | None:
        place: Place = (TOP, self._name, "dataset_mapping", name)
        if not isinstance(given, dict):
            self._findings.wrong(
                place, "an object with `source_column`, or with `template` and `source_columns`", given
            )
            return None
        for key in given:
            if key not in _MAPPING and not key.startswith(COMMENT):
                self._findings.unknown((*place, key), _MAPPING, "a mapping", Level.WARNING)
        if "template" in given:
            return self._composed(given, place)
        source, transform = given.get("source_column"), given.get("transform")
        if transform not in (None, "last_item"):
            message = "is no transform"
            self._findings.add(
                "unknown-value", (*place, "transform"), message, expected="last_item", found=shown(transform)
            )
        if not isinstance(source, str) or not source.strip():
            if "default" in given:
                return Column(source="", default=given["default"])
            self._findings.wrong((*place, "source_column"), "the name of a column", source)
            return None
        return Column(source=source, default=given.get("default", MISSING), last=transform is not None)

    def _composed(self, given: Json, place: Place) -> Composed | None:
        template, sources = given["template"], given.get("source_columns")
        if (
            not isinstance(template, str)
            or not isinstance(sources, list)
            or not all(isinstance(s, str) for s in sources)
        ):
            self._findings.wrong(place, "a text under `template` and a list of columns under `source_columns`", given)
            return None
        made = Composed(template=template, sources=tuple(sources), default=given.get("default", MISSING))
        for name in made.places():
            if made.source_of(name) is None:
                message, known = f"{{{name}}} is none of the columns", ", ".join(sources)
                self._findings.add("unknown-placeholder", (*place, "template"), message, expected=known, found=name)
        return made

    def _check_places(self, text: str, mapping: Mapping[str, object]) -> None:
        given = self._given.get("dataset_mapping")
        known = [*mapping, *(given if isinstance(given, dict) else ()), *SUPPLIED]
        for name in placeholders(text):
            if name not in known:
                hint = close_to(name, known) or f"map it to a column, or write {{{{{name}}}}} to show braces"
                message, expected = f"{{{name}}} is mapped to no column", ", ".join(dict.fromkeys(known))
                self._add("unknown-placeholder", "template", message, expected=expected, found=f"{{{name}}}", hint=hint)

    def _add(self, code: str, key: str, message: str, *, expected: str = "", found: str = "", hint: str = "") -> None:
        self._findings.add(code, (TOP, self._name, key), message, expected=expected, found=found, hint=hint)

    def _wrong(self, key: str, expected: str, value: Any) -> None:
        self._findings.wrong((TOP, self._name, key), expected, value)
