"""Break 2: a pattern of a user cannot stop the worker. Patterns mean what they mean in `re`, take linear time, and what
cannot be had in linear time is refused by name, before anything runs."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import assume, given
from hypothesis import strategies as st

from api.operations import a_rubric, rule
from api.shared import AGENT, Asker, Service, in_a_thread
from databases import IN_TURN, a_database
from howsure.api.app import ServiceAccess
from howsure.dialects.simulation_traces import camel
from howsure.errors import ConfigInvalid
from howsure.graders.output_contract import OutputContractGrader
from howsure.main import program
from howsure.matching.conditions import evaluate_condition
from howsure.matching.patterns import PatternRefused, compile_pattern, pattern_fault
from simulation_files import COLUMNS, PROCESSED, SESSION, event
from web.pages_served import serving
from web.visiting import Visitor

HOSTILE = "(a|aa)+$"
"""It keeps `re` busy for hours with this text."""
ENDLESS = "a" * 50 + "!"

PATTERNS = [
    r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}",
    r"[^@\s]+@[^@\s]+",
    r"\w+([-+.']\w+)*@\w+([-.]\w+)*\.\w+([-.]\w+)*",
    r"\d{4}-\d{2}-\d{2}",
    r"(?P<day>\d{1,2})[./](?P<month>\d{1,2})[./](?P<year>\d{4})",
    r"\b(?:0?[1-9]|[12]\d|3[01])\.\s*(?:Januar|Februar|März|Mai)\b",
    r"L-[0-9]{4}",
    r"#?[A-Z]{2,3}-\d+",
    r"(?i)order\s+(?:no\.?|number|id)?\s*:?\s*[a-z]-?\d+",
    r"[€$£]\s?\d{1,3}(?:[.,]\d{3})*(?:[.,]\d{2})?",
    r"\d+(?:,\d+)?\s*(?:€|EUR|Euro)",
    r"-?\d+(?:\.\d+)?%?",
    r"(?i)straße",
    r"(?i)STRASSE|STRAẞE",
    r"\bGrüße\b",
    r"\b\w+\b",
    r"^\w+$",
    r"(?i)ΣΊΣΥΦΟΣ",
    r"[α-ωά-ώ]+",
    r"\w+ά\w*",
    r"[\u0600-\u06FF]+",
    r"\d{2,}",
    r"[\u0900-\u097F]+",
    r"\w{3,}",
    r"[😀-🙏]",
    r"👍+",
    r"^.{1,20}$",
    r"(?s).*refund.*",
    r".*refund.*",
    r"(?m)^- .+$",
    r"(?m)^$",
    r"\S+\s*\Z",
    r"end$",
    r"\Aorder",
    r"a{,2}b",
    r"x{2,}|y{0}z?",
    r"colou?r|gr[ae]y",
    r"[^\W\d_]+",
    r"[\s,;]+",
    r"[]\[()]",
    r"\{\d+\}",
    r"(?a)\w+\b",
    r"(?a)\d+",
    r"(?i)[k-s]+",
    r"\x41\u00e9\N{EURO SIGN}|\101",
    r"(a|b|ab)*?c",
    r"(?:(?:ab|a)+|b)+",
    r"(?#a comment)ab+",
    r"\$\{(\w+)\}",
    r"\.\*",
]
TEXTS = [
    "",
    "\n",
    "mail anna.smith+x@example.co.uk now",
    "ünï@exämple.de",
    "2024-05-06",
    "am 6. März, 06.05.2024\n",
    "order L-1234\n",
    "Order No.: b-77, see #ABC-9\n\n",
    "€1.234,50 or $ 12 or £3",
    "12,50 € und 7 Euro",
    "-3.5% 100",
    "die STRASSE, Straße und STRAẞE",
    "Viele Grüße\nGrüßen",
    "ΣΊΣΥΦΟΣ σίσυφος Σίσυφοσ",
    "مرحبا ٣٤٥ يوم",
    "नमस्ते १२३",
    "ok 👍👍 😀",
    "please\nrefund me",
    "- one\n- two\n\nend\n",
    "the end\n\n",
    "aab {17} ${name} [x](y) .*",
    "grey colour gray color zxx",
    "K ſ ß İ ı ǅ ² ½ ª",
    "a\u0300\u200d\u2028\u00a0\x1c\x85b",
    "A Aé€ abababc",
    "lone \ud800 half",
]


def spans(written: str, text: str) -> tuple[Any, Any]:
    """What `re` finds, and what we find."""
    there, ours = re.compile(written), compile_pattern(written)
    found = [match and match.span() for match in (there.search(text), there.fullmatch(text))]
    return found, [ours.search(text), ours.fullmatch(text)]


@pytest.mark.parametrize("written", PATTERNS)
def test_a_pattern_finds_in_every_text_what_re_finds(written: str) -> None:
    assert len(PATTERNS) * len(TEXTS) >= 1_000
    for text in TEXTS:
        there, ours = spans(written, text)
        assert ours == there, (written, text)


ATOMS = (
    *("a", "b", "A", "1", "é", "ß", "ſ", "k", "i", "σ", "क", "😀", "-", "{", "}", "]", ",", "\n", "#", " "),
    *(r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", ".", r"\.", r"\n", r"\x41", r"\u00e9", r"\101", r"\0", r"\\"),
    *(
        "[a-c]",
        "[^a]",
        r"[\w-]",
        r"[^\W\d]",
        r"[\s,]",
        r"[^\n]",
        "[]a]",
        "[^]]",
        "[à-ÿ]",
        "[A-z]",
        "[😀-🙏]",
        r"[\]\\]",
    ),
)
EDGES = ("^", "$", r"\A", r"\Z", r"\b")
REPEATS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}", "{2,}", "{,}", "{0}", "{1,3}?")
FLAGS = ("", "(?i)", "(?m)", "(?s)", "(?ims)", "(?a)", "(?u)")
CHARACTERS = "aabcABk1_ -.,\n\té€ßÄſKıİσςΣ٣क😀\u2028\u00a0\x00\x1c\ud800²½ǅ\u0300ª{}]\\#"
SIMPLE = st.sampled_from(ATOMS) | st.sampled_from(EDGES)
PARTS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(st.sampled_from(("(", "(?:", "(?P<x>")), inner, st.just("|"), inner, st.just(")")).map("".join),
        st.tuples(st.just("(?:"), inner, st.just(")"), st.sampled_from(REPEATS)).map("".join),
    ),
    max_leaves=8,
)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@given(st.tuples(st.sampled_from(FLAGS), PARTS).map("".join), st.lists(st.text(CHARACTERS, max_size=10), min_size=4))
def test_any_pattern_matches_where_re_matches(written: str, texts: list[str]) -> None:
    try:
        re.compile(written)
    except re.error as error:
        with pytest.raises(PatternRefused, match=re.escape(f"is not a regular expression: {error}")):
            compile_pattern(written)
        return
    # Beside what `re` cannot read only size may be refused: no part is of the kinds that are refused by name.
    assume("is too large" not in pattern_fault(written))
    for text in texts:
        there, ours = spans(written, text)
        assert list(map(bool, ours)) == list(map(bool, there)), (written, text)


@given(st.text(min_size=1, max_size=30), st.text(max_size=20))
def test_an_escaped_text_is_found_as_it_is(part: str, around: str) -> None:
    text = around + part + around
    there, ours = spans(re.escape(part), text)
    assert ours == there
    assert ours[0] is not None


@pytest.mark.filterwarnings("ignore::FutureWarning")
@given(st.text(max_size=30))
def test_whatever_is_written_is_a_pattern_or_refused(written: str) -> None:
    """No other error, and no other meaning."""
    if pattern_fault(written):
        return
    there, ours = spans(written, written)
    assert list(map(bool, ours)) == list(map(bool, there))


every_end = pytest.mark.parametrize("end", [0x3000, pytest.param(0x110000, marks=pytest.mark.thorough)])


@every_end
@pytest.mark.parametrize("sign", [r"\w", r"\W", r"\d", r"\s", r"\S", ".", "(?i)k", "(?i)[à-ÿ]", r"[^\W\d_]", r"(?a)\w"])
def test_every_character_there_is_counts_as_in_re(sign: str, end: int) -> None:
    characters = "".join(map(chr, range(end)))
    members = re.findall(sign, characters)
    others = set(characters).difference(members)
    assert compile_pattern(f"{sign}+").fullmatch("".join(members)) is not None
    assert compile_pattern(sign).search("".join(others)) is None


@every_end
def test_a_word_ends_where_it_ends_in_re_beside_every_character(end: int) -> None:
    characters = "".join(map(chr, range(end)))
    in_words = re.findall(r"\w", characters)
    others = set(characters).difference(in_words)
    assert compile_pattern(r"(?:\b\w\b )+").fullmatch(" ".join(in_words) + " ") is not None
    assert compile_pattern(r"\b").search("".join(others)) is None
    assert compile_pattern(r"x(?:\b\W\bx)+").fullmatch("x" + "x".join(others) + "x") is not None


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (r"(?=.*\d).+", "looks ahead with `(?=`; write what follows into the pattern itself"),
        (r"(?!no)\w+", "looks ahead with `(?!`; write what is allowed, not what is forbidden"),
        (r"(?<=L-)\d+", "looks behind with `(?<=`; write what stands before into the pattern itself"),
        (r"(?<!L-)\d+", "looks behind with `(?<!`; write what is allowed, not what is forbidden"),
        (r"(\w)\1", r"refers back to a group with `\1`; write what may stand there"),
        (r"(?P<x>a)(?P=x)", "refers back to a group with `(?P=`; write what may stand there"),
        (r"(a)?(?(1)b|c)", "asks with `(?(` whether a group matched; write both cases with `|` between them"),
        (r"(?>a+)b", "has an atomic group `(?>`; write a plain group `(?:`"),
        (r"a++", "has a possessive repetition `++`; write `+`"),
        (r"a{1,3}+", "has a possessive repetition `{1,3}+`; write `{1,3}`"),
        (r"\Ba", r"has `\B`; write which characters may stand there, such as `\w`"),
        (r"(?x) a b", "has the flag `x`; write it without the spaces and comments"),
        (r"(?i:a)b", "sets flags for a part with `(?i:`; set them for all of it, as in `(?i)`"),
        (r"(?s-i:a)b", "sets flags for a part with `(?s-i:`; set them for all of it, as in `(?i)`"),
        ("a{1001}", "is too large: at most 1,000 repetitions are allowed, multiplied where they nest"),
        ("(?:a{100}){100}", "is too large: at most 1,000 repetitions are allowed, multiplied where they nest"),
        ("a{99999999999}", "is not a regular expression: the repetition number is too large"),
        ("(?:ab{900}c){1}x{900}y{900}", "steps, at most 2,000 are allowed; repeat less"),
        ("a" * 1_001, "has 1,001 characters; at most 1,000 are allowed"),
        ("[a]" * 51, "has 51 `[`; at most 50 are allowed"),
        ("(" * 499 + ")" * 499, "is not a regular expression: maximum recursion depth exceeded"),
        (
            r"\b[" + "".join(map(chr, range(0x4E00, 0x4E60))) + "]" + "".join(map(chr, range(0x4E00, 0x4E60))),
            "has `\\b`",
        ),
        ("(?a)(?u)x", "is not a regular expression: ASCII and UNICODE flags are incompatible"),
        ("(", "is not a regular expression: missing ), unterminated subpattern at position 0"),
    ],
)
def test_what_takes_more_than_linear_time_is_refused_by_name(written: str, said: str) -> None:
    assert said in pattern_fault(written)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (HOSTILE, ENDLESS),
        (HOSTILE, "a" * 100_000 + "!"),
        (r"(\w+\s?)+$", "word " * 20_000 + "!"),
        (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 100_000),
        (r"(.*a){20}b", "a" * 100_000),
        (r"\s+$", " " * 100_000 + "x"),
        (r"(?:a?){400}a{400}b", "a" * 30_000),
        (r"(x+x+)+y", "ÄxÄ" + "x" * 100_000),
    ],
)
def test_break_2_a_hostile_pattern_takes_no_longer_than_its_text(written: str, text: str) -> None:
    began = time.process_time()
    assert compile_pattern(written).search(text) is None
    assert compile_pattern(written).fullmatch(text) is None
    assert time.process_time() - began < 2


def test_break_2_others_work_while_a_pattern_is_searched_for() -> None:
    pattern, pauses, stop = compile_pattern("(?:a?){400}a{400}b"), [0.0], threading.Event()

    def others() -> None:
        last = time.perf_counter()
        while not stop.wait(0.002):
            pauses.append(time.perf_counter() - last)
            last = time.perf_counter()

    thread = threading.Thread(target=others)
    thread.start()
    began = time.perf_counter()
    pattern.search("a" * 60_000)
    took = time.perf_counter() - began
    stop.set()
    thread.join()
    assert max(pauses) < took / 2 or took < 0.1


def golden(**arguments: Any) -> dict[str, Any]:
    call = {"tool_name": "find", "input_arguments": arguments}
    question = {
        "id": "q1",
        "user_inputs": ["Find it"],
        "agents_evaluated": ["shop"],
        "expected_behavior": "finds it",
        "reference_data": {"reference_tool_interactions": [call]},
    }
    return {"golden_questions": [question]}


@pytest.fixture
def howsure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOWSURE_DATABASE_URL", raising=False)
    return lambda *words: CliRunner().invoke(program, words)


def test_validate_names_the_pattern_with_its_line_and_field(howsure: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "shop_golden.json").write_text(json.dumps(golden(order={"$regex": "(?=x)y"}), indent=1))
    done = howsure("validate", "shop_golden.json", "--json")
    assert done.exit_code == 2, done.output
    (problem,) = json.loads(done.stdout)["files"][0]["problems"]
    assert problem["line"] == 3
    assert problem["field"].endswith("input_arguments.order.$regex")
    assert problem["message"] == "$regex '(?=x)y' looks ahead with `(?=`; write what follows into the pattern itself"
    assert howsure("run", "shop_golden.json", "--target", "function:bot.py:answer").exit_code == 2


def test_a_condition_names_what_is_wrong_with_its_pattern(howsure: Callable[..., Result], tmp_path: Path) -> None:
    check = {"field": "note", "op": "matches", "value": r"(\w)\1"}
    broken = rule(outcome_check={"entity_type": "order", "check": check})
    (tmp_path / "rubric.json").write_text(json.dumps(a_rubric(rules=[broken])))
    done = howsure("validate", "rubric.json", "--json")
    assert done.exit_code == 2, done.output
    (problem,) = json.loads(done.stdout)["files"][0]["problems"]
    assert "`matches` takes a regular expression; " in problem["message"]
    assert r"refers back to a group with `\1`" in problem["message"]


def test_a_condition_with_a_hostile_pattern_is_answered_at_once() -> None:
    began = time.process_time()
    check = {"field": "note", "op": "matches", "value": HOSTILE}
    assert evaluate_condition(check, {"note": ENDLESS}).holds is False
    assert evaluate_condition(check, {"note": "a" * 50}).holds is True
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"id": {"type": "string", "pattern": r"^(?!\s*$).+"}}},
        {"patternProperties": {r"^(?!x)": {"type": "string"}}},
        {"propertyNames": {"pattern": r"(?!x)y"}},
    ],
)
def test_a_contract_that_looks_ahead_is_refused_by_name(schema: dict[str, Any]) -> None:
    with pytest.raises(ConfigInvalid, match=re.escape("looks ahead with `(?!`; write what is allowed")):
        OutputContractGrader({"mine": schema}).validators  # noqa: B018


async def test_a_contract_with_a_hostile_pattern_is_checked_at_once() -> None:
    contracts = {"mine": {"properties": {"id": {"pattern": HOSTILE}}, "patternProperties": {HOSTILE: {}}}}
    began = time.process_time()
    errors = OutputContractGrader(contracts).validators["mine"].iter_errors({"id": ENDLESS * 1_000, ENDLESS: 1})
    assert len(list(errors)) == 1
    assert time.process_time() - began < 1


def conversation(pattern: str, order: str) -> bytes:
    """A finished conversation whose one call is checked with the pattern."""
    events = [
        event("user", {"text": "Find it"}),
        event("shop", {"function_call": {"id": "c1", "name": "find", "args": {"order": order}}}),
        event("shop", {"function_response": {"id": "c1", "name": "find", "response": {"found": True}}}),
        event("shop", {"text": "Here it is."}),
    ]
    columns = {name: COLUMNS[name] for name in PROCESSED}
    own = {
        "agents_evaluated": ["shop"],
        "user_inputs": ["Find it"],
        "reference_data": golden(order={"$regex": pattern})["golden_questions"][0]["reference_data"],
        "final_session_state": {**SESSION, "events": camel(events)},
        "session_trace": [],
        "extracted_data": {},
        "final_response": "Here it is.",
    }
    return json.dumps({**columns, **own}).encode() + b"\n"


def test_break_2_a_run_with_a_hostile_pattern_ends_at_once(howsure: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "sessions.jsonl").write_bytes(conversation(HOSTILE, ENDLESS))
    began = time.process_time()
    done = howsure("run", "sessions.jsonl", "--json")
    assert time.process_time() - began < 20
    assert done.exit_code == 0, done.output
    assert (json.loads(done.stdout)["total"], json.loads(done.stdout)["failed"]) == (1, 1)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Service]]:
    """One service on each database, with one worker for all organisations."""
    with ExitStack() as stack:

        @cache
        def running(kind: str) -> Service:
            folder = tmp_path_factory.mktemp(kind)
            where = stack.enter_context(a_database(kind, folder))
            return stack.enter_context(in_a_thread(folder, where, ServiceAccess(keys_needed=True)))

        yield running


@pytest.fixture(params=IN_TURN)
def service(request: pytest.FixtureRequest, services: Callable[[str], Service]) -> Service:
    return services(request.param)


def begin(ask: Asker, content: bytes) -> str:
    made = ask.made("/datasets", {"name": "sessions.jsonl", "agent_id": AGENT, "content": content.decode()})
    run: str = ask.made("/runs", {"dataset_id": made["dataset_id"], "target": "recorded"}, 202)["run_id"]
    return run


def test_break_2_a_hostile_pattern_delays_no_run_of_another_organisation(service: Service) -> None:
    ours, theirs = service.asker(), service.asker()
    hostile = [begin(theirs, conversation(HOSTILE, ENDLESS)) for _ in range(3)]
    plain = begin(ours, conversation("L-[0-9]+", "L-17"))
    assert ours.finished(plain)["passed"] == 1
    assert [theirs.finished(run)["failed"] for run in hostile] == [1, 1, 1]


@pytest.mark.parametrize("path", ["/datasets", "/rubrics"])
def test_the_api_refuses_a_pattern_that_looks_ahead(service: Service, path: str) -> None:
    check = {"entity_type": "order", "check": {"field": "id", "op": "matches", "value": "(?=x)y"}}
    bodies = {
        "/datasets": {"name": "sessions.jsonl", "content": conversation("(?=x)y", "xy").decode()},
        "/rubrics": a_rubric(rules=[rule(outcome_check=check)]),
    }
    reply = service.asker()("POST", path, bodies[path])
    assert reply.status == 422
    (problem,) = reply.body["problems"]
    assert "'(?=x)y' looks ahead with `(?=`; write what follows into the pattern itself" in problem["message"]


def test_a_page_refuses_a_pattern_that_looks_ahead(tmp_path: Path) -> None:
    with serving(tmp_path, working=False) as served:
        visitor = Visitor(served.base)
        reply = visitor.bring("/library/datasets/import?name=sessions.jsonl", conversation("(?=x)y", "xy"))
    assert reply.status == 422
    assert "looks ahead with `(?=`; write what follows into the pattern itself" in reply.text
