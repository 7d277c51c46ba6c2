"""Reads the YAML file of custom evals into `EvalSpec`s: every eval, or every problem with its place. The fields are
described in docs/custom-evals.md; custom_evals.py makes graders of the specs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from sys import float_info
from typing import Any

import msgspec
from msgspec import Struct

from howsure.graders.eval_files import FieldPath, FileProblems, did_you_mean, read_yaml, short_json
from howsure.graders.templates import KNOWN, MISSING, is_source, offers_not_applicable, placeholders
from howsure.judges.panels import PassMark
from howsure.model.case import World
from howsure.model.score import Direction, Scale


class EvalInput(Struct, frozen=True, kw_only=True):
    """One declared input of an eval. `default` MISSING: the case must have it."""

    source: str
    default: Any = MISSING


class EvalOutput(Struct, frozen=True, kw_only=True):
    """The fields of the judge's reply that hold the value and the reason. Other fields become details."""

    score: str = "score"
    reason: str = "reason"


class EvalSpec(Struct, frozen=True, kw_only=True):
    """One eval as its file declares it. `may_not_apply`: the judge may answer "N/A". No `worlds` means all worlds.
    `filters` are labels and their allowed values."""

    name: str
    template: str
    inputs: Mapping[str, EvalInput]
    scale: Scale
    whole: bool = False
    may_not_apply: bool = False
    mark: PassMark = PassMark()
    description: str = ""
    worlds: tuple[str, ...] = ()
    filters: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    output: EvalOutput = EvalOutput()


EVALS = "evals"
WORLDS = (World.EXPLAIN, World.GOLDEN, World.TEST_SET, World.LEGAL, World.PLAIN)
FIELDS = (
    *("name", "description", "instructions", "template", "inputs", "scale", "pass_mark", "direction"),
    *("worlds", "filters", "output", "may_not_apply"),
)
_SCALE = ("min", "max", "integer")
_INPUT = ("source", "default")
_OUTPUT = ("score", "reason")
_DIRECTIONS = tuple(direction.value for direction in Direction)


def read_evals(path: Path, taken: Collection[str] = ()) -> tuple[EvalSpec, ...]:
    """The evals, or DatasetInvalid with every problem. `taken` are names that other graders have."""
    document = read_yaml(path)
    problems = FileProblems(str(path), document.lines)
    for place in document.repeated:
        problems.add("duplicate-key", place, f"`{place[-1]}` stands here twice")
    evals = _declared_evals(document.value, problems)
    specs = [_EvalReader(declared, (EVALS, position), problems).spec() for position, declared in evals]
    _check_names(evals, taken, problems)
    problems.raise_errors()
    return tuple(spec for spec in specs if spec is not None)


def _declared_evals(value: Any, problems: FileProblems) -> list[tuple[int, Mapping[str, Any]]]:
    if not isinstance(value, Mapping) or not isinstance(value.get(EVALS), list) or not value[EVALS]:
        found = value.get(EVALS) if isinstance(value, Mapping) else value
        expected = "a list of evals under `evals`"
        problems.add("missing-field", (EVALS,), f"there must be {expected}", expected=expected, found=short_json(found))
        return []
    problems.add_unknown_fields((), value, (EVALS,), "a file of evals")
    evals = []
    for position, declared in enumerate(value[EVALS]):
        if isinstance(declared, Mapping):
            evals.append((position, declared))
        else:
            problems.add_wrong_type((EVALS, position), "an eval: its fields by name", declared)
    return evals


def _check_names(evals: list[tuple[int, Mapping[str, Any]]], taken: Collection[str], problems: FileProblems) -> None:
    first: dict[str, int] = {}
    for position, declared in evals:
        name, place = declared.get("name"), (EVALS, position, "name")
        if not isinstance(name, str):
            continue
        if name in first:
            earlier = problems.line_of((EVALS, first[name], "name"))
            message = f"a second eval is named {name!r}; the first is on line {earlier}"
            problems.add("duplicate-name", place, message, found=name)
        elif name in taken:
            hint = "choose another name: scores, marks and recordings go by it"
            problems.add("name-taken", place, f"a grader is named {name!r} already", found=name, hint=hint)
        first.setdefault(name, position)


