"""Text that means something to whoever shows it (HTML, scripts, formulas, terminal escapes, direction marks), planted
in every field of a stored run, is inert wherever Howsure shows that run: on the terminal and in every file for
people."""

from __future__ import annotations

import asyncio
import csv
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import junitparser
import pytest
import xmlschema
from click.testing import CliRunner
from markdown_it import MarkdownIt

from hostile import DIRECTION, FORMULAS, HOSTILE, HTML, MARKDOWN, TERMINAL, XML, hostile_agent, hostile_results
from howsure.main import program
from howsure.model.rubric import Rubric, Rule, Scope, Severity
from howsure.model.run import DatasetPin
from howsure.reports.formats import FORMATS
from howsure.services.workspace import Workspace
from two_runs import AFTER, BEFORE, keep

DATA = Path(__file__).parents[1] / "data"
# What a terminal would obey, and what turns the direction of what follows. Tabs and newlines are harmless.
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
NAME = HTML[0]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs: the first text of each kind in their own names, every text in the results."""
    folder = tmp_path_factory.mktemp("hostile")
    asyncio.run(_plant(folder))
    return folder


async def _plant(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        work = Workspace.here(environ={})
    results = hostile_results()
    for id, name, text in ((BEFORE, f"before {TERMINAL[0]}", TERMINAL[1]), (AFTER, f"after {NAME}", NAME)):
        rule = Rule(id=text, name=text, severity=Severity.HIGH, description=text, scope=Scope.PROMPT)
        pin = DatasetPin(
            path=f"{text}.json", sha256="ab" * 32, dialect="golden", cases=len(results), id=text, name=text
        )
        pinned = {
            "datasets": (pin,),
            "target": text,
            "judge": text,
            "profile": text,
            "rubric": Rubric(name=text, rules=(rule,), description=text),
            "agent": hostile_agent(text),
            "simulator": text,
        }
        async with await work.store() as store:
            shown = [*reversed(results)] if id == BEFORE else results
            await keep(store, id, shown, name=name, **pinned)


def said(place: Path, *words: str) -> str:
    with pytest.MonkeyPatch.context() as here:
        here.chdir(place)
        done = CliRunner(env={"COLUMNS": "120"}).invoke(program, list(words), color=True)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    assert done.exit_code in (0, 2, 3, 100, 101), done.output
    return done.output


def report(place: Path, name: str, *more: str) -> Path:
    """The file, written once."""
    if not (place / name).exists():
        said(place, "report", AFTER, "-o", name, *more)
    return place / name


def first(texts: tuple[str, ...]) -> str:
    """The id of the first case that one of these was planted in."""
    return f"{texts[0]}{4 * HOSTILE.index(texts[0])}"


@pytest.mark.parametrize(
    "words",
    [
        ("runs",),
        ("show", AFTER),
        *(("show", AFTER, first(texts)) for texts in (HTML, FORMULAS, TERMINAL, DIRECTION, MARKDOWN, XML)),
        ("show", AFTER, "no \x1b[31m such"),
        ("compare", BEFORE, AFTER),
        ("gate", AFTER, "--gate", "pass_rate >= 0.5"),
        ("triage", AFTER),
        ("trend", "--dataset", NAME),
        ("card", NAME),
        ("card", TERMINAL[1]),
        ("report", AFTER, "-o", "\x1b[31m.nothing"),
        ("report", "\x1b[31m"),
    ],
    ids=lambda words: " ".join(words[:1]) + f" {len(words)} {ascii(words[-1])[:24]}",
)
def test_nothing_on_the_terminal_is_obeyed(words: tuple[str, ...], place: Path) -> None:
    shown = said(place, *words)
    assert shown.strip()
    assert OBEYED.findall(shown) == []


def test_rich_markup_in_names_is_text(place: Path) -> None:
    assert "[red]" in said(place, "show", AFTER, "no [red] such")


@pytest.fixture(scope="module")
def table(place: Path) -> list[list[str]]:
    with report(place, "hostile.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True))


def test_no_cell_of_a_table_is_a_formula(table: list[list[str]]) -> None:
    assert len(table) == 1 + 4 * len(HOSTILE)
    assert len({len(line) for line in table}) == 1
    texts = [cell for line in table for cell in line if cell and not _is_number(cell)]
    assert [cell for cell in texts if re.match(r"[\s\ufeff]*[=+\-@＝＋－＠]|[\t\r\n]", cell)] == []


def test_no_cell_of_a_table_is_obeyed(table: list[list[str]]) -> None:
    assert [cell for line in table for cell in line if OBEYED.search(cell)] == []


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell) is not None


FENCED = re.compile(r"^(`{3,})\w*\n.*?^\1$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("name", "more"), [("hostile.md", ("--baseline", BEFORE)), ("alone.md", ()), ("hostile.full.md", ())]
)
def test_markdown_holds_no_markup_but_ours(name: str, more: tuple[str, ...], place: Path) -> None:
    text = report(place, name, *more).read_text("utf-8")
    assert OBEYED.findall(text) == []
    _check_markdown(text)


@pytest.mark.parametrize("name", ["hostile.md", "hostile.full.md"])
def test_a_parser_of_markdown_finds_nothing_that_was_planted(name: str, place: Path) -> None:
    """No link, no picture, no HTML but our empty comment, no list or rule, and no heading that is not ours."""
    text = report(place, name, *(("--baseline", BEFORE) if name == "hostile.md" else ())).read_text("utf-8")
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    inline = [token for block in tokens for token in (block.children or ())]
    assert {token.content for token in (*tokens, *inline) if token.type.startswith("html")} <= {"<!-- -->"}
    kinds = {token.type for token in (*tokens, *inline)}
    assert kinds.isdisjoint({"link_open", "image", "s_open", "em_open", "hr", "ordered_list_open"})
    told = [tokens[place + 1].content for place, token in enumerate(tokens) if token.type == "heading_open"]
    assert [heading for heading in told if not OURS.match(heading)] == []


OURS = re.compile(
    r"after &lt;script|\d+ cases? (got worse|got better|did not pass)|Gates|Graders|Counts|Candidates|"
    r"Criteria, rules and|Failed and errored|By tag$|[■▲] (failed|errored): "
)


def test_the_card_holds_no_markup_but_ours(place: Path) -> None:
    _check_markdown(said(place, "card", NAME))


def _check_markdown(text: str) -> None:
    outside = FENCED.sub("", text)
    assert "```" not in outside
    assert re.findall(r"<(?!!-- -->).{0,20}", outside) == []
    assert re.findall(r"(?<!\\)\][(:].{0,20}", outside) == []
    assert re.findall(r"(?<!\\)://.{0,20}|www\.\w+", outside) == []
    assert re.findall(r"(?<![\w`])@\w+|(?<![\w`&])#\d+", outside) == []
    headings = [line for line in outside.splitlines() if line.startswith("#")]
    assert headings
    assert "# heading" not in headings


def test_tables_of_markdown_keep_their_columns(place: Path) -> None:
    text = FENCED.sub("", report(place, "hostile.md", "--baseline", BEFORE).read_text("utf-8"))
    for block in _tables(text.splitlines()):
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in block}
        assert len(bars) == 1, block[:3]


def _tables(lines: list[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            block.append(line)
        elif block:
            yield block
            block = []


def test_junit_is_valid_and_read_as_text(place: Path) -> None:
    path = report(place, "hostile.xml")
    schema = xmlschema.XMLSchema(str(DATA / "junit.xsd"))
    assert [str(error) for error in schema.iter_errors(str(path))] == []
    text = path.read_text("utf-8")
    assert OBEYED.findall(text) == []
    assert set(re.findall(r"<[/?!]?([\w-]+)", text)) == {
        "xml",
        "testsuites",
        "testsuite",
        "properties",
        "property",
        "testcase",
        "failure",
        "error",
        "skipped",
        "system-out",
    }
    (suite,) = junitparser.JUnitXml.fromfile(str(path))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (164, 41, 41, 41)


class Elements(HTMLParser):
    """The elements that begin in a page, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_has_no_element_that_was_planted(place: Path) -> None:
    parser = Elements()
    parser.feed(report(place, "hostile.html", "--baseline", BEFORE).read_text("utf-8"))
    names = {name for name, _ in parser.found}
    assert names.isdisjoint({"img", "iframe", "injected", "textarea"})
    assert [given for _, given in parser.found if any(key.startswith("on") for key in given)] == []


