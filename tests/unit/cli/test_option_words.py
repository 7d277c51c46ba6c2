"""Options and answers of commands without running anything: shares, couples, files of labels, flags for workers, what
`howsure ci` tells, and which terminal can be browsed."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from math import inf, nan
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from howsure.cli.ci import _shape, _tell
from howsure.cli.compare import read_candidate_pairs
from howsure.cli.exit_codes import GATE_FAILED, GATE_INCONCLUSIVE, WORST_FIRST, gate_exit_code, worst_exit_code
from howsure.cli.judge import _divided, options_from
from howsure.cli.options import read_days, read_gate_expressions, read_share, read_whole_numbers, storable_texts
from howsure.cli.serve import command as serve
from howsure.cli.show import can_browse
from howsure.config import Settings
from howsure.errors import ConfigInvalid
from howsure.main import program
from howsure.model.run import Counts, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.summary import GateOutcome, GateRuling
from howsure.services.ci.check import CiResult
from howsure.services.workspace import Workspace
from unit.services.places import house, lines, workplace


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("5%", 0.05),
        (" 5 % ", 0.05),
        ("0.05", 0.05),
        ("0", 0.0),
        ("100%", 1.0),
        ("-5%", -0.05),
        (".5", 0.5),
        ("1e-2", 0.01),
    ],
)
def test_a_share_is_a_number_or_a_percentage(text: str | None, expected: float | None) -> None:
    assert read_share(text, "--difference") == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("text", ["", "%", "five", "5%%", "5 percent", "%5", "1,5", "1/2"])
def test_what_is_no_share_is_refused_with_one_that_is(text: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        read_share(text, "--difference")
    assert str(caught.value) == f"--difference expects a share such as 5% or 0.05, not {text!r}"


@given(st.floats(-1e6, 1e6))
def test_a_percentage_is_a_hundredth_of_its_number(number: float) -> None:
    assert read_share(f"{number!r}%", "--rate") == number / 100
    assert read_share(repr(number), "--rate") == number


@pytest.mark.parametrize("given_days", [None, 0.001, 1, 36_500])
def test_a_key_may_hold_for_ever_or_for_a_century(given_days: float | None) -> None:
    assert read_days(given_days, "--days") == given_days


@pytest.mark.parametrize("given_days", [0, -1, 36_500.1, inf, -inf, nan])
def test_a_number_of_days_that_no_calendar_has_is_refused(given_days: float) -> None:
    with pytest.raises(ConfigInvalid, match=f"--days expects .* up to 36500, not {given_days:g}"):
        read_days(given_days, "--days")


@pytest.mark.parametrize(
    ("text", "expected"), [("1", (1,)), ("1,3,5", (1, 3, 5)), (" 1 , 2 ", (1, 2)), ("0,-1", (0, -1)), ("3,3", (3, 3))]
)
def test_whole_numbers_are_separated_by_commas(text: str, expected: tuple[int, ...]) -> None:
    assert read_whole_numbers(text, "--repeats") == expected


@pytest.mark.parametrize("text", ["", ",", "1,", "1.5", "one", "1;2"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(ConfigInvalid, match="--repeats expects whole numbers such as 1,3,5, not"):
        read_whole_numbers(text, "--repeats")


def test_texts_can_be_stored_whatever_bytes_were_typed() -> None:
    assert storable_texts(["a", "na\udcc3\udcafve", "\udcff"], "--by") == ("a", "naïve", "\\xff")


def test_a_gate_that_cannot_be_read_is_refused_and_others_are_kept_in_order() -> None:
    asked = ("pass_rate >= 0.9", "p95_latency <= 3s")
    assert read_gate_expressions(asked, "--gate") == asked
    with pytest.raises(ConfigInvalid, match="expected one of >=, <=, > and <, found 'is'"):
        read_gate_expressions((*asked, "pass_rate is good"), "--gate")


@pytest.mark.parametrize(
    ("given_texts", "expected"),
    [
        ((), ()),
        (("small=large",), (("small", "large"),)),
        ((" small = large ",), (("small", "large"),)),
        (("small",), (("small", "small"),)),
        (("a=b=c",), (("a", "b=c"),)),
        (("a=b", "c"), (("a", "b"), ("c", "c"))),
    ],
)
def test_candidates_are_compared_in_couples(
    given_texts: tuple[str, ...], expected: tuple[tuple[str, str], ...]
) -> None:
    assert read_candidate_pairs(given_texts, "--candidate") == expected


@pytest.mark.parametrize("text", ["", "=b", "a=", " =b", "a= ", " "])
def test_half_a_couple_is_refused(text: str) -> None:
    with pytest.raises(ConfigInvalid, match="--candidate expects A=B, two candidates, not"):
        read_candidate_pairs((text,), "--candidate")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("x.html", "--output x.html: the ending must be one of .md, .json"),
        ("x", "--output x: the ending must be one of .md, .json"),
        ("no/x.md", "--output no/x.md: there is no folder no"),
    ],
)
def test_a_comparison_is_written_only_where_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(program, ["compare", "a", "b", "-o", "fine.md", "-o", "FINE.JSON", "-o", path])
    assert (done.exit_code, done.stderr) == (2, f"error: {told}\n")


@pytest.mark.parametrize(
    ("path", "told"),
    [("x.html", "--output x.html: the ending must be .md"), ("no/x.md", "--output no/x.md: there is no folder no")],
)
def test_a_triage_is_refused_before_a_judge_is_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(program, ["triage", "latest", "--judge", "openai:gpt-5", "-o", path])
    assert (done.exit_code, done.stderr) == (2, f"error: {told}\n")
    for fine in ("x.md", "X.MARKDOWN"):
        done = CliRunner().invoke(program, ["triage", "latest", "-o", fine])
        assert done.exit_code == 2 and "--output" not in done.stderr  # there is no run, and that is all


def test_labels_come_first_unless_only_a_key_is_asked_for(tmp_path: Path) -> None:
    labels = lines(tmp_path / "labels.jsonl", {"case_id": "q1", "grader": "criteria", "label": "pass"})
    dataset = lines(tmp_path / "cases.jsonl", {"id": "q1", "prompt": "?"})
    assert _divided((), "") == _divided((), "area") == (None, ())
    assert _divided((labels,), "") == (Path(labels), ())
    assert _divided((labels, dataset), "") == (Path(labels), (dataset,))
    assert _divided((labels, dataset), "area") == (Path(labels), (dataset,))
    assert _divided((dataset,), "area") == (None, (dataset,))
    assert _divided((dataset,), "") == (Path(dataset), ())


def options(folder: Path, judge: str | None, settings: Settings, **rest: Any) -> tuple[str, int | None]:
    whole = {"datasets": ("x",), "concurrency": None, **rest}
    made = options_from(workplace(folder, settings=settings), judge, whole)
    return made.judge, made.concurrency


def test_a_judge_is_the_one_named_the_one_of_the_settings_or_offline(tmp_path: Path) -> None:
    settings = Settings(judge="openai:gpt-5", max_concurrency=3)
    assert options(tmp_path, None, Settings()) == ("offline", Settings().max_concurrency)
    assert options(tmp_path, None, settings) == ("openai:gpt-5", 3)
    assert options(tmp_path, "offline", settings, concurrency=2) == ("offline", 2)
    assert options(tmp_path, "", settings)[0] == ""


class RecordingHost:
    """Keeps the options that `howsure serve` would serve with."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}

    async def serve(self, work: Workspace, options: dict[str, Any]) -> None:
        self.options = options


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ()),
        (["--database", "x.db"], ("--database", "x.db")),
        (
            ["--host", "::1", "--plugin", "p.py", "--config", "a.yaml", "--plugin", "q.py", "--database", "x.db"],
            ("--database", "x.db", "--config", "a.yaml", "--plugin", "p.py", "--plugin", "q.py"),
        ),
    ],
)
def test_workers_are_given_what_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], expected: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("a.yaml", ""), ("p.py", "def register(kit): pass"), ("q.py", "def register(kit): pass")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr("howsure.cli.serve.configure_logging", lambda *, plain: None)
    host = RecordingHost()
    done = CliRunner().invoke(serve, words, obj=host)
    assert (done.exit_code, host.options["flags"]) == (0, expected), done.output


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ([], "keys", False),
        (["--require-keys"], "keys", True),
        ([], "workers", 1),
        (["--workers", "3"], "workers", 3),
        ([], "port", 8002),
        (["--port", "0"], "port", 0),
    ],
)
def test_the_service_is_started_as_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], name: str, value: object
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("howsure.cli.serve.configure_logging", lambda *, plain: None)
    host = RecordingHost()
    assert CliRunner().invoke(serve, words, obj=host).exit_code == 0
    assert host.options[name] == value


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stdin", "stdout", "environ", "expected"),
    [
        (Screen(), Screen(), {"TERM": "xterm"}, True),
        (io.StringIO(), Screen(), {"TERM": "xterm"}, False),
        (Screen(), io.StringIO(), {"TERM": "xterm"}, False),
        (Screen(), Screen(), {"TERM": "dumb"}, False),
        (Screen(), Screen(), {"TERM": ""}, False),
        (Screen(), Screen(), {}, False),
    ],
    ids=["a terminal", "piped in", "piped out", "a dumb one", "a nameless one", "none named"],
)
def test_only_a_terminal_with_somebody_at_it_is_browsed(
    stdin: io.StringIO, stdout: io.StringIO, environ: dict[str, str], expected: bool
) -> None:
    assert can_browse(stdin, stdout, environ) is expected


