"""What the dialects of other tools share: JSON, YAML and tables with the lines of their values, the files beside them
that they name, and a count of what has no counterpart here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from howsure.config import load_yaml
from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.documents import JsonDocument, load_json
from howsure.dialects.ids import SeenIds, unstorable_case
from howsure.dialects.lines import not_utf8, open_file
from howsure.dialects.plain_rows import text_of
from howsure.dialects.problems import OTHER_SHAPE, Spot, kind_of, shape_fault, shown, with_article
from howsure.dialects.tables import table_records
from howsure.errors import Problem
from howsure.model import expectation as expect
from howsure.model.case import Case

YAML_ENDINGS = (".yaml", ".yml")
FILE_PREFIX = "file://"
IS_CODE = "is code, which is not run"
Row = dict[str, Any]


class TagValue(Struct, frozen=True):
    """The value of a YAML tag that only the other tool knows, such as `!function`."""

    tag: str
    text: str


class ToolLoader(yaml.SafeLoader):
    """YAML as JSON has it: dates, `yes`, `no`, `on` and `off` are texts, and unknown tags stay what they are."""


BOOLEAN, TIMESTAMP = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"
ToolLoader.yaml_implicit_resolvers = {
    first: [each for each in rules if each[0] not in (BOOLEAN, TIMESTAMP)]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
ToolLoader.add_implicit_resolver(BOOLEAN, re.compile("(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
ToolLoader.add_multi_constructor("!", lambda loader, suffix, node: TagValue(f"!{suffix}", str(node.value)))


class YamlFile(JsonDocument, frozen=True, kw_only=True):
    """A YAML file, with the lines on which the elements of its lists begin."""

    root: yaml.Node | None

    def lines_of(self, key: str) -> Sequence[int]:
        known = self.root.value if key and isinstance(self.root, yaml.MappingNode) else ()
        node = next((value for name, value in reversed(known) if name.value == key), None) if key else self.root
        return [each.start_mark.line + 1 for each in node.value] if isinstance(node, yaml.SequenceNode) else []


class ToolFolder:
    """A file and those that it names, which must be in its folder. Every byte that is read goes to `watch`, so the hash
    of a dataset covers all of its files. `problems`, `missing` and `files` fill while it is read."""

    def __init__(self, path: Path, watch: Watch | None = None) -> None:
        self.path = path
        self.folder = path.parent
        self._watch = watch
        self.problems: list[Problem] = []
        self.missing: Counter[str] = Counter()
        self.files: set[str] = set()

    def lack(self, what: str, count: int = 1, why: str = "has no counterpart here and is not used") -> None:
        """Counts something that has no counterpart here."""
        self.missing[f"{what}: {why}"] += count

    def report(self) -> Iterator[Problem]:
        """Every problem, then one warning for each kind of thing without a counterpart."""
        yield from self.problems
        for what, count in self.missing.items():
            if count:
                yield Spot(str(self.path)).warning("no-counterpart", f"{count} × {what}", found=str(count))

    def find(self, name: str, spot: Spot, others: Sequence[str] = ()) -> Path | None:
        """The file of that name, which stands in the folder or below it, or in one of the `others` that a tool has for
        it."""
        bare = name.removeprefix(FILE_PREFIX)
        for root in (self.folder, *(self.folder / each for each in others)):
            if (root / bare).resolve().is_relative_to(root.resolve()) and (root / bare).is_file():
                self.files.add(bare)
                return root / bare
        if (self.folder / bare).resolve().is_relative_to(self.folder.resolve()):
            self.problems.append(spot.problem("missing-file", f"no such file: {bare}", found=shown(name)))
        else:
            message = f"{bare!r} is outside the folder of this file; only what lies in it is read"
            self.problems.append(spot.problem("outside-folder", message, found=shown(name), hint="move it, or copy it"))
        return None

    def beside(self, spot: Spot, name: str) -> str:
        """A name that a file of the folder gives to one near it, as seen from the folder."""
        return relpath(Path(spot.file).parent / name.removeprefix(FILE_PREFIX), self.folder)

    def matching(self, pattern: str) -> list[str]:
        """The files in the folder whose names fit, such as `tests/*.csv`."""
        pattern = pattern.removeprefix(FILE_PREFIX).removeprefix("./")
        if not pattern or ".." in Path(pattern).parts or Path(pattern).is_absolute():
            return []
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.glob(pattern) if path.is_file())

    def text(self, path: Path) -> str:
        with open_file(path, self._watch) as file:
            content = file.read()
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.problems.append(not_utf8(Spot(str(path))))
            return ""

    def document(self, path: Path) -> JsonDocument:
        """The file as JSON, or as YAML by its ending; the value is None where it cannot be read."""
        if path.suffix.lower() == ".json":
            document = load_json(path, self._watch)
            self.problems += document.problems
            return document
        spot, root, value = Spot(str(path)), None, None
        try:
            root, value = load_yaml(self.text(path), ToolLoader)
        except yaml.YAMLError as error:
            line = getattr(getattr(error, "problem_mark", None), "line", None)
            message = f"not valid YAML: {getattr(error, 'problem', None) or error}"
            at = Spot(str(path), None if line is None else line + 1)
            self.problems.append(at.problem("yaml-syntax", message))
        return YamlFile(value, "", spot, [], root=root)

    def value(self, path: Path) -> Any:
        """What a file holds: a value of JSON or YAML, else its text."""
        return self.document(path).value if path.suffix in (".json", *YAML_ENDINGS) else self.text(path)

    def objects(self, found: Iterable[tuple[Spot, Any]], expected: str = "an object") -> Iterator[tuple[Spot, Row]]:
        """Those of the values that are objects; any other is a problem."""
        for spot, each in found:
            if isinstance(each, dict):
                yield spot, each
            else:
                self.problems.append(wrong_type(spot, expected, each))

    def rows(self, path: Path) -> Iterator[tuple[Spot, Row]]:
        """The records of a table, of JSON lines or of a JSON or YAML list; what cannot be read is a problem."""
        if path.suffix.lower() in YAML_ENDINGS:
            yield from self.objects(self.document(path).elements())
            return
        for line, row in table_records(path, self._watch):
            if isinstance(row, Problem):
                self.problems.append(row)
            else:
                yield Spot(str(path), line), row


def wrong_type(spot: Spot, expected: str, found: Any) -> Problem:
    message = f"must be {expected}, not {with_article(kind_of(found))}"
    return spot.problem("wrong-type", message, expected=expected, found=shown(found))


class ToolDialect(WatchedDialect):
    """The base of a dialect of another tool: give it a `name`, `detect` and `cases`. Ids that stand twice, and cases
    that cannot be stored, become problems here."""

    name: str

    def cases(self, folder: ToolFolder) -> Iterator[tuple[Spot, Case]]:
        raise NotImplementedError(f"the dialect {self.name!r} has no `cases`")

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        folder, ids = ToolFolder(path, watch), SeenIds()
        try:
            for spot, case in self.cases(folder):
                known = None if ids.is_new(case.id, spot.line or 1) else ids.repeated(case.id, spot)
                yield known or unstorable_case(case, spot) or case
        except OTHER_SHAPE as error:
            hint = "another version of the tool may have written it"
            message = f"the file is not as {self.name} writes it: {shape_fault(error)}"
            yield Spot(str(path)).problem("wrong-shape", message, hint=hint)
        yield from folder.report()


def object_in(value: Any) -> Row:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def judged(texts: Iterable[str], weights: Iterable[float | None] = ()) -> expect.Criteria:
    """Statements that a judge decides one by one."""
    rest = iter(weights)
    made = (expect.Criterion(id=expect.text_id(text), text=text, weight=next(rest, None)) for text in texts)
    return expect.Criteria(criteria=tuple(made))


def equal_output(value: Any, *, negate: bool = False) -> expect.Expectation:
    """The answer is exactly this text, or JSON with this value."""
    if isinstance(value, dict | list):
        return expect.JsonOutput(schema={"const": value}, place=expect.JsonPlace.WHOLE, negate=negate)
    return expect.ExactText(values=(text_of(value),), form=expect.TextForm.AS_IS, negate=negate)