ONE_MODEL = ("inspect", "openai-evals", "langsmith")


@pytest.mark.parametrize("kind", ONE_MODEL)
@pytest.mark.parametrize("text", [HTML[0], TERMINAL[0], FORMULAS[0]])
def test_every_format_about_one_model_can_be_written_of_a_hostile_candidate(kind: str, text: str, place: Path) -> None:
    said(place, "export", AFTER, "--to", kind, "-o", f"{kind}.one", "--candidate", text)
    assert (place / f"{kind}.one").stat().st_size > 1000
    (place / f"{kind}.one").unlink()


@pytest.mark.parametrize(
    "name",
    [each.endings[0] for each in FORMATS if each.name not in ("every-eval-ever", "pdf", *ONE_MODEL)],
)
def test_every_format_can_be_written_of_such_a_run(name: str, place: Path) -> None:
    assert report(place, f"whole{name}").stat().st_size > 1000


def test_data_formats_keep_the_text_as_it_was(place: Path) -> None:
    lines = report(place, "exact.jsonl").read_bytes().split(b"\n")
    assert len(lines) == 4 * len(HOSTILE) + 1
    assert not any(byte in b"\x00\x1b\r" for byte in b"".join(lines))


def test_problems_of_a_hostile_file_are_told_inert(place: Path) -> None:
    lines = []
    for number, text in enumerate(HOSTILE):
        row = {"schema_version": "legal_eval_v1", "id": f"{text}{number % 7}", "dataset": text, "task_type": text}
        lines.append(json.dumps({**row, "prompt": text, text: text, "metadata": {"policy_id": text}}))
    (place / "bad.jsonl").write_text("\n".join([*lines, *lines]), encoding="utf-8")
    for words in (("validate", "bad.jsonl"), ("run", "bad.jsonl"), ("validate", "bad.jsonl", "--dialect", TERMINAL[0])):
        shown = said(place, *words)
        assert shown.strip()
        assert OBEYED.findall(shown) == []
