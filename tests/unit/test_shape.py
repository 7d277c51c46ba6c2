"""Plain names and a plain shape: what STYLE and the architecture page promise of the source, held by a test."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "howsure"
PARTICIPLES = {
    "Again", "Among", "Begun", "Beside", "Chosen", "Done", "Drawn", "Elsewhere", "Far", "Found", "Given", "Gone",
    "Held", "Kept", "Known", "Left", "Lost", "Made", "Met", "Read", "Said", "Seen", "Sent", "Shown", "Spoken",
    "Taken", "Together", "Told", "Within", "Written",
}  # fmt: skip
NOUNS = {"Unscored", "Unauthorized", "Feed", "Seed", "Speed", "Need"}
"""Words in -ed that name a thing."""
ON_THE_WIRE = {
    "AgentStatus", "Agreement", "AnnotatorAgreement", "ApiKey", "AuditEntry", "DatasetPin", "DocumentDifference",
    "HumanLabel", "ModelSpending", "Result", "Revision", "Rubric", "Run", "RunAgreement", "Tally", "Webhook",
    "WebhookDelivery",
}  # fmt: skip
"""The only names that occur twice: one concept inside, and as the API shows it (`wire/`)."""
EMPTY_WORDS = {"manager", "handler", "processor", "helper", "helpers", "util", "utils"}
FRAMEWORK_NAMES = {"get_route_handler"}
GERUNDS = {"testing", "matching"}
"""Modules that are named by what a reader knows them as: fakes for tests, and matching of values."""


@cache
def modules() -> dict[str, ast.Module]:
    files = (path for path in SOURCE.rglob("*.py") if "migrations" not in path.parts)
    return {str(path.relative_to(SOURCE)): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(files)}


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for file, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{file}:{node.lineno} {node.name}", node


def classes() -> dict[str, list[str]]:
    """The files that define a class of each name."""
    places: dict[str, list[str]] = defaultdict(list)
    for file, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file)
    return places


def is_participle(name: str) -> bool:
    word = name.lstrip("_")
    return word in PARTICIPLES or (re.fullmatch(r"[A-Z][a-z]+ed", word) is not None and word not in NOUNS)


def test_no_class_is_named_by_a_bare_participle_or_adverb() -> None:
    assert {name: files for name, files in classes().items() if is_participle(name)} == {}


def test_one_name_means_one_class_but_for_what_is_also_on_the_wire() -> None:
    several = {name: files for name, files in classes().items() if len(files) > 1}
    assert set(several) <= ON_THE_WIRE
    for name, files in several.items():
        assert len(files) == 2, (name, files)
        assert sum(file.startswith("wire/") for file in files) == 1, (name, files)


def test_no_module_is_named_by_a_gerund_and_none_by_an_empty_word() -> None:
    names = {part for file in modules() for part in Path(file).with_suffix("").parts}
    assert {name for name in names if re.search(r"(?<!str)ing$", name)} - GERUNDS == set()
    assert {name for name in names if set(name.split("_")) & EMPTY_WORDS} == set()


def test_no_name_is_an_empty_word() -> None:
    found = [place for place, node in functions() if set(node.name.lower().split("_")) & EMPTY_WORDS]
    named = [name for name in classes() if {part.lower() for part in re.findall(r"[A-Z][a-z]+", name)} & EMPTY_WORDS]
    assert [place for place in found if place.split()[-1] not in FRAMEWORK_NAMES] + named == []


def test_no_function_is_over_sixty_lines_and_no_import_hides_in_one() -> None:
    long, importing = [], []
    for place, node in functions():
        if (node.end_lineno or node.lineno) - node.lineno >= 60:
            long.append(place)
        if any(isinstance(child, ast.Import | ast.ImportFrom) for child in ast.walk(node)):
            importing.append(place)
    assert (long, importing) == ([], [])


def imported_names() -> Iterator[tuple[str, str, str]]:
    """What is taken from a module that is imported by name, which no type checker follows: place, module, name."""
    for file, tree in modules().items():
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            bound: dict[str, str] = {}
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and (name := imported_by_name(node.value)):
                    bound[ast.unparse(node.targets[0])] = name
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute):
                    module = imported_by_name(node.value) or bound.get(ast.unparse(node.value), "")
                    if module:
                        yield f"{file}:{node.lineno}", module, node.attr


def imported_by_name(node: ast.expr) -> str:
    """The file of the module, where this is `import_module` with one of ours."""
    called = re.fullmatch(r"import_module\('howsure\.([\w.]+)'\)", ast.unparse(node))
    path = called[1].replace(".", "/") if called else ""
    return next((file for file in (f"{path}.py", f"{path}/__init__.py") if file in modules()), "")


def test_what_is_taken_from_a_module_imported_by_name_is_there() -> None:
    taken = list(imported_names())
    assert len(taken) > 20, "the test finds them"
    missing = [
        f"{place} {name}"
        for place, module, name in taken
        if not re.search(rf"^(async )?(def|class) {name}\b|^{name}\b|\bimport .*\b{name}\b", text(module), re.MULTILINE)
    ]
    assert not missing


@cache
def text(file: str) -> str:
    return (SOURCE / file).read_text(encoding="utf-8")


def test_only_the_boundary_catches_everything() -> None:
    broad = [
        f"{file}:{node.lineno}"
        for file, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
    ]
    silenced = [file for file in modules() if "suppress(Exception)" in (SOURCE / file).read_text(encoding="utf-8")]
    # Whatever `str` of an error does, its message must not break what reports it.
    assert (broad, silenced) == ([], ["errors.py"])


def test_the_heart_fits_one_screen_and_a_contract_two() -> None:
    def lines(file: str) -> int:
        return len((SOURCE / file).read_text(encoding="utf-8").splitlines())

    assert lines("engine/attempt.py") <= 60
    contracts = ("dialects", "targets", "users", "graders", "judges")
    assert {package: lines(f"{package}/base.py") for package in contracts if lines(f"{package}/base.py") > 130} == {}


def test_every_module_says_what_lives_in_it() -> None:
    assert [file for file, tree in modules().items() if not ast.get_docstring(tree)] in ([], ["__init__.py"])


def test_the_source_stays_light() -> None:
    """Weight is a cost that the next reader pays (STYLE, the card)."""
    assert len(modules()) <= 640
    assert sum(len((SOURCE / file).read_text(encoding="utf-8").splitlines()) for file in modules()) <= 110_000
