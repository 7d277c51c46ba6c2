"""The `explain` dialect: JSONL of cases with up to nine Explain evals (docs/dialects/explain.md describes every field
and problem). explain_inputs.py knows the payloads, explain_checks.py the rules, explain_cases.py the Cases.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from howsure.dialects import extras
from howsure.dialects.explain_cases import case_of, explain_rows
from howsure.dialects.explain_checks import row_problems
from howsure.dialects.explain_fast import Line, case_of_line, decoded, is_sound, is_usual
from howsure.dialects.explain_inputs import canonical, completed
from howsure.dialects.explain_schema import PROFILES, SCHEMA
from howsure.dialects.json_places import Spot
from howsure.dialects.lines import Ids, Watch, first_keys, not_an_object, opened, read_lines, write_checked
from howsure.dialects.scenarios import Catalog, find_catalogs, read_catalog
from howsure.dialects.schema_fit import Shape
from howsure.dialects.strict_json import parse
from howsure.dialects.wording import did_you_mean, shown
from howsure.errors import Level, Problem
from howsure.model.case import Case

_SHAPE = Shape(SCHEMA)
_TELLING = {"agent_name", "explain_inputs", "required_evals", "quality_band", "threshold_profile"}


M = TypeVar("M")


class ExplainDialect:
    """JSONL of Explain cases. `profiles` are the threshold profiles a case may name; None: any."""

    name = "explain"
    brings_answers = True
    """In a survey, None stands for a case that has its answer with it."""

    def __init__(self, profiles: Collection[str] | None = PROFILES) -> None:
        self._profiles = profiles

    def schema(self) -> dict[str, Any]:
        return SCHEMA

    def detect(self, path: Path, head: bytes) -> bool:
        keys = set(first_keys(head))
        return len(keys & _TELLING) >= 2 and ("case_id" in keys or "question" in keys)

    def read(self, path: Path) -> Iterator[Case | Problem]:
        return self.read_watched(path)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        return self._read(path, watch, case_of_line)

    def _read(self, path: Path, watch: Watch | None, made: Callable[[Line], M]) -> Iterator[Case | Problem | M]:
        catalogs, ids = [read_catalog(found) for found in find_catalogs(path)], Ids("case_id")
        yield from _catalog_problems(catalogs, path)
        name = str(path)
        with opened(path, watch) as stream:
            for number, text in read_lines(stream):
                line = decoded(text)
                if (
                    line is not None
                    and is_sound(line, text, self._profiles)
                    and _is_linked(line, number, ids, catalogs)
                ):
                    yield made(line)
                else:
                    yield from self._line(text, Spot(name, number), ids, catalogs)

    def survey(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem | None]:
        """As `read_watched`, with None for each case that there is nothing to say about and that brings its answer."""
        return self._read(path, watch, lambda _: None)

    def read_again(self, path: Path, watch: Watch) -> Iterator[Case | Problem]:
        """The cases of a file that was found valid, and is hashed to be the same."""
        ids, name = Ids("case_id"), str(path)
        with opened(path, watch) as stream:
            for number, text in read_lines(stream):
                line = decoded(text)
                if line is not None and is_usual(line):
                    yield case_of_line(line)
                else:
                    yield from self._line(text, Spot(name, number), ids, ())

    def write(self, cases: Iterable[Case], path: Path) -> None:
        ids = Ids("case_id")
        write_checked(explain_rows(cases, path), path, lambda text, spot: self._line(text, spot, ids, ()))

    def _line(self, text: bytes, spot: Spot, ids: Ids, catalogs: Iterable[Catalog]) -> Iterator[Case | Problem]:
        """Every problem of a line; the case too, where they are only warnings."""
        row, problems = parse(text, file=spot.file, line=spot.line)
        if not isinstance(row, dict):
            yield from problems or [not_an_object(row, spot)]
            return
        row, misnamed = canonical(row, spot)
        row = completed(row)
        problems += [*misnamed, *_SHAPE.problems(row, spot)]
        apart = extras.set_apart(row, SCHEMA, spot)
        problems += [*row_problems(row, spot, self._profiles), *_links(row, spot, ids, catalogs), *apart.warnings]
        if all(problem.level is Level.WARNING for problem in problems):
            yield case_of(row, apart.kept)
        yield from problems


def _is_linked(line: Line, number: int, ids: Ids, catalogs: Iterable[Catalog]) -> bool:
    """Its scenario is known, and its id is new: asked last, for asking makes it known."""
    return all(line.scenario_id in catalog.ids for catalog in catalogs) and ids.is_new(line.case_id, number)


def _links(row: dict[str, Any], spot: Spot, ids: Ids, catalogs: Iterable[Catalog]) -> Iterator[Problem]:
    """What a row shares with other rows and files."""
    id, scenario = row.get("case_id"), row.get("scenario_id")
    if isinstance(id, str) and spot.line is not None and not ids.is_new(id, spot.line):
        yield ids.repeated(id, spot)
    for catalog in catalogs:
        if isinstance(scenario, str) and scenario.strip() and scenario not in catalog.ids:
            message = f"the catalog {catalog.path.name} has no scenario {shown(scenario)}"
            hint = did_you_mean(scenario, catalog.ids)
            yield spot.below("scenario_id").problem("unknown-scenario", message, found=shown(scenario), hint=hint)


def _catalog_problems(catalogs: list[Catalog], path: Path) -> Iterator[Problem]:
    for catalog in catalogs:
        yield from catalog.problems
    if len(catalogs) > 1:
        names = ", ".join(catalog.path.name for catalog in catalogs)
        message = f"{len(catalogs)} scenario catalogs stand beside this dataset: {names}"
        yield Problem(code="several-catalogs", message=message, file=str(path), hint="keep one of them there")
