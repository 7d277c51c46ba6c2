"""Request templates and JSON paths."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.targets.http.templates import PathNotFound, TemplateCompiler, fill_template, parse_path

VALUES: dict[str, Any] = {
    "message": "Hi {state} ${KEY} {{x}}",
    "session_id": "s/1 ?",
    "turn": 2,
    "history": [{"role": "user", "content": "a"}],
    "state": {"a": 1},
    "candidate": "",
}


def compiled(template: Any, environ: dict[str, str] | None = None) -> tuple[Any, list[str], list[str]]:
    told: list[str] = []
    compiler = TemplateCompiler(environ or {}, lambda field, message: told.append(f"{field}: {message}"))
    return compiler.value(template, "body"), told, compiler.secrets


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{message}", "Hi {state} ${KEY} {{x}}"),
        ("{turn}", 2),
        ("{history}", [{"role": "user", "content": "a"}]),
        ("{state}", {"a": 1}),
        ("{candidate}", ""),
        ("turn {turn}: {message}!", "turn 2: Hi {state} ${KEY} {{x}}!"),
        ("state={state}", 'state={"a":1}'),
        ("{message}{message}", "Hi {state} ${KEY} {{x}}" * 2),
        ("{{message}}", "{message}"),
        ("plain", "plain"),
        ("", ""),
        ("{} { } {1} {a-b} }{", "{} { } {1} {a-b} }{"),
        ({"a": ["{turn}", {"b": "{message}"}], "c": 3}, {"a": [2, {"b": "Hi {state} ${KEY} {{x}}"}], "c": 3}),
        (None, None),
        (True, True),
    ],
    ids=str,
)
def test_a_template_is_filled_in_one_pass(template: Any, value: Any) -> None:
    made, told, _ = compiled(template)
    assert told == []
    assert fill_template(made, VALUES) == value


def test_secrets_come_from_the_environment_and_are_no_templates() -> None:
    made, told, secrets = compiled({"key": "Bearer ${KEY}"}, {"KEY": "{message}"})
    assert told == []
    assert fill_template(made, VALUES) == {"key": "Bearer {message}"}
    assert secrets == ["{message}"]


@pytest.mark.parametrize("environ", [{}, {"KEY": ""}, {"KEY": "  "}], ids=["absent", "empty", "blank"])
def test_a_missing_variable_is_told_by_its_name(environ: dict[str, str]) -> None:
    _, told, _ = compiled({"a": "${KEY}"}, environ)
    assert told == ["body.a: the environment variable KEY is not set"]


def test_an_unknown_placeholder_is_told_with_those_that_are_known() -> None:
    _, told, _ = compiled(["{mesage}"])
    assert told == [
        "body[0]: {mesage} is not known here; known: {message}, {prompt}, {context}, {documents}, {choices},"
        " {session_id}, {case_id}, {history}, {messages}, {state}, {turn}, {candidate}"
        " (write {{mesage}} for that text itself)"
    ]


def test_what_is_filled_into_an_address_cannot_leave_its_place() -> None:
    compiler = TemplateCompiler({}, lambda field, message: pytest.fail(message))
    text = compiler.text("http://host/ä b/{session_id}?q={message}#x", "url")
    assert text.address({**VALUES, "message": "a&b=c#d"}) == "http://host/%C3%A4%20b/s%2F1%20%3F?q=a%26b%3Dc%23d#x"


@given(st.text(max_size=60))
def test_a_message_is_never_changed(message: str) -> None:
    made, _, _ = compiled({"a": "{message}", "b": ["<{message}>"]})
    assert fill_template(made, {"message": message}) == {"a": message, "b": [f"<{message}>"]}


BODY: dict[str, Any] = {
    "choices": [{"message": {"content": "Hi", "tool_calls": [{"name": "a"}, {"name": "b"}]}}],
    "events": [{"text": "one"}, {"tool": "x"}, {"text": "two"}, {"text": None}],
    "odd key": {"a.b": 1, "it's": 2},
    "nothing": None,
    "none": [],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", BODY),
        ("choices[0].message.content", "Hi"),
        ("$.choices[0].message.content", "Hi"),
        ("choices[-1].message.content", "Hi"),
        ("$['choices'][0]['message'].content", "Hi"),
        ("odd key['a.b']", 1),
        ("['odd key'][\"it's\"]", 2),
        ("nothing", None),
        ("events[*].text", ["one", "two", None]),
        ("events[*]", BODY["events"]),
        ("choices[*].message.tool_calls[*].name", ["a", "b"]),
        ("none[*].text", []),
        ("absent?", None),
        ("choices[7].message?", None),
        ("nothing.inside ?", None),
    ],
)
def test_a_path_finds(path: str, found: Any) -> None:
    assert parse_path(path).find(BODY) == found


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "answer",
            "at the top there is an object with the keys choices, events, odd key, nothing, none, and no `answer`",
        ),
        ("choices.message", "under `choices` there is a list of 1, and no `message`"),
        ("choices[2]", "under `choices` there is a list of 1, and no `[2]`"),
        (
            "choices[0].message.text",
            "under `choices[0].message` there is an object with the keys content, tool_calls, and no `text`",
        ),
        ("nothing.inside", "under `nothing` there is null, and no `inside`"),
        ("nothing[*]", "under `nothing` there is null, and no `[*]`"),
        ("events[*].missing", "under `events[*]` there is an object with the keys text, and no `missing`"),
    ],
)
def test_a_path_that_leads_nowhere_says_what_was_there(path: str, message: str) -> None:
    with pytest.raises(PathNotFound) as caught:
        parse_path(path).find(BODY)
    assert str(caught.value) == f"`{path}` leads nowhere: {message}"


def test_many_keys_are_not_all_told() -> None:
    with pytest.raises(PathNotFound, match=r"k19, … \(50 in all\)"):
        parse_path("x").find({f"k{number}": 1 for number in range(50)})


@pytest.mark.parametrize("path", ["", "  ", "?", "a..b", "a[", "a[x]", "a[1", "a]", "['a", "a.", "[]", "a*"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        parse_path(path)


@given(st.text(max_size=30))
def test_any_text_is_a_path_or_refused_and_a_path_finds_or_says(text: str) -> None:
    try:
        path = parse_path(text)
    except ValueError:
        return
    try:
        path.find(BODY)
    except PathNotFound as error:
        assert "leads nowhere" in str(error)


def test_a_path_tells_whether_it_finds_several() -> None:
    assert parse_path("a[*].b").several
    assert not parse_path("a[0].b").several
