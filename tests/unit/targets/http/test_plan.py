"""The settings of an HTTP target: strict, all wrong ones in one error, and what they become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from howsure.errors import ConfigInvalid
from howsure.targets.base import TargetRequest
from howsure.targets.http.plan import BODY, HttpPlan, HttpSettings, encode_body, plan_http_target

URL = "http://127.0.0.1:8000/chat"
VALUES = {
    "message": "Hi",
    "session_id": "s1",
    "case_id": "c1",
    "turn": 1,
    "history": [],
    "messages": [],
    "state": {"a": 1},
    "candidate": "",
    "context": "",
}


def planned(settings: Mapping[str, Any], rest: str = "", **environ: str) -> HttpPlan:
    return plan_http_target(TargetRequest(name="shop", rest=rest, settings=settings, environ=environ))


def refused(settings: Mapping[str, Any], rest: str = "", **environ: str) -> str:
    with pytest.raises(ConfigInvalid) as caught:
        planned(settings, rest, **environ)
    return str(caught.value)


def test_an_address_is_enough() -> None:
    plan = planned({}, URL)
    request = plan.call.request(VALUES)
    assert (request.method, request.url) == ("POST", URL)
    assert request.headers["Content-Type"] == "application/json"
    assert request.body == (b'{"message":"Hi","session_id":"s1","case_id":"c1","turn":1,"history":[],"state":{"a":1}}')
    assert set(BODY) == {"message", "session_id", "case_id", "turn", "history", "state"}
    block = plan.settings
    assert (block.turn_seconds, block.connect_tries, block.retries, block.max_connections) == (60.0, 3, 0, None)


def test_an_address_on_the_command_line_may_follow_the_kind_or_be_it() -> None:
    assert planned({}, "//127.0.0.1:8000/chat").call.request(VALUES).url == URL
    assert planned({"url": "http://elsewhere"}, URL).call.request(VALUES).url == URL


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "`targets.shop.url`: is needed: the address of the bot, such as http://127.0.0.1:8000/chat"),
        ({"url": "localhost:8000"}, "`targets.shop.url`: expected an address with http:// or https://"),
        ({"url": "http://"}, "`targets.shop.url`: expected an address with http:// or https://"),
        ({"url": "http://host:99999"}, "`targets.shop.url`: is no address"),
        ({"url": "http://u:p@host"}, "`targets.shop.url`: may hold no user and password"),
        ({"url": 3}, "`targets.shop.url`: Expected `str`, got `int`"),
        ({"url": URL, "method": "FETCH"}, "`targets.shop.method`: expected one of POST, GET"),
        ({"url": URL, "anser": "x"}, "`targets.shop.anser`: is not a setting; did you mean `answer`?"),
        ({"url": URL, "answer": "a..b"}, "`targets.shop.answer`: not a path: 'a..b'"),
        ({"url": URL, "tool_call": {"name": "["}}, "`targets.shop.tool_call.name`: not a path"),
        ({"url": URL, "tool_call": {"nam": "x"}}, "`targets.shop.tool_call`: Object contains unknown field `nam`"),
        ({"url": URL, "stream": "grpc"}, "`targets.shop.stream`: Invalid enum value 'grpc'"),
        ({"url": URL, "stream": "sse"}, "`targets.shop.stream`: a stream needs `delta`"),
        ({"url": URL, "delta": "x"}, "`targets.shop.delta`: is for streams"),
        ({"url": URL, "turn_seconds": 0}, "`targets.shop.turn_seconds`: expected"),
        ({"url": URL, "max_connections": 0}, "`targets.shop.max_connections`: expected 1 or more, found 0"),
        ({"url": URL, "connect_tries": 0}, "`targets.shop.connect_tries`: expected 1 or more, found 0"),
        ({"url": URL, "retries": -1}, "`targets.shop.retries`: expected 0 or more, found -1"),
        ({"url": URL, "body": {"a": "{mesage}"}}, "`targets.shop.body.a`: {mesage} is not known here"),
        ({"url": URL, "headers": {"X": "{message}"}}, "`targets.shop.headers.X`: {message} is not known here"),
        ({"url": URL, "headers": {"X": "${KEY}"}}, "`targets.shop.headers.X`: the environment variable KEY is not set"),
        ({"url": URL, "headers": {"Authorization": "Bearer abc"}}, "a secret may not stand in a file"),
        ({"url": "${BOT}/chat"}, "`targets.shop.url`: the environment variable BOT is not set"),
        ({"url": URL, "session": {"open": {"url": "x"}}}, "`targets.shop.session.open.url`: expected an address"),
        ({"url": URL, "session": {"close": {"url": URL, "method": "X"}}}, "`targets.shop.session.close.method`"),
        ({"url": URL, "session": {"open": {}}}, "`targets.shop.session`: Object missing required field `url`"),
        ({"url": URL, "health": "http://"}, "`targets.shop.health`: expected an address"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_told_with_its_place(settings: dict[str, Any], told: str) -> None:
    assert told in refused(settings)


def test_every_wrong_setting_is_told_at_once() -> None:
    told = refused({"url": URL, "answer": "[", "retries": -1, "anser": "x", "headers": {"X-Key": "${KEY}"}})
    assert [
        name for name in ("answer", "retries", "anser", "headers.X-Key") if f"`targets.shop.{name}`" not in told
    ] == []


def test_a_missing_variable_is_told_once() -> None:
    settings = {
        "url": URL,
        "headers": {"X-Key": "${KEY}"},
        "health": "/health",
        "session": {"open": {"url": URL}, "close": {"url": URL}},
    }
    assert refused(settings).count("KEY is not set") == 1


def test_a_secret_that_is_there_is_in_no_error() -> None:
    told = refused({"url": URL, "headers": {"Authorization": "Bearer ${KEY}"}, "answer": "["}, KEY="sesame-open-123")
    assert "sesame" not in told


def test_headers_and_addresses_are_templates_too() -> None:
    settings = {
        "url": "${BOT}/sessions/{session_id}/messages",
        "headers": {"authorization": "Bearer ${KEY}", "X-Case": "{case_id}", "content-type": "application/vnd.x+json"},
    }
    request = planned(settings, BOT="https://bot.test", KEY="sesame").call.request(VALUES)
    assert request.url == "https://bot.test/sessions/s1/messages"
    assert request.headers["Authorization"] == "Bearer sesame"
    assert request.headers["X-Case"] == "c1"
    assert request.headers["Content-Type"] == "application/vnd.x+json"


def test_an_address_from_the_environment_must_be_one() -> None:
    assert "holds no address" in refused({"url": "${BOT}/chat"}, BOT="bot.test")


def test_a_get_has_no_body() -> None:
    request = planned({"url": f"{URL}?q={{message}}", "method": "get"}).call.request({**VALUES, "message": "a b&c"})
    assert (request.method, request.url, request.body) == ("GET", f"{URL}?q=a%20b%26c", None)
    assert "Content-Type" not in request.headers


@pytest.mark.parametrize(
    ("body", "content_type", "sent"),
    [
        ({"a": "ä"}, "application/json", '{"a":"ä"}'.encode()),
        ("Hi", "application/json", b'"Hi"'),
        ("Hi", "text/plain", b"Hi"),
        ({"q": "a b", "n": 1}, "application/x-www-form-urlencoded", b"q=a+b&n=1"),
    ],
    ids=["json", "a JSON text", "plain text", "a form"],
)
def test_the_body_is_written_as_its_type_says(body: Any, content_type: str, sent: bytes) -> None:
    assert encode_body(body, content_type) == sent


def test_the_health_address_may_be_a_path() -> None:
    plan = planned({"url": f"{URL}/{{session_id}}", "health": "/health", "headers": {"X": "1", "Y": "{turn}"}})
    assert plan.health is not None
    request = plan.health.request({})
    assert (request.method, request.url) == ("GET", "http://127.0.0.1:8000/health")
    assert (request.headers["X"], "Y" in request.headers) == ("1", False)


def test_calls_of_a_session_take_over_the_headers() -> None:
    settings = {
        "url": URL,
        "headers": {"X-A": "1", "X-B": "2"},
        "session": {"open": {"url": f"{URL}/new", "headers": {"x-b": "3"}, "body": {"state": "{state}"}, "id": "id"}},
    }
    plan = planned(settings)
    assert plan.opening is not None
    request = plan.opening.request(VALUES)
    assert (request.headers["X-A"], request.headers["X-B"]) == ("1", "3")
    assert request.body == b'{"state":{"a":1}}'


def test_every_setting_has_a_default() -> None:
    assert HttpSettings() == HttpSettings(url="")
