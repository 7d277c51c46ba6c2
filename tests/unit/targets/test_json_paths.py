"""Paths into JSON: what they find, and what they say when they find nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.targets.http.templates import PathNotFound, parse_path

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