def a_run(id: str) -> Run:
    pins = Pins(request=RunRequest(target="t"), datasets=())
    created = datetime(2026, 1, 1, tzinfo=UTC)
    return Run(id=id, name=id, state=RunState.COMPLETED, pins=pins, counts=Counts(), created_at=created)


FAILED = GateRuling(expression="pass_rate >= 0.9", outcome=GateOutcome.FAILED, reason="0.5\nof \x1b[1m4")
CHECKED = CiResult(
    code=100, run=a_run("head"), base=None, sentence="Worse.\x1b[0m", gates=(FAILED,), comment="c.md", report="r.html"
)


def test_what_a_check_found_is_told_without_obeying_it(capsys: pytest.CaptureFixture[str]) -> None:
    _tell(CHECKED)
    out, err = capsys.readouterr()
    assert out == "Worse.␛[0m\nfailed: pass_rate >= 0.9: 0.5 of ␛[1m4\n"
    assert err == "written: c.md, r.html\n"


def test_what_a_check_found_has_one_shape_with_and_without_a_base() -> None:
    alone, compared = _shape(CHECKED), _shape(msgspec.structs.replace(CHECKED, base=a_run("base")))
    assert (alone["run_id"], alone["base_run_id"], alone["exit_code"]) == ("head", None, 100)
    assert compared["base_run_id"] == "base"
    assert list(alone) == list(compared)
    assert [gate["expression"] for gate in alone["gates"]] == ["pass_rate >= 0.9"]


