"""`howsure report` and `howsure card`, as they are typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from house import lines, mcq


@pytest.fixture
def ran(howsure: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """The program, in a folder with the runs `main` and `branch` of one agent."""
    lines(tmp_path / "cases.jsonl", *(mcq(number) for number in range(1, 5)))
    (tmp_path / "agent.json").write_text(json.dumps({"bot_id": "bot-1", "bot_name": "Moss"}))
    for name, wrong in (("main", {3}), ("branch", {2, 3})):
        said = ({"case_id": f"q{n}", "response_text": "B" if n in wrong else "A"} for n in range(1, 5))
        answers = lines(tmp_path / f"{name}.jsonl", *said)
        assert howsure("run", "cases.jsonl", "--responses", answers, "--name", name, "--agent", "agent.json").code == 0
    return howsure


def test_several_files_are_written_at_once(ran: Callable[..., Any], tmp_path: Path) -> None:
    names = ["a.html", "a.md", "a.xml", "a.csv", "a.jsonl", "a.json", "a.parquet", "a.eee.json"]
    done = ran("report", "branch", *(word for name in names for word in ("-o", name)))
    assert (done.code, done.out) == (0, "")
    assert done.err == "".join(f"written: {name}\n" for name in names)
    assert all((tmp_path / name).stat().st_size for name in names)


@pytest.mark.parametrize(
    ("form", "name"), [((), "report.html"), (("--format", "junit"), "report.xml"), (("--format", "CSV"), "report.csv")]
)
def test_without_a_file_the_format_names_it(
    form: tuple[str, ...], name: str, ran: Callable[..., Any], tmp_path: Path
) -> None:
    assert ran("report", *form).err == f"written: {name}\n"
    assert (tmp_path / name).is_file()


def test_a_baseline_is_shown_by_markdown_and_the_page(ran: Callable[..., Any], tmp_path: Path) -> None:
    done = ran("report", "branch", "--baseline", "main", "-o", "pr.md", "-o", "page.html", "-o", "all.csv")
    assert done.code == 0, done.err
    assert "## 1 case got worse\n\n| case | first | second |" in (tmp_path / "pr.md").read_text("utf-8")
    assert "got worse" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-o", "a.docx"), "the ending must be one of .html, .htm, .pdf, .md"),
        (("--format", "word"), "unknown report format 'word'; known: canonical, csv"),
        (("--baseline", "main", "-o", "a.csv"), "--baseline: none of the files shows a comparison"),
        (("--baseline", "nobody", "-o", "a.md"), "nobody"),
        (("--baseline", "branch", "-o", "a.md"), "branch"),
        (("--artifacts", "legal"), "--artifacts writes one folder: name it with one --output"),
        (("--artifacts", "legal", "-o", "a", "-o", "b"), "--artifacts writes one folder"),
        (("--artifacts", "legal", "-o", "a", "--format", "csv"), "--artifacts writes one folder"),
        (("--artifacts", "excel", "-o", "a"), "unknown artifact set 'excel'; known: azure, every-eval-ever, explain"),
        (("--artifacts", "golden", "-o", "a"), "these files are for runs over golden data"),
        (("-o", "nowhere/a.md"), "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_done_is_told_and_leaves_nothing(
    words: tuple[str, ...], told: str, ran: Callable[..., Any], tmp_path: Path
) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    done = ran("report", "branch", *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert "Traceback" not in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_artifacts_go_into_a_folder_that_is_made(ran: Callable[..., Any], tmp_path: Path) -> None:
    done = ran("report", "branch", "--artifacts", "legal", "-o", "deep/legal")
    assert done.code == 0, done.err
    assert "written: deep/legal/examples.jsonl\n" in done.err
    assert len(list((tmp_path / "deep" / "legal").iterdir())) == 7


def test_a_card_is_printed_or_written(ran: Callable[..., Any], tmp_path: Path) -> None:
    done = ran("card", "bot-1")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("# Moss\n\n- id: bot-1\n- model: not known\n- runs: 2\n")
    assert ran("card", "Moss").out == done.out
    shape = ran("card", "bot-1", "--json").json
    assert [run["name"] for run in shape["runs"]] == ["branch", "main"]
    written = ran("card", "--agent", "agent.json", "-o", "card.md", "-o", "card.json")
    assert (written.out, written.err) == ("", "written: card.md\nwritten: card.json\n")
    assert (tmp_path / "card.md").read_text("utf-8") == done.out
    assert json.loads((tmp_path / "card.json").read_bytes()) == shape


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "a card is that of one agent"),
        (("nobody",), "no completed run of the agent 'nobody' is known"),
        (("--agent", "nowhere.json"), "nowhere.json: no such agent file"),
        (("bot-1", "-o", "card.pdf"), "the ending must be one of .md, .json"),
    ],
)
def test_a_card_that_cannot_be_made_says_why(words: tuple[str, ...], told: str, ran: Callable[..., Any]) -> None:
    done = ran("card", *words)
    assert done.code == 2
    assert told in done.err


PLUGIN = """\
class Tally:
    name = "tally"
    endings = (".tally",)
    compares = False

    async def write(self, summary, results, path, comparison=None):
        words = [f"{result.case.id} {result.verdict.value}" async for result in results]
        path.write_text("\\n".join([summary.run.name, *words, ""]), encoding="utf-8")


def register(kit):
    kit.report_formats.add(Tally())
"""


def test_a_plug_in_brings_a_report_format(ran: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "tally.py").write_text(PLUGIN)
    words = ("run", "cases.jsonl", "--responses", "main.jsonl", "--name", "third", "--plugin", "tally.py")
    done = ran(*words, "--output", "x.tally")
    assert done.code == 0, done.err
    assert "written: x.tally\n" in done.err
    assert (tmp_path / "x.tally").read_text() == "third\nq1 passed\nq2 passed\nq3 failed\nq4 passed\n"
    done = ran("report", "branch", "--format", "tally", "--plugin", "tally.py")
    assert (done.code, done.err) == (0, "written: report.tally\n")
    assert (tmp_path / "report.tally").read_text().startswith("branch\nq1 passed\nq2 failed\n")


def test_a_format_of_a_plug_in_is_among_the_known_ones(ran: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "tally.py").write_text(PLUGIN)
    assert "known: canonical, csv, deepeval, every-eval-ever" in ran("report", "--format", "tally").err
    assert "tally" in ran("report", "--format", "word", "--plugin", "tally.py").err.split("known: ")[1]
    assert ".otlp.jsonl, .tally;" in ran("report", "-o", "a.docx", "--plugin", "tally.py").err
    (tmp_path / "html.py").write_text(PLUGIN.replace('"tally"', '"html"'))
    done = ran("report", "--plugin", "html.py")
    assert (done.code, done.err) == (2, "error: --plugin html.py: two report formats are named 'html'\n")