class _EvalReader:
    """Reads one eval of the file. A wrong field is added to the problems and replaced by a harmless value."""

    def __init__(self, fields: Mapping[str, Any], place: FieldPath, problems: FileProblems) -> None:
        self._fields = fields
        self._place = place
        self._problems = problems

    def spec(self) -> EvalSpec | None:
        self._problems.add_unknown_fields(self._place, self._fields, FIELDS, "an eval")
        name = self._text("name", required=True)
        inputs = self._inputs()
        template = self._template(inputs)
        scale, whole = self._scale()
        mark, worlds, filters, output = self._mark(scale), self._worlds(), self._filters(), self._output()
        if scale is None:
            return None
        return EvalSpec(
            name=name,
            description=self._text("description"),
            template=template,
            inputs=inputs,
            scale=scale,
            whole=whole,
            may_not_apply=self._may_not_apply(template),
            mark=mark,
            worlds=worlds,
            filters=filters,
            output=output,
        )

    def _text(self, field: str, *, required: bool = False) -> str:
        declared = self._fields.get(field)
        if declared is None and not required:
            return ""
        if isinstance(declared, str) and (declared.strip() or not required):
            return declared
        if declared is None:
            self._add("missing-field", (field,), f"`{field}` is required", expected="a text")
        else:
            self._add_wrong_type((field,), "a text", declared)
        return ""

    def _inputs(self) -> dict[str, EvalInput]:
        declared = self._fields.get("inputs")
        if not isinstance(declared, Mapping) or not declared:
            expected = "the eval's inputs: a source for each name"
            code = "missing-field" if declared is None else "wrong-type"
            self._add(code, ("inputs",), f"must be {expected}", expected=expected, found=short_json(declared))
            return {}
        return {str(name): self._input(str(name), value) for name, value in declared.items()}

    def _input(self, name: str, declared: Any) -> EvalInput:
        if placeholders(f"{{{name}}}") != (name,):
            expected = "letters, digits and _, not starting with a digit"
            self._add("bad-name", ("inputs", name), f"{name!r} cannot be a placeholder", expected=expected, found=name)
        if not isinstance(declared, Mapping):
            return EvalInput(source=self._source(("inputs", name), declared))
        self._problems.add_unknown_fields((*self._place, "inputs", name), declared, _INPUT, "an input")
        source = self._source(("inputs", name, "source"), declared.get("source"))
        return EvalInput(source=source, default=declared.get("default", MISSING))

    def _source(self, place: FieldPath, declared: Any) -> str:
        if isinstance(declared, str) and is_source(declared):
            return declared
        hint = did_you_mean(declared, KNOWN) if isinstance(declared, str) else ""
        message = f"{short_json(declared)} is not a source of inputs"
        self._add("unknown-source", place, message, expected=", ".join(KNOWN), found=short_json(declared), hint=hint)
        return ""

    def _template(self, inputs: Mapping[str, EvalInput]) -> str:
        """The instructions with the template below them. Without a template, the inputs follow in their order."""
        instructions, template = self._text("instructions"), self._text("template")
        if not instructions.strip() and not template.strip():
            expected = "`instructions`, `template` or both"
            self._add(
                "missing-field", ("instructions",), f"the eval asks nothing: it needs {expected}", expected=expected
            )
        for field, text in (("instructions", instructions), ("template", template)):
            for name in placeholders(text):
                if name not in inputs:
                    hint = (
                        did_you_mean(name, inputs)
                        or f"declare it under `inputs`, or write {{{{{name}}}}} to show braces"
                    )
                    message, known = f"{{{name}}} is not an input of this eval", ", ".join(inputs)
                    self._add("unknown-placeholder", (field,), message, expected=known, found=f"{{{name}}}", hint=hint)
        if template.strip():
            used = {*placeholders(instructions), *placeholders(template)}
            for name in inputs:
                if name not in used:
                    hint = f"write {{{name}}} where it belongs, or remove it"
                    message = f"the input `{name}` has no place in the template"
                    self._add("unused-input", ("inputs", name), message, expected=f"{{{name}}}", hint=hint)
        return "\n\n".join(text.strip() for text in (instructions, template) if text.strip())

    def _scale(self) -> tuple[Scale | None, bool]:
        declared = self._fields.get("scale")
        if not isinstance(declared, Mapping):
            expected = "`min` and `max`, and `integer` where only whole numbers count"
            code = "missing-field" if declared is None else "wrong-type"
            self._add(code, ("scale",), f"`scale` must have {expected}", expected=expected, found=short_json(declared))
            return None, False
        self._problems.add_unknown_fields((*self._place, "scale"), declared, _SCALE, "a scale")
        low, high = self._number("scale", "min", declared.get("min")), self._number("scale", "max", declared.get("max"))
        whole = declared.get("integer", False)
        if not isinstance(whole, bool):
            self._add_wrong_type(("scale", "integer"), "true or false", whole)
        if low is None or high is None:
            return None, False
        if low >= high:
            self._add("bad-scale", ("scale",), "`min` must be less than `max`", found=f"{low:g} to {high:g}")
            return None, False
        if whole is True and not (low.is_integer() and high.is_integer()):
            message = "an integer scale has whole ends"
            self._add("bad-scale", ("scale",), message, expected="whole numbers", found=f"{low:g} to {high:g}")
        return Scale(low, high), whole is True

    def _number(self, *place: Any) -> float | None:
        *path, value = place
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max:
            return float(value)
        self._add_wrong_type(tuple(path), "a number", value)
        return None

    def _mark(self, scale: Scale | None) -> PassMark:
        declared = self._fields.get("direction", Direction.HIGHER.value)
        if declared not in _DIRECTIONS:
            expected = ", ".join(_DIRECTIONS)
            self._add("unknown-value", ("direction",), "is no direction", expected=expected, found=short_json(declared))
            return PassMark()
        direction = Direction(declared)
        if self._fields.get("pass_mark") is None:
            return PassMark(None, direction)
        mark = self._number("pass_mark", self._fields["pass_mark"])
        if mark is not None and scale is not None and mark not in scale:
            message = "a mark that no value can reach, or that none can miss, says nothing"
            self._add("bad-mark", ("pass_mark",), message, expected=f"a number from {scale}", found=f"{mark:g}")
        if direction is Direction.NEITHER:
            message = "where neither end is good, nothing passes or fails"
            hint = "set `direction` to higher or lower, or remove the mark"
            self._add("bad-mark", ("pass_mark",), message, found=short_json(mark), hint=hint)
        return PassMark(mark, direction)

    def _may_not_apply(self, question: str) -> bool:
        """As the file says; else whether the question itself offers it."""
        declared = self._fields.get("may_not_apply")
        if declared is not None and not isinstance(declared, bool):
            self._add_wrong_type(("may_not_apply",), "true or false", declared)
        return offers_not_applicable(question) if declared is None else declared is True

    def _worlds(self) -> tuple[str, ...]:
        declared = self._fields.get("worlds") or []
        if not isinstance(declared, list):
            self._add_wrong_type(("worlds",), "a list of worlds", declared)
            return ()
        for place, world in enumerate(declared):
            if world not in WORLDS:
                hint = did_you_mean(world, WORLDS) if isinstance(world, str) else ""
                message, expected = f"{short_json(world)} is not a world", ", ".join(WORLDS)
                self._add(
                    "unknown-value", ("worlds", place), message, expected=expected, found=short_json(world), hint=hint
                )
        return tuple(map(str, declared))

    def _filters(self) -> dict[str, tuple[str, ...]]:
        declared = self._fields.get("filters") or {}
        if not isinstance(declared, Mapping):
            self._add_wrong_type(("filters",), "the values that labels may have, by label", declared)
            return {}
        filters = {}
        for label, values in declared.items():
            listed = values if isinstance(values, list) else [values]
            if not listed or not all(isinstance(value, str | int | float) for value in listed):
                self._add_wrong_type(("filters", str(label)), "a text, or a list of texts", values)
            # As labels are written: `true`, not `True`.
            filters[str(label)] = tuple(str(each).lower() if isinstance(each, bool) else str(each) for each in listed)
        return filters

    def _output(self) -> EvalOutput:
        declared = self._fields.get("output") or {}
        if not isinstance(declared, Mapping):
            self._add_wrong_type(("output",), "the names of the reply's fields: `score` and `reason`", declared)
            return EvalOutput()
        for field, name in declared.items():
            self._problems.add_unknown_fields((*self._place, "output"), [field], _OUTPUT, "an output")
            if field in _OUTPUT and (not isinstance(name, str) or not name.strip()):
                self._add_wrong_type(("output", field), "the name of a field", name)
        return EvalOutput(**{field: declared[field] for field in _OUTPUT if isinstance(declared.get(field), str)})

    def _add(
        self, code: str, path: FieldPath, message: str, *, expected: str = "", found: str = "", hint: str = ""
    ) -> None:
        self._problems.add(code, (*self._place, *path), message, expected=expected, found=found, hint=hint)

    def _add_wrong_type(self, path: FieldPath, expected: str, value: Any) -> None:
        self._problems.add_wrong_type((*self._place, *path), expected, value)