def rulings(*outcomes: GateOutcome) -> list[GateRuling]:
    return [GateRuling(expression="e", outcome=outcome, reason="r") for outcome in outcomes]


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ((), 0),
        ((GateOutcome.HELD,), 0),
        ((GateOutcome.INCONCLUSIVE, GateOutcome.HELD), GATE_INCONCLUSIVE),
        ((GateOutcome.INCONCLUSIVE, GateOutcome.FAILED), GATE_FAILED),
    ],
)
def test_gates_end_the_program_with_the_gravest_of_their_codes(outcomes: tuple[GateOutcome, ...], code: int) -> None:
    assert gate_exit_code(rulings(*outcomes)) == code


@given(st.lists(st.sampled_from([0, *WORST_FIRST])))
def test_the_gravest_code_is_one_of_those_given_and_the_order_does_not_matter(codes: list[int]) -> None:
    found = worst_exit_code(*codes)
    assert found in (codes or [0]) or found == 0
    assert found == worst_exit_code(*reversed(codes))
    assert (found == 0) is (set(codes) <= {0})


def commands(group: click.Group, path: str = "") -> list[tuple[str, click.Command]]:
    """Every command, those of groups too."""
    context = click.Context(group)
    found: list[tuple[str, click.Command]] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found += commands(command, f"{path}{name} ")
        else:
            found.append((f"{path}{name}", command))
    return found


ALL = commands(program)


@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_every_command_and_option_says_what_it_is_for(name: str, command: click.Command) -> None:
    assert command.help
    assert command.help.split("\n\n")[0].strip().endswith((".", "?", ":"))
    named = [option for param in command.params for option in param.opts if option.startswith("-")]
    assert len(named) == len(set(named))
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    assert {option.name for option in options if not option.help} <= {"scopes", "port"}


@pytest.mark.parametrize("group", ["", "judge", "label", "db", "audit", "keys"])
def test_lists_of_commands_fit_a_terminal_with_whole_sentences(group: str) -> None:
    listed = CliRunner().invoke(program, [*group.split(), "--help"], terminal_width=80).stdout.split("Commands:")[1]
    assert [line for line in listed.splitlines() if line.endswith("...")] == []


WITHOUT_SETTINGS = {"init", "completion", "comment", "trust"}
WITHOUT_RUNS = {"validate", "convert", "split", "merge", "cache", "schema", "judge about"}
"""Commands that neither keep runs nor read any: to them, --database would do nothing."""


@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_every_command_takes_settings_and_plug_ins_and_a_database_where_it_uses_one(
    name: str, command: click.Command
) -> None:
    taken = {option for param in command.params for option in param.opts}
    assert ({"--config", "--plugin"} <= taken) is (name not in WITHOUT_SETTINGS)
    assert ("--database" in taken) is (name not in WITHOUT_SETTINGS | WITHOUT_RUNS)


@pytest.mark.parametrize("command", ["runs", "trend"])
@pytest.mark.parametrize("limit", ["0", "-1", "99999999999999999999", "1.5", "many"])
def test_a_limit_that_no_database_can_count_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, limit: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(program, [command, "--limit", limit])
    assert done.exit_code == 2
    assert "Invalid value for '--limit'" in done.stderr


@pytest.mark.parametrize("days_old", ["-5", "x"])
def test_an_age_below_nothing_forgets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days_old: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(program, ["cache", "--clear", "--older-than", days_old])
    assert done.exit_code == 2
    assert "Invalid value for '--older-than'" in done.stderr


def test_more_tries_than_anybody_could_plan_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    house(tmp_path)
    done = CliRunner().invoke(program, ["run", "house.jsonl", "--repeat", "99999999999999999999"])
    assert done.exit_code == 2
    assert "99999999999999999999 is not in the range x<=100000" in done.stderr
    none = CliRunner().invoke(program, ["run", "house.jsonl", "--repeat", "0"])
    assert (none.exit_code, none.stderr) == (2, "error: --repeat must be 1 or more, not 0\n")
