"""The dialect `promptfoo`: a configuration (YAML or JSON) with its prompts, providers and tests, or a file of tests
alone (CSV with `__expected`, JSON lines with `vars` and `assert`). A test is a Case; a prompt is a way to ask it, so
where there are several, each of them is a candidate with every provider (ADR 0021)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import msgspec

from howsure.dialects.base import FileCandidates
from howsure.dialects.documents import JsonDocument
from howsure.dialects.importers.base import HashIds
from howsure.dialects.importers.records import finite_number
from howsure.dialects.lines import first_keys, header_of, is_table
from howsure.dialects.plain_columns import INPUT, role_of
from howsure.dialects.plain_rows import CellFault, input_of, is_chat, recording_of, short_labels, structured, text_of
from howsure.dialects.problems import OTHER_SHAPE, Spot, shown
from howsure.dialects.strict_json import top_level_keys
from howsure.dialects.tool_datasets.documents import (
    FILE_PREFIX,
    IS_CODE,
    YAML_ENDINGS,
    Row,
    ToolDialect,
    ToolFolder,
    object_in,
    wrong_type,
)
from howsure.dialects.tool_datasets.promptfoo_assertions import AssertionSet, parse_cell
from howsure.dialects.tool_datasets.promptfoo_providers import provider_candidates
from howsure.dialects.tool_datasets.templates import TemplateFailed, fill_all
from howsure.model.case import PROMPTS, UNCHECKED, Case, Input, SingleTurn
from howsure.model.expectation import CodeCheck
from howsure.policies.verdicts import PASS_RULE

EXPECTED = "__expected"
MOST_COMBINATIONS = 10_000
MOST_CASES = 1_000_000
"""Of one configuration: scenarios, and lists of variables in them, multiply."""
TEXTS = (".txt", ".md", ".j2", ".json", ".jsonl", *YAML_ENDINGS)
CODE_ENDINGS = (".py", ".js", ".ts", ".mjs", ".cjs", ".rb")
MEDIA = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".mp3", ".wav", ".mp4", ".webm", ".pdf")
_KEYS = re.compile(
    rb"^['\"]?(prompts|providers|targets|tests|defaultTest|scenarios|redteam)['\"]?[ \t]*:", re.MULTILINE
)
_SCHEMA = b"promptfoo.dev/config-schema"
_FETCHED = re.compile(r"(https?|huggingface|az|s3|gs)://")
_ENVIRONMENT = re.compile(r"\{[{%][^{}]*\benv\.")
_COMMA = re.compile(r"(?<!\\),")
USED = (
    "$schema", "description", "tags", "outputPath", "sharing", "writeLatestResults", "metadata", "commandLineOptions",
    "prompts", "providers", "targets", "tests", "defaultTest", "scenarios", "assertionTemplates",
)  # fmt: skip
"""Keys of a configuration that are used here, or make no difference."""
TEST_KEYS = frozenset((
    "description", "vars", "assert", "metadata", "options", "threshold", "providerOutput", "prefix", "suffix",
    "transform", "disableVarExpansion", "disableDefaultAsserts",
))  # fmt: skip
"""Keys of a test, and of its options, that are used here."""
Prompts = Mapping[str, str]


class PromptfooDialect(ToolDialect):
    """Reads configurations and files of tests. `languages` are those in which assertions may run."""

    name = "promptfoo"

    def __init__(self, languages: Collection[str] = ()) -> None:
        self._languages = languages

    def with_code(self, languages: Collection[str]) -> PromptfooDialect:
        return PromptfooDialect(languages)

    def detect(self, path: Path, head: bytes) -> bool:
        ending = path.suffix.lower()
        if is_table(path):
            return any(name.strip().startswith(EXPECTED) for name in header_of(head))
        if ending in (".jsonl", ".ndjson"):
            return "vars" in first_keys(head)
        if ending == ".json":
            keys = set(top_level_keys(head.decode("utf-8", "ignore")))
            return bool(keys & {"providers", "targets"}) and bool(keys & {"prompts", "tests"}) and "results" not in keys
        found = {match[1] for match in _KEYS.finditer(head)} if ending in YAML_ENDINGS else set()
        return bool(found) and (len(found) > 1 or _SCHEMA in head)

    def cases(self, folder: ToolFolder) -> Iterator[tuple[Spot, Case]]:
        config, made = _read_config(folder), 0
        prompts, ids = _prompts(config, folder), HashIds("test")
        for name in config.value.keys() - set(USED):
            folder.lack(f"`{name}` of the configuration")
        for reason in provider_candidates(config, folder, ()).refused.values():
            folder.lack("provider", why=reason)
        for spot, test in _tests(config, folder):
            for values in _combinations(test["vars"], test["options"], folder, spot.below("vars")):
                made += 1
                if made > MOST_CASES:
                    message = f"there are more than the {MOST_CASES:,} cases that are read of one configuration"
                    folder.problems.append(spot.problem("too-many", message, hint="make several files of it"))
                    return
                if case := self._case(test, values, prompts, folder, spot):
                    yield spot, msgspec.structs.replace(case, id=ids.of(_canonical(values)))

    def candidates(self, path: Path) -> FileCandidates:
        """The candidates of the configuration, and the code that checks answers."""
        folder = ToolFolder(path)
        try:
            config = _read_config(folder)
            found = provider_candidates(config, folder, tuple(_prompts(config, folder)))
            every = PromptfooDialect(("python", "javascript")).cases(folder)
            checks = [each for _, case in every for each in case.expectations if isinstance(each, CodeCheck)]
        except OTHER_SHAPE:
            return FileCandidates()  # reading it says what is wrong
        code = sorted({f"{each.language} {each.file or shown(each.code)}" for each in checks})
        files = sorted(folder.files - {each.file for each in checks}) if code else []
        return msgspec.structs.replace(found, code=tuple(code), files=tuple(files))

    def _case(self, test: Row, values: Row, prompts: Prompts, folder: ToolFolder, spot: Spot) -> Case | None:
        before, options = len(folder.problems), test["options"]
        values = {name: _content(value, folder, spot.below("vars", name)) for name, value in values.items()}
        if len(folder.problems) > before:
            return None
        asked = {name: _input(text, values, options, folder, spot) for name, text in prompts.items()}
        asked = asked or {"": _without_prompt(values, folder)}
        found = AssertionSet(values=values, folder=folder, languages=self._languages)
        found.add_all(test["assert"], spot.below("assert"))
        if options.get("transform"):
            folder.lack(f"transform of the answer ({shown(options['transform'])})", why=IS_CODE)
        for name in sorted({*test, *options} - TEST_KEYS):
            folder.lack(f"`{name}` of a test")
        inputs = [each for each in asked.values() if each is not None]
        if len(folder.problems) > before or len(inputs) < len(asked):
            return None
        rule, metadata = found.pass_rule(finite_number(test.get("threshold"))), test["metadata"]
        return Case(
            id="",
            name=str(test.get("description") or ""),
            input=inputs[0],
            expectations=found.all(),
            labels=short_labels(metadata),
            metadata={
                **metadata,
                "vars": values,
                **({UNCHECKED: found.unchecked} if found.unchecked else {}),
                **({PASS_RULE: rule} if rule else {}),
                **({PROMPTS: msgspec.to_builtins(asked)} if len(asked) > 1 else {}),
            },
            state=values,
            recorded=recording_of(test.get("providerOutput") or None),
        )


def _canonical(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def _read_config(folder: ToolFolder) -> JsonDocument:
    """The configuration; an empty one with `tests` where the file holds nothing but tests."""
    spot = Spot(str(folder.path))
    if folder.path.suffix.lower() not in (".json", *YAML_ENDINGS):
        return JsonDocument({"tests": folder.path.name}, "", spot, [])
    document = folder.document(folder.path)
    if isinstance(document.value, dict):
        return document
    if not folder.problems:
        folder.problems.append(wrong_type(spot, "an object with `prompts` and `tests`", document.value))
    return JsonDocument({}, "", spot, [])


def _prompts(config: JsonDocument, folder: ToolFolder) -> dict[str, str]:
    """The prompts under short names."""
    raw, alone = config.value.get("prompts") or [], config.spot.below("prompts")
    found: list[tuple[str, str]] = []
    for spot, each in config.elements("prompts") if isinstance(raw, list) else [(alone, raw)]:
        label = str(each.get("label") or each.get("id") or "") if isinstance(each, dict) else ""
        text = (each.get("raw") or each.get("id")) if isinstance(each, dict) else each
        text = text_of(text) if isinstance(text, list) else text
        if not isinstance(text, str):
            folder.problems.append(wrong_type(spot, "a text, or an object with `raw`", each))
        elif text.startswith(FILE_PREFIX) or (Path(text).suffix in TEXTS and "\n" not in text and "{{" not in text):
            found += _prompt_file(text.removeprefix(FILE_PREFIX), label, folder, spot)
        else:
            found.append((label, text))
    return {label or f"prompt {number}": text for number, (label, text) in enumerate(found, 1)}


def _prompt_file(name: str, label: str, folder: ToolFolder, spot: Spot) -> Iterator[tuple[str, str]]:
    """The prompts in a file, or in all that a pattern names; `---` separates those of a text."""
    if not name.endswith(TEXTS):
        code = name.partition(":")[0].endswith(CODE_ENDINGS)
        folder.lack(f"prompt in {name}", why=IS_CODE if code else f"has none of the endings {', '.join(TEXTS)}")
        return
    names = folder.matching(name)
    for path in filter(None, (folder.find(each, spot) for each in names or [name])):
        text = folder.text(path)
        between = {".txt": r"(?m)^---\s*$", ".jsonl": r"\n"}.get(path.suffix)
        pieces = [each for each in re.split(between, text) if each.strip()] if between else [text]
        for piece in pieces:
            yield (path.stem if len(names) > 1 and len(pieces) == 1 else label), piece.strip("\n")


def _tests(config: JsonDocument, folder: ToolFolder) -> Iterator[tuple[Spot, Row]]:
    """Every test with the defaults of the configuration."""
    default = config.value.get("defaultTest") or {}
    if not isinstance(default, dict):
        path = folder.find(str(default), config.spot.below("defaultTest"))
        default = object_in(folder.value(path)) if path else {}
    templates = object_in(config.value.get("assertionTemplates"))
    for spot, raw in _raw_tests(config, folder):
        yield spot, _merged(raw, default, templates, folder, spot)
    for spot, scenario in folder.objects(_in_files(config, "scenarios", folder), "an object with `config` and `tests`"):
        parts = [[*_scenario_rows(scenario.get(key), folder, spot.below(key))] for key in ("config", "tests")]
        if (many := prod(map(len, parts))) > MOST_COMBINATIONS:
            message = f"its `config` and `tests` have {many:,} combinations; of one scenario {MOST_COMBINATIONS:,} are"
            hint = "make several files of it, or name fewer rows"
            folder.problems.append(spot.problem("too-many", f"{message} read at most", found=f"{many:,}", hint=hint))
            continue
        for data, test in product(*(rows or [{}] for rows in parts)):
            given = (_variables(each.get("vars"), folder, spot.below("vars")) for each in (data, test))
            both = {**data, **test, "vars": {name: value for each in given for name, value in each.items()}}
            yield spot, _merged(both, default, templates, folder, spot)


def _in_files(config: JsonDocument, key: str, folder: ToolFolder) -> Iterator[tuple[Spot, Any]]:
    """The elements of a list; one that names a file of JSON or YAML is what stands in it."""
    for spot, each in config.elements(key):
        path = folder.find(each, spot) if isinstance(each, str) and each.startswith(FILE_PREFIX) else None
        value = folder.value(path) if path else each
        yield from ((spot, inner) for inner in (value if isinstance(value, list) else [value]))


def _scenario_rows(raw: Any, folder: ToolFolder, spot: Spot) -> Iterator[Row]:
    for each in raw if isinstance(raw, list) else [raw or []]:
        if isinstance(each, str):
            yield from (row for _, row in _test_file(each, spot, folder))
        else:
            yield object_in(each)


def _raw_tests(config: JsonDocument, folder: ToolFolder) -> Iterator[tuple[Spot, Row]]:
    raw, spot = config.value.get("tests"), config.spot.below("tests")
    if not raw and not config.value.get("scenarios"):
        if "redteam" in config.value:
            message = "there are no tests here: promptfoo makes those of `redteam` before it runs"
            hint = "`promptfoo redteam generate` writes them to redteam.yaml; give that file"
            folder.problems.append(config.spot.below("redteam").problem("no-tests", message, hint=hint))
        elif config.value.get("prompts"):
            yield spot, {}  # the prompts as they are
    for place, each in config.elements("tests") if isinstance(raw, list) else [(spot, raw)] if raw else ():
        if isinstance(each, dict) and "path" in each and "vars" not in each:
            each = str(each["path"])  # of a generator
        if isinstance(each, str):
            yield from _test_file(each, place, folder)
        else:
            yield from folder.objects([(place, each)], "an object with `vars` and `assert`")


def _test_file(name: str, spot: Spot, folder: ToolFolder) -> Iterator[tuple[Spot, Row]]:
    bare = name.removeprefix(FILE_PREFIX)
    if _FETCHED.match(name) or not bare.lower().endswith((".csv", ".tsv", ".jsonl", ".json", *YAML_ENDINGS, "*")):
        what = "in a workbook" if ".xls" in bare else "fetched" if _FETCHED.match(name) else "made by code"
        message, hint = (
            f"tests that are {what} are not read: {name}",
            "write them to a CSV, JSON or JSONL file in this folder",
        )
        folder.problems.append(spot.problem("no-counterpart", message, found=shown(name), hint=hint))
        return
    named = (
        [folder.path]
        if folder.path.name == bare
        else [folder.find(each, spot) for each in folder.matching(bare) or [name]]
    )
    for path in filter(None, named):
        for place, row in folder.rows(path):
            yield place, _table_test(row, folder, place) if is_table(path) else row


def _table_test(row: Row, folder: ToolFolder, spot: Spot) -> Row:
    """A row of a table: the columns that begin with `__` are not variables."""
    test: Row = {"vars": {}, "assert": [], "metadata": {}, "options": {}}
    settings: list[tuple[int, str, str]] = []
    for column, cell in ((name.strip(), value or "") for name, value in row.items()):
        kind, *parts = column.split(":")
        if column.startswith(EXPECTED):
            test["assert"] += [parse_cell(cell.strip())] if cell.strip() else []
        elif column in ("__prefix", "__suffix"):
            test["options"][column[2:]] = cell
        elif column in ("__description", "__providerOutput", "__threshold"):
            test[column[2:]] = cell
        elif kind == "__metadata" and parts and cell.strip():
            listed = [value.strip().replace("\\,", ",") for value in _COMMA.split(cell)]
            test["metadata"][parts[0].removesuffix("[]")] = listed if parts[0].endswith("[]") else cell
        elif kind == "__config" and len(parts) == 2:
            settings.append((int(re.sub(r"\D", "", parts[0]) or 1) - 1, parts[1], cell))
        elif not column.startswith("__"):
            test["vars"][column] = cell
    for place, key, cell in settings:
        number = finite_number(cell)
        if 0 <= place < len(test["assert"]) and number is not None:
            test["assert"][place][key] = number
        elif cell.strip():
            message = f"`{key}` of an assertion that is not there, or no number"
            folder.problems.append(spot.problem("invalid", message, found=shown(cell)))
    return test


def _merged(raw: Row, default: Row, templates: Row, folder: ToolFolder, spot: Spot) -> Row:
    """A test with what holds for all, and with its assertions in place of references to them."""
    given = [_variables(each.get("vars"), folder, spot.below("vars")) for each in (default, raw)]
    metadata = {**object_in(default.get("metadata")), **object_in(raw.get("metadata"))}
    parts = {"vars": {**given[0], **given[1]}, "metadata": metadata}
    options = {**object_in(default.get("options")), **object_in(raw.get("options"))}
    asserts: Any = raw.get("assert") or []
    if not options.get("disableDefaultAsserts") and isinstance(asserts, list):
        asserts = [*(default.get("assert") or []), *asserts]
    if isinstance(asserts, list):
        names = [str(object_in(each).get("$ref", "")).rpartition("/")[2] for each in asserts]
        asserts = [templates.get(name, each) for name, each in zip(names, asserts, strict=True)]
    return {"threshold": default.get("threshold"), **raw, **parts, "options": options, "assert": asserts}


def _variables(raw: Any, folder: ToolFolder, spot: Spot) -> Row:
    """The variables of a test, which may stand in files; a pattern of file names is the list of those that fit."""
    if isinstance(raw, str | list):
        names = (folder.beside(spot, str(each)) for each in (raw if isinstance(raw, list) else [raw]))
        paths = (folder.find(each, spot) for name in names for each in folder.matching(name) or [name])
        raw = {name: value for path in filter(None, paths) for name, value in object_in(folder.value(path)).items()}
    return {name: _files_that_fit(value, folder) for name, value in object_in(raw).items()}


def _files_that_fit(value: Any, folder: ToolFolder) -> Any:
    pattern = value.removeprefix(FILE_PREFIX) if isinstance(value, str) and value.startswith(FILE_PREFIX) else ""
    found = folder.matching(pattern) if "*" in pattern else []
    return [f"{FILE_PREFIX}{each}" for each in found] or value


def _combinations(values: Row, options: Row, folder: ToolFolder, spot: Spot) -> Iterator[Row]:
    """Every combination of the variables that are lists of texts; any other list is one value."""
    lists = [name for name in values if isinstance(values[name], list) and isinstance((values[name] or [0])[0], str)]
    lists = [] if options.get("disableVarExpansion") else lists
    if (many := prod(len(values[name]) for name in lists)) > MOST_COMBINATIONS:
        message = f"these lists have {many:,} combinations; of one test {MOST_COMBINATIONS:,} are read at most"
        hint = "`options: {disableVarExpansion: true}` leaves lists as they are"
        folder.problems.append(spot.problem("too-many", message, found=f"{many:,}", hint=hint))
        return
    for chosen in product(*(values[name] for name in lists)):
        yield {**values, **dict(zip(lists, chosen, strict=True))}


def _content(value: Any, folder: ToolFolder, spot: Spot) -> Any:
    """A variable; one that names a file is what stands in it."""
    if not isinstance(value, str) or not value.startswith(FILE_PREFIX):
        return value
    file = value.removeprefix(FILE_PREFIX)
    if file.partition(":")[0].endswith(CODE_ENDINGS):
        folder.lack("variable that code makes", why=IS_CODE)
        return ""
    if file.lower().endswith(MEDIA):
        message = f"this variable is an image, a sound or a PDF: {file}; only texts are asked here"
        folder.problems.append(spot.problem("not-text", message, found=shown(value), hint="leave the test out"))
        return ""
    path = folder.find(value, spot)
    if path is None:
        return ""
    content = folder.value(path)
    return content.strip() if isinstance(content, str) else content


def _input(text: str, values: Row, options: Row, folder: ToolFolder, spot: Spot) -> Input | None:
    """The prompt with the variables in it: a text, or a list of chat messages."""
    text = f"{options.get('prefix', '')}{text}{options.get('suffix', '')}"
    if _ENVIRONMENT.search(text):
        folder.lack("prompt with a variable of the environment", why="which is empty here")
    try:
        filled = fill_all(_chat(text), values)
        said = _chat(filled) if isinstance(filled, str) else filled
        return input_of(said)[0] if isinstance(said, list) or not said.strip() else SingleTurn(message=said)
    except (TemplateFailed, CellFault) as error:
        code = error.code if isinstance(error, CellFault) else "template"
        folder.problems.append(spot.problem(code, f"the prompt: {error}", found=shown(text)))
        return None


def _chat(text: str) -> str | list[Any]:
    """The messages, where a text is a JSON list of them; else the text."""
    value = structured(text) if text.lstrip().startswith("[") else text
    return value if isinstance(value, list) and is_chat(value) else text


def _without_prompt(values: Row, folder: ToolFolder) -> Input | None:
    """The question of a test in a file without prompts: the one variable, or the one that is the input by its name."""
    why = "its variables are the question; run the configuration that names the file"
    folder.lack("test without a prompt", why=why)
    named = [name for name in values if len(values) == 1 or role_of(name)[0] == INPUT]
    lines = (f"{key}: {text_of(value)}" for key, value in values.items())
    text = text_of(values[named[0]]) if named else "\n".join(lines)
    return SingleTurn(message=text) if text.strip() else None
