"""The commands that work on files alone: convert, sample, split, merge, init, completion, validate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from howsure.cli.convert import _moment, _pair, print_conversion
from howsure.errors import InputError
from howsure.main import program
from howsure.services.convert.convert import ConversionReport
from howsure.services.convert.loss_report import FieldLoss
from unit.services.places import house, lines, mcq

Run = Callable[..., Result]


@pytest.fixture
def howsure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOWSURE_DATABASE_URL", raising=False)
    return lambda *words: CliRunner().invoke(program, words)


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_part_is_drawn_by_seed(howsure: Run, tmp_path: Path) -> None:
    house(tmp_path, 10)
    done = howsure("sample", "house.jsonl", "-n", "3", "-o", "a.jsonl")
    assert (done.exit_code, done.stdout) == (0, "wrote a.jsonl: 3 cases\n")
    howsure("sample", "house.jsonl", "-n", "3", "-o", "b.jsonl")
    told = json.loads(howsure("sample", "house.jsonl", "-n", "3", "--seed", "7", "-o", "c.jsonl", "--json").stdout)
    assert told["cases"] == 3
    assert ids(tmp_path / "a.jsonl") == ids(tmp_path / "b.jsonl")
    assert set(ids(tmp_path / "c.jsonl")) <= {f"q{number}" for number in range(1, 11)}


def test_two_parts_hold_every_case_once(howsure: Run, tmp_path: Path) -> None:
    house(tmp_path, 10)
    done = howsure("split", "house.jsonl", "--share", "0.3", "--json")
    assert done.exit_code == 0, done.output
    parts = [Path(part["path"]) for part in json.loads(done.stdout)]
    found = [id for part in parts for id in ids(tmp_path / part)]
    assert sorted(found) == sorted(f"q{number}" for number in range(1, 11))
    assert [len(ids(tmp_path / part)) for part in parts] == [3, 7]


def test_a_part_for_each_value(howsure: Run, tmp_path: Path) -> None:
    lines(tmp_path / "all.jsonl", *(mcq(number, dataset="ab"[number % 2]) for number in range(5)))
    done = howsure("split", "all.jsonl", "--by", "dataset")
    assert (done.exit_code, done.stdout) == (0, "wrote all.a.jsonl: 3 cases\nwrote all.b.jsonl: 2 cases\n")
    assert ids(tmp_path / "all.b.jsonl") == ["q1", "q3"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("split", "house.jsonl"), "split either --by LABEL or by --share"),
        (("split", "house.jsonl", "--by", "x", "--share", "0.5"), "split either --by LABEL or by --share"),
        (("split", "house.jsonl", "--share", "1.5"), "--share 1.5: expected a number between 0 and 1"),
        (("split", "house.jsonl", "--share", "nan"), "expected a number between 0 and 1"),
        (("split", "house.jsonl", "--by", "mood"), "--by mood: no case has one"),
        (("sample", "house.jsonl", "-n", "9", "-o", "x.jsonl"), "-n 9: the file has 4 cases"),
        (("sample", "house.jsonl", "-n", "0", "-o", "x.jsonl"), "-n 0"),
        (("sample", "house.jsonl", "-n", "1", "-o", "x.csv"), "the file must end in .jsonl"),
        (("sample", "house.jsonl", "-n", "1", "-o", "no/x.jsonl"), "no: no such folder"),
        (("sample", "house.jsonl", "-n", "1", "-o", "house.jsonl"), "exists already; --force overwrites it"),
        (("merge", "house.jsonl", "nowhere.jsonl", "-o", "x.jsonl"), "nowhere.jsonl"),
        (("convert", "-o", "x.json"), "name one or more files or folders to convert"),
        (("convert", "house.jsonl", "-o", "x.json", "--to", "klingon"), "klingon"),
        (("convert", "house.jsonl", "-o", "x.json", "--metadata", "area"), "--metadata area: expected KEY:VALUE"),
        (("convert", "house.jsonl", "-o", "x.json", "--since", "soon"), "--since soon: expected a day or time"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(
    howsure: Run, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    house(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = howsure(*words)
    assert done.exit_code == 2, done.output
    assert told in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".howsure") == before


def test_files_are_merged_and_what_stands_in_two_is_kept_once(howsure: Run, tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", mcq(1), mcq(2))
    lines(tmp_path / "b.jsonl", mcq(2), mcq(3))
    done = howsure("merge", "a.jsonl", "b.jsonl", "-o", "c.jsonl")
    assert (done.exit_code, done.stdout) == (0, "wrote c.jsonl: 3 cases, 1 kept once\n")
    assert ids(tmp_path / "c.jsonl") == ["q1", "q2", "q3"]
    told = json.loads(howsure("merge", "a.jsonl", "-o", "d.jsonl", "--json").stdout)
    assert (told["cases"], told["repeated"]) == (2, 0)


def test_one_id_for_two_cases_is_refused(howsure: Run, tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", mcq(1))
    lines(tmp_path / "b.jsonl", mcq(1, prompt="Another question?"))
    done = howsure("merge", "a.jsonl", "b.jsonl", "-o", "c.jsonl")
    assert done.exit_code == 2
    assert "q1" in done.stderr
    assert not (tmp_path / "c.jsonl").exists()


def test_a_catalog_is_made_of_count_and_seed_and_of_no_file(howsure: Run, tmp_path: Path) -> None:
    words = ("convert", "--to", "scenario-catalog", "--count", "3", "-o", "catalog.jsonl")
    assert howsure(*words).stdout == "wrote catalog.jsonl: 3 scenarios\n"
    first = (tmp_path / "catalog.jsonl").read_bytes()
    refused = howsure(*words)
    assert refused.exit_code == 2
    told = json.loads(howsure(*words, "--force", "--json").stdout)
    assert told == {"output": "catalog.jsonl", "to": "scenario-catalog", "written": 3}
    assert (tmp_path / "catalog.jsonl").read_bytes() == first
    of_a_file = howsure(*words, "house.jsonl")
    assert (of_a_file.exit_code, of_a_file.stderr) == (
        2,
        "error: a scenario-catalog is made of --count and --seed, not of house.jsonl\n",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a:b", ("a", "b")), (" a : b ", ("a", "b")), ("a:b:c", ("a", "b:c"))],
)
def test_what_is_said_of_every_case_is_a_key_and_a_value(text: str, expected: tuple[str, str]) -> None:
    assert _pair(text) == expected


@pytest.mark.parametrize("text", ["", "a", "a:", ":b", " : ", "a: "])
def test_half_a_pair_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected KEY:VALUE"):
        _pair(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("1970-01-02", 86_400.0),
        ("1970-01-01T01:00", 3_600.0),
        ("1970-01-01T01:00+01:00", 0.0),
        ("1970-01-01T00:00:00Z", 0.0),
        ("86400", 86_400.0),
        ("0.5", 0.5),
        ("1767225600", 1_767_225_600.0),
    ],
    ids=["not said", "a day", "a time is UTC", "with a zone", "Zulu", "seconds", "a part of one", "now"],
)
def test_since_when_is_a_day_a_time_or_seconds(text: str, expected: float | None) -> None:
    assert _moment(text) == expected


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "1.2.3", "-5", "nan", "²"])
def test_a_time_nobody_can_read_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a day or time, such as 2026-01-31"):
        _moment(text)


def test_what_was_changed_and_lost_is_told_with_the_first_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    line = FieldLoss(field="context", cases=1_200, why="the format has none", first="q7")
    print_conversion(ConversionReport(output="x.json", to="golden", read=1_500, written=1_500, kept=2, lost=(line,)))
    out = capsys.readouterr().out
    assert out == (
        "wrote x.json (golden): 1,500 cases, 2 kept\nlost context in 1,200 cases: the format has none (first: q7)\n"
    )


def test_first_files_are_written_once_and_never_overwritten(howsure: Run, tmp_path: Path) -> None:
    done = howsure("init", "shop")
    assert done.exit_code == 0, done.output
    assert "wrote  shop/howsure.yaml" in done.stdout
    assert "  cd shop\n" in done.stdout
    kept = howsure("init", "shop", "--json")
    told = json.loads(kept.stdout)
    assert (told["written"], len(told["unchanged"])) == ([], 4)
    (tmp_path / "shop" / "howsure.yaml").write_text("judge: offline\n", encoding="utf-8")
    refused = howsure("init", "shop")
    assert refused.exit_code == 2
    assert "shop has howsure.yaml already; nothing was written (--force overwrites)" in refused.stderr
    assert (tmp_path / "shop" / "howsure.yaml").read_text(encoding="utf-8") == "judge: offline\n"
    assert howsure("init", "shop", "--force").exit_code == 0
    assert (tmp_path / "shop" / "howsure.yaml").read_text(encoding="utf-8") != "judge: offline\n"


def test_settings_that_cannot_be_read_keep_nobody_from_better_ones(howsure: Run, tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text("colour: red\n", encoding="utf-8")
    assert howsure("init", "shop").exit_code == 0


@pytest.mark.parametrize(("shell", "word"), [("zsh", "compdef"), ("fish", "complete --no-files")])
def test_a_shell_is_taught_to_complete(howsure: Run, shell: str, word: str) -> None:
    done = howsure("completion", shell)
    assert done.exit_code == 0
    assert word in done.stdout
    assert "_HOWSURE_COMPLETE" in done.stdout


def test_a_shell_nobody_knows_is_refused(howsure: Run) -> None:
    done = howsure("completion", "cmd")
    assert done.exit_code == 2
    assert "'cmd' is not one of 'bash', 'zsh', 'fish'" in done.stderr


def test_a_file_whose_name_moves_the_cursor_is_shown_and_not_obeyed(howsure: Run, tmp_path: Path) -> None:
    house(tmp_path, 1, "a\x1b[2Jb.jsonl")
    done = howsure("validate", ".")
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.stdout
    assert "a␛[2Jb.jsonl (legal): 1 case, valid" in done.stdout
