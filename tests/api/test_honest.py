"""What a request cannot have is refused at once, with every reason and in the words of the API; what is refused for
good is no 503; and what nobody asked for does not happen."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from api.operations import a_dataset, a_rubric, a_test_set, entry
from api.served import BOT, serving, serving_workspace
from api.shared import AGENT, Asker
from howsure.api.errors import CODES, problem_code
from howsure.api.server import ServerOptions, serve
from howsure.config import Engine, ServiceSettings, Settings
from howsure.errors import ConfigInvalid
from howsure.kit.plugins import builtin_kit
from howsure.policies.verdicts import builtin_profiles
from howsure.reports.headlines import field_words
from howsure.services.workspace import Workspace

SIMULATION = (files("howsure") / "demo" / "simulation" / "support-simulation.csv").read_bytes()
Json = dict[str, Any]
BLOCKS: dict[str, dict[str, Any]] = {
    "bot": {"kind": "function", "function": "api_bot:answer"},
    "away": {"kind": "http", "url": "http://127.0.0.1:9/chat", "headers": {"Authorization": "${NO_SUCH_VARIABLE}"}},
}


def a_workspace(folder: Path, engine: Engine = Engine.LOCAL) -> Workspace:
    (folder / "api_bot.py").write_text(BOT)
    rules = ServiceSettings(target="bot", judges=("openai:gpt-5", "openai:gpt-unheard"))
    settings = Settings(database=str(folder / "howsure.db"), targets=BLOCKS, service=rules, engine=engine)
    return Workspace(settings, builtin_kit(builtin_profiles()), folder)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"eval_model": "openai:gpt-5"}, "set OPENAI_API_KEY in the environment"),
        ({"eval_model": "openai:gpt-unheard", "budget": "1USD"}, "gpt-unheard"),
        ({"target": "away"}, "NO_SUCH_VARIABLE"),
    ],
    ids=["a judge without a key", "a model without a price", "a variable that is not set"],
)
async def test_what_trying_again_does_not_mend_is_no_503(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], said: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if "budget" in fields:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
    async with serving_workspace(a_workspace(tmp_path)) as ask:
        key = (await ask("POST", "/test-sets", a_test_set())).body["test_set_id"]
        for path, whose in (("/runs", {}), ("/evaluations", {"bot_id": AGENT})):
            reply = await ask("POST", path, {"test_set_id": key, **whose, **fields})
            assert reply.status == 422, reply.body
            assert said in reply.body["detail"]
            assert [each["code"] for each in reply.body["problems"]] == ["not-configured"]
            assert "--" not in reply.body["detail"]
        assert (await ask("GET", "/runs")).body == []
        if "eval_model" in fields and "budget" not in fields:
            talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi"}]
            one = {"messages": talk, "success_criteria": ["greets"], **fields}
            assert (await ask("POST", "/evaluate-transcript", one)).status == 422


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed here")
async def test_a_cluster_that_cannot_be_is_refused_at_once(tmp_path: Path) -> None:
    async with serving_workspace(a_workspace(tmp_path)) as ask:
        key = (await ask("POST", "/test-sets", a_test_set())).body["test_set_id"]
        reply = await ask("POST", "/runs", {"test_set_id": key, "engine": "ray"})
        assert (reply.status, reply.body["problems"][0]["field"]) == (422, "engine")
        assert reply.body["detail"] == "`engine` ray needs Ray, on every machine: pip install 'howsure[ray]'"
    with pytest.raises(ConfigInvalid, match="needs Ray"):
        await serve(a_workspace(tmp_path, Engine.RAY), ServerOptions(port=0, workers=0))


async def test_a_misspelled_bot_is_not_another_bot(tmp_path: Path) -> None:
    async with serving(tmp_path, unknown_bots=False, bots={"listed": "bot"}) as ask:
        key = (await ask("POST", "/test-sets", a_test_set())).body["test_set_id"]
        assert (await ask("PUT", "/bots/described/context", {"bot_name": "D"})).status == 200
        for bot in (AGENT, "described", "listed"):
            reply = await ask("POST", "/evaluations", {"bot_id": bot, "test_set_id": key})
            assert reply.status == 202, (bot, reply.body)
        reply = await ask("POST", "/evaluations", {"bot_id": "64f0c2a1e4b0", "test_set_id": key})
        assert reply.status == 422
        assert [(each["code"], each["field"]) for each in reply.body["problems"]] == [("unknown-bot", "bot_id")]
        talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi"}]
        graded = {"messages": talk, "success_criteria": ["greets"], "bot_id": "64f0c2a1e4b0"}
        assert (await ask("POST", "/evaluate-transcript", graded)).status == 422


async def test_every_reason_is_told_at_once_with_its_field(tmp_path: Path) -> None:
    async with serving(tmp_path, unknown_bots=False) as ask:
        key = (await ask("POST", "/test-sets", a_test_set())).body["test_set_id"]
        wrong = {
            "bot_id": "nobody",
            "test_set_id": key,
            "rubric_id": "none",
            "eval_model": "openai:gpt-9",
            "target": "nowhere",
            "simulator": "openai:gpt-9",
            "budget": "much",
            "gates": ["pass_rate is good"],
            "config_id": "none",
            "profile": "none",
            "item_ids": ["none"],
        }
        reply = await ask("POST", "/evaluations", wrong)
        assert reply.status == 422
        assert reply.body["detail"] == "10 problems: see `problems`; nothing was stored"
        assert {each["field"]: each["code"] for each in reply.body["problems"]} == {
            "bot_id": "unknown-bot",
            "rubric_id": "not-found",
            "eval_model": "refused",
            "target": "refused",
            "simulator": "refused",
            "budget": "refused",
            "gates": "refused",
            "config_id": "not-found",
            "profile": "unknown-name",
            "item_ids": "unknown-item",
        }
        said = {each["field"]: each["message"] for each in reply.body["problems"]}
        assert said["config_id"] == "there is no evaluator config none"
        only = await ask("POST", "/evaluations", {"bot_id": AGENT, "test_set_id": key, "rubric_id": "none"})
        assert only.status == 404


KEY = "<test set>"
GREETED: Json = {"messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        ("/runs", {"test_set_id": KEY, "repeat": "x", "rubric_id": "none"}, {"repeat", "rubric_id"}),
        ("/runs", {"test_set_id": "none", "rubric_id": "no", "budget": "much"}, {"test_set_id", "rubric_id", "budget"}),
        ("/runs", {"test_set_id": 7, "rubric_version": 2, "rubric_id": 3}, {"test_set_id", "rubric_id"}),
        ("/runs", {"dataset_id": "none", "rubic_id": "r", "target": "nowhere"}, {"dataset_id", "rubic_id", "target"}),
        ("/runs", {"test_set_version": 2, "gates": ["pass_rate"]}, {"test_set_version", "test_set_id", "gates"}),
        ("/runs", {"test_set_id": KEY, "item_ids": ["i9"], "limit": 0, "agent_id": "x"},
         {"item_ids", "limit", "agent_id"}),
        ("/evaluations", {"test_set_id": KEY, "keep": "maybe", "bot_id": "nobody"}, {"keep", "bot_id"}),
        ("/evaluations", {"test_set_id": "none", "profile": "none"}, {"test_set_id", "profile", "bot_id"}),
        ("/evaluations", {"bot_id": AGENT, "test_set_id": KEY, "mode": "transcript", "conversation_ids": ["no"],
                          "eval_model": "openai:gpt-9"}, {"conversation_ids", "eval_model"}),
        ("/evaluate-transcript", {**GREETED, "rubric_id": "none", "state": 3}, {"rubric_id", "state"}),
        ("/evaluate-transcript", {**GREETED, "success_criteria": "greets", "bot_id": "x"},
         {"success_criteria", "bot_id"}),
        ("/datasets", {"name": "x.jsonl", "note": 3, "dialect": "legal", "content": '{"id": 3}'},
         {"note", "schema_version", "id"}),
        ("/webhooks", {"url": "ftp://x", "events": ["run.ended"]}, {"url", "events[0]"}),
    ],
)  # fmt: skip
async def test_what_is_wrong_in_shape_and_in_meaning_is_told_together(
    tmp_path: Path, path: str, body: Json, fields: set[str]
) -> None:
    async with serving(tmp_path, unknown_bots=False) as ask:
        key = (await ask("POST", "/test-sets", a_test_set(agent_id=AGENT))).body["test_set_id"]
        reply = await ask("POST", path, {name: key if value == KEY else value for name, value in body.items()})
        assert reply.status == 422, reply.body
        named = [each["field"] for each in reply.body["problems"]]
        assert fields <= set(named), reply.body
        assert len(named) == len(set(named)), reply.body
        assert path == "/datasets" or set(named) == fields
        for listed in ("/runs", "/datasets", "/webhooks"):
            assert (await ask("GET", listed)).body == []


async def test_all_that_is_not_there_is_named_at_once(tmp_path: Path) -> None:
    async with serving(tmp_path) as ask:
        reply = await ask("POST", "/runs", {"test_set_id": "none", "rubric_id": "neither"})
        assert (reply.status, reply.body["detail"]) == (404, "there is no test set none; there is no rubric neither")


async def test_a_label_and_a_regrade_tell_both_kinds_of_problems(tmp_path: Path) -> None:
    async with serving(tmp_path) as ask:
        key = (await ask("POST", "/test-sets", a_test_set())).body["test_set_id"]
        run_id = (await ask("POST", "/runs", {"test_set_id": key})).body["run_id"]
        await ask.finished(run_id)
        for path, body, fields in (
            ("labels", {"result_id": "i1", "grader": "nobody", "opinion": "good"}, ["opinion", "grader"]),
            ("labels", {"result_id": "i9", "grader": "criteria", "opinion": "good"}, ["opinion", "result_id"]),
            ("regrade", {"name": 3, "rubric_id": "none", "profile": "none"}, ["name", "profile", "rubric_id"]),
        ):
            reply = await ask("POST", f"/runs/{run_id}/{path}", body)
            found = [each["field"] for each in reply.body["problems"]]
            assert (reply.status, found) == (422, fields), reply.body


async def test_cases_that_there_are_not_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as ask:
        key = (await ask("POST", "/test-sets", a_test_set(entry(1), entry(2), entry(3)))).body["test_set_id"]
        reply = await ask("POST", "/runs", {"test_set_id": key, "item_ids": ["i2", "i9", "i8"]})
        assert reply.status == 422
        assert [(each["code"], each["found"]) for each in reply.body["problems"]] == [
            ("unknown-item", "i9"),
            ("unknown-item", "i8"),
        ]
        limited = await ask("POST", "/runs", {"test_set_id": key, "item_ids": ["i3", "i1"], "limit": 1})
        assert (limited.status, limited.body["total"]) == (202, 1)
        nothing = await ask("POST", "/runs", {"test_set_id": key, "item_ids": ["i9"]})
        assert (nothing.status, nothing.body["problems"][0]["code"]) == (422, "unknown-item")
        table = await ask("POST", "/runs", {"test_set_id": key, "match": "exact"})
        assert (table.status, table.body["problems"][0]["field"]) == (422, "match")
        assert table.body["detail"].startswith("`match` is for plain tables")
        talk = {"bot_id": AGENT, "test_set_id": key, "mode": "transcript", "conversation_ids": ["x"], "target": "bot"}
        refused = await ask("POST", "/evaluations", talk)
        assert (refused.status, refused.body["detail"]) == (400, "`mode: transcript` calls no agent: leave out target")


async def test_a_finished_conversation_is_not_sent_to_the_default_target(tmp_path: Path) -> None:
    async with serving(tmp_path, bots={AGENT: "bot"}) as ask:
        upload = await ask("POST", "/datasets/upload?name=talks.csv", SIMULATION, Content_Type="text/csv")
        for whose in ({}, {"agent_id": AGENT}):
            asked = await ask("POST", "/runs", {"dataset_id": upload.body["dataset_id"], **whose})
            assert asked.status == 202, asked.body
            assert asked.body["target"] == "recorded"
            run = await ask.finished(asked.body["run_id"])
            said = (await ask("GET", f"/runs/{run['run_id']}/results")).body[0]["output"]["answer"]
            assert "You said" not in said
        # Whoever names a target means it, and questions without answers still go to the default one.
        named = await ask("POST", "/runs", {"dataset_id": upload.body["dataset_id"], "target": "bot"})
        assert named.body["target"] == "bot"
        asked = await ask(
            "POST", "/runs", {"dataset_id": (await ask("POST", "/datasets", a_dataset())).body["dataset_id"]}
        )
        assert asked.body["target"] == "bot"


OPTION = re.compile(r"(?<![\w-])--[a-z]")


async def test_messages_speak_of_fields(tmp_path: Path) -> None:
    """Whatever a request is refused for, no option of the command line is named."""
    async with serving(tmp_path, target="") as ask:
        test_set = (await ask("POST", "/test-sets", a_test_set())).body["test_set_id"]
        rubric = (await ask("POST", "/rubrics", a_rubric())).body["rubric_id"]
        config = (await ask("POST", "/evaluator-configs", {"name": "c", "evaluators": [{"type": "+x"}]})).body
        table = await ask("POST", "/datasets/upload?name=t.csv", b"question,note\nHi?,x\n", Content_Type="text/csv")
        asked: list[dict[str, Any]] = [
            {"test_set_id": test_set},
            {"test_set_id": test_set, "target": "replay:bot"},
            {"test_set_id": test_set, "target": "nobody"},
            {"test_set_id": test_set, "profile": "none"},
            {"test_set_id": test_set, "config_id": config.get("config_id", "none")},
            {"test_set_id": test_set, "rubric_id": rubric, "until_sure": "often"},
            {"test_set_id": test_set, "target": "bot", "gates": ["pass_rate > lots"]},
            {"test_set_id": test_set, "target": "bot", "map": {"input": "question"}},
            {"test_set_id": test_set, "target": "bot", "match": "exact"},
            {"dataset_id": (table.body or {}).get("dataset_id", "none")},
        ]
        refused = [await ask("POST", "/runs", each) for each in asked]
        assert [each.body for each in refused if each.status == 202] == []
        uploads = [b"", b"{", b"a;b\n1;2\n", b"question,question\n1,2\n", b'{"golden_questions": 3}']
        refused += [await ask("POST", "/datasets/upload?name=x", each, Content_Type="text/csv") for each in uploads]
        named = [each.body for each in refused if OPTION.search(each.raw.decode())]
        assert named == []
        missing = refused[0].body["detail"]
        assert missing == "2 answers are missing: i1, i2. Name who answers them in `target`."


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ("--repeat must be 1 or more, not 0", "`repeat` must be 1 or more, not 0"),
        (
            "style needs a model; use --judge MODEL or --graders -style",
            "style needs a model; name a model in `eval_model`",
        ),
        ("--engine ray needs Ray", "`engine` ray needs Ray"),
        ("nothing to do -- really", "nothing to do -- really"),
        ("`howsure db check --all` names them", "`howsure db check --all` names them"),
    ],
)
def test_an_option_is_called_by_its_field(told: str, read: str) -> None:
    assert field_words(told) == read


def test_a_body_and_a_file_have_one_vocabulary() -> None:
    assert problem_code("missing") == "missing-field"
    assert problem_code("extra_forbidden") == "unknown-field"
    assert problem_code("string_type") == problem_code("int_parsing") == "wrong-type"
    assert problem_code("less_than_equal") == "out-of-range"
    assert problem_code("value_error") == "invalid"
    assert set(CODES.values()) <= {
        *("missing-field", "unknown-field", "unknown-value", "bad-pattern", "too-short", "too-many", "too-few"),
        *("json-syntax", "wrong-type"),
    }


@pytest.mark.thorough
async def test_a_database_that_hangs_does_not_hold_up_ready(tmp_path: Path) -> None:
    async with serving(tmp_path) as ask:
        assert (await ask("GET", "/ready")).status == 200
        with sqlite3.connect(tmp_path / "howsure.db") as other:
            other.execute("BEGIN EXCLUSIVE")
            await asyncio.sleep(2.1)
            begun = monotonic()
            replies = await asyncio.gather(*(ask("GET", "/ready") for _ in range(3)))
            assert [each.status for each in replies] == [503, 503, 503]
            assert monotonic() - begun < 2.0


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"name": "x",\n "rules": tru}', ("json-syntax", "", 2, 11)),
        (b'{"name": "x",\n "name": "y"}', ("json-duplicate-key", "name", 2, 2)),
        (b'{"name": "\\ud800"}', ("json-surrogate", "name", 1, 10)),
        (b'{"name": NaN}', ("json-not-finite", "name", 1, 10)),
        ('{"name": "x"}'.encode("utf-16"), ("encoding", "", 1, 1)),
    ],
    ids=["not JSON", "a key twice", "half a character", "no number", "another encoding"],
)
def test_broken_json_is_told_as_in_a_file(ask: Asker, body: bytes, expected: tuple[Any, ...]) -> None:
    reply = ask("POST", "/rubrics", body, Content_Type="application/json")
    assert reply.status == 422
    (problem,) = reply.body["problems"]
    assert tuple(problem[name] for name in ("code", "field", "line", "column")) == expected


def test_every_refusal_lists_its_problems(ask: Asker) -> None:
    key = ask.made("/test-sets", a_test_set())["test_set_id"]
    talk = {"messages": [{"role": "user", "content": "hi"}]}
    questions = [{"question": "a?", "expected_answer": "b", "question_id": "1"}] * 2
    for method, path, body, expected in (
        ("GET", "/runs?since=yesterday", None, [("since", "refused")]),
        ("GET", "/runs?limit=5&limit=6", None, [("limit", "too-many")]),
        ("GET", "/results?cursor=zzz", None, [("cursor", "refused")]),
        ("POST", "/runs", {"test_set_id": key, "match": "exact"}, [("match", "refused")]),
        ("POST", "/runs", {"test_set_id": key, "rubric_version": 2}, [("rubric_version", "refused")]),
        ("POST", "/webhooks", {"url": "http://example.com", "events": ["run.failed"]}, [("url", "refused")]),
        (
            "POST",
            "/question-sets",
            {"name": "q", "questions": questions},
            [("questions[1].question_id", "duplicate-id")],
        ),
        (
            "POST",
            "/evaluate-transcript",
            {**talk, "test_set_id": "none", "rubric_id": "none", "eval_model": "none", "tool_calls": [{}]},
            [
                ("test_set_id", "not-found"),
                ("tool_calls", "refused"),
                ("rubric_id", "not-found"),
                ("eval_model", "refused"),
            ],
        ),
    ):
        reply = ask(method, path, body)
        assert (reply.status, [(each["field"], each["code"]) for each in reply.body["problems"]]) == (422, expected)
        assert not any("line" in each for each in reply.body["problems"])


async def test_an_agent_is_called_as_in_the_body_and_a_missing_key_is_of_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with serving_workspace(a_workspace(tmp_path)) as ask:
        key = (await ask("POST", "/test-sets", a_test_set())).body["test_set_id"]
        wrong = {"test_set_id": key, "agent_id": "nobody", "eval_model": "openai:gpt-5", "item_ids": ["i1", "none"]}
        reply = await ask("POST", "/runs", wrong)
        assert [(each["field"], each["code"]) for each in reply.body["problems"]] == [
            ("agent_id", "unknown-bot"),
            ("eval_model", "not-configured"),
            ("item_ids", "unknown-item"),
        ]
        run = (await ask("POST", "/runs", {"test_set_id": key})).body["run_id"]
        await ask.finished(run)
        again = {"eval_model": "openai:gpt-5", "rubric_id": "none", "profile": "none", "test_set_version": 9}
        reply = await ask("POST", f"/runs/{run}/regrade", again)
        assert [each["field"] for each in reply.body["problems"]] == [
            *("eval_model", "profile", "rubric_id", "test_set_version")
        ]


async def test_a_bot_service_that_is_away_may_be_asked_later(tmp_path: Path) -> None:
    async with serving(tmp_path, bot_service="http://127.0.0.1:9/bots/{id}") as ask:
        reply = await ask("GET", "/bots/somebody/context")
        assert (reply.status, reply.headers["retry-after"]) == (503, "5")


def test_what_is_wrong_with_shape_and_meaning_is_told_together(ask: Asker) -> None:
    items = [
        {"type": "scenario", "name": "x", "inputs": {"message": "m"}, "expected": {}},
        {"type": "song", "name": "y", "inputs": {}, "expected": {}},
    ]
    told = ask("POST", "/test-sets", {"name": "", "items": items}).body["problems"]
    assert [(each["field"], each["code"]) for each in told] == [
        ("name", "too-short"),
        ("items[1].type", "unknown-value"),
        ("items[0].inputs.persona", "missing-field"),
        ("items[0].inputs.initial_message", "missing-field"),
    ]
    path = f"/rubrics/{ask.made('/rubrics', a_rubric())['rubric_id']}"
    rules = [{"id": "A", "name": "a", "severity": "low"}, {"id": "A", "severity": "huge"}]
    for method in ("PUT", "PATCH"):
        told = ask(method, path, {"name": "x", "rules": rules}).body["problems"]
        assert {(each["field"], each["code"]) for each in told} == {
            ("rules[1].name", "missing-field"),
            ("rules[1].severity", "unknown-value"),
            ("rules[1].id", "duplicate-id"),
        }
