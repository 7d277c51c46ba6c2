"""What a notebook shows of a run: the sentence, the graders, what did not pass; and nothing that can act."""

from __future__ import annotations

from html.parser import HTMLParser

from msgspec.structs import replace

from howsure.model.run import Pins
from howsure.model.run_request import RunRequest
from howsure.model.summary import GateOutcome, GateRuling
from howsure.model.verdict import Verdict
from howsure.reports.notebooks import SHOWN, notebook_html
from howsure.testing import a_case
from two_runs import tried
from unit.reports.test_frames import RESULTS, summary

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\x1b[31m\u202e'


class Tags(HTMLParser):
    """The names of all elements, and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs


def test_it_shows_the_sentence_the_graders_and_what_did_not_pass() -> None:
    shown = notebook_html(summary(), RESULTS)
    assert "Not finished: 2 of 2 still to do." in shown
    assert "<td>criteria</td><td></td><td>0.0 % [0–79] n 1</td><td>0.5 of 1</td>" in shown
    assert "<p>2 results that did not pass:</p>" in shown
    assert "<td>a</td><td></td><td>failed</td><td>too short; rude</td>" in shown


def test_gates_are_shown_with_their_reasons() -> None:
    ruling = GateRuling(expression="pass_rate >= 0.9", outcome=GateOutcome.FAILED, reason="50 % passed")
    shown = notebook_html(replace(summary(), gates=(ruling,)), ())
    assert "<td>pass_rate &gt;= 0.9</td><td>failed</td><td>50 % passed</td>" in shown


def test_only_the_first_are_shown_and_the_rest_counted() -> None:
    many = [tried(f"q{number}", False) for number in range(25)]
    shown = notebook_html(summary(), many)
    assert f"25 results that did not pass; the first {SHOWN} of them" in shown
    assert (shown.count("<td>q9</td>"), shown.count("<td>q10</td>")) == (1, 0)


def test_where_everything_passed_no_case_is_shown() -> None:
    assert "did not pass" not in notebook_html(summary(), [tried("q1", True)])


def test_hostile_text_is_inert_everywhere() -> None:
    known = summary()
    run = replace(known.run, name=HOSTILE, pins=Pins(request=RunRequest(target=HOSTILE, judge=HOSTILE)))
    graders = tuple(replace(each, name=HOSTILE, candidate=HOSTILE) for each in known.graders)
    ruling = GateRuling(expression=HOSTILE, outcome=GateOutcome.HELD, reason=HOSTILE, candidate=HOSTILE)
    result = replace(
        RESULTS[0], case=a_case(id=HOSTILE), candidate=HOSTILE, reasons=(HOSTILE,), verdict=Verdict.FAILED
    )  # fmt: skip
    shown = notebook_html(replace(known, run=run, graders=graders, gates=(ruling,)), [result])
    tags = Tags()
    tags.feed(shown)
    assert tags.names == {"div", "p", "strong", "code", "br", "small", "table", "thead", "tbody", "tr", "th", "td"}
    assert tags.attributes == [("class", "howsure-run")]
    assert not {"\x1b", "\u202e"} & set(shown)
