"""Files of every dialect, uploaded, read back and run; their cases; question sets; lists of graders; descriptions of
bots, written here or fetched from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from api.operations import DEMO, a_bot, a_case, a_config, a_dataset, a_question_set, a_test_set, entry
from api.shared import AGENT, Asker, Service, in_a_thread
from howsure.api.app import ServiceAccess

Json = dict[str, Any]
FILES = [
    ("explain", "explain/support-onboarding.explain.jsonl"),
    ("golden", "golden/moss_support_golden.json"),
    ("simulation", "simulation/support-simulation.csv"),
    ("test-set", "test-set/test-set.json"),
    ("legal", "legal/compliance.jsonl"),
]


@pytest.mark.parametrize(("dialect", "name"), FILES, ids=[each[0] for each in FILES])
def test_a_file_of_any_dialect_is_kept_byte_for_byte_and_run(ask: Asker, dialect: str, name: str) -> None:
    content = (DEMO / name).read_bytes()
    path = f"/datasets/upload?name={Path(name).name}&agent_id={AGENT}"
    made = ask("POST", path, content, Content_Type="application/octet-stream")
    assert made.status == 201, made.body
    assert (made.body["dialect"], made.body["bytes"], made.body["version"]) == (dialect, len(content), 1)
    key = made.body["dataset_id"]
    assert ask("GET", f"/datasets/{key}/versions/1/content").raw == content
    cases = [case for page in ask.pages(f"/datasets/{key}/test-cases", 3) for case in page]
    assert len(cases) == made.body["cases"] > 0
    assert len({case["id"] for case in cases}) == len(cases)
    assert ask("GET", f"/test-cases/{cases[-1]['id']}").body == cases[-1]
    run = ask.finished(ask.made("/runs", {"dataset_id": key, "agent_id": AGENT, "limit": 2}, 202)["run_id"])
    assert (run["status"], run["total"], run["dataset_id"]) == ("completed", 2, key), run["error"]
    results = ask("GET", f"/runs/{run['run_id']}/results").body
    assert [each["test_case_id"] for each in results] == [each["test_case_id"] for each in cases[:2]]


TEMPLATE = "contains:{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}"
PLAIN = {
    "a.csv": f'question,response,__expected\nWhy?,So,"{TEMPLATE}"\n',
    "a.jsonl": json.dumps({"vars": {"v": TEMPLATE}, "question": "Why?", "answer": "So", "response": "So"}),
    "a.json": json.dumps([{"question": "Why?", "answer": "So", "response": "So"}]),
    "a": json.dumps([{"question": "Why?", "answer": "So", "response": "So"}]),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_dataset_is_run_in_the_dialect_in_which_it_was_checked(ask: Asker, name: str) -> None:
    """Files of other tools are not taken here: a stored file that looks like one does not become one when it is run."""
    made = ask("POST", "/datasets", a_dataset(name=name, content=PLAIN[name]))
    assert (made.status, made.body.get("dialect")) == (201, "plain"), made.body
    queued = ask.made("/runs", {"dataset_id": made.body["dataset_id"], "agent_id": AGENT}, 202)
    run = ask.finished(queued["run_id"])
    assert (run["status"], run["total"], run["passed"] + run["failed"]) == ("completed", 1, 1), run["error"]


def test_a_file_with_problems_is_refused_with_all_of_them(ask: Asker) -> None:
    lines = [json.dumps({**a_case(), "task_type": "nonsense"}), json.dumps(a_case()), "{"]
    reply = ask("POST", "/datasets", a_dataset(content="\n".join(lines)))
    assert (reply.status, reply.body["error"]) == (422, "invalid")
    assert {problem["line"] for problem in reply.body["problems"]} == {1, 3}
    assert all(problem["code"] and problem["message"] for problem in reply.body["problems"])
    assert ask("GET", "/datasets").body == []


def test_cases_are_added_and_taken_out_by_new_versions(ask: Asker) -> None:
    made = ask.made("/datasets", a_dataset())
    path, number = f"/datasets/{made['dataset_id']}", made["cases"]
    more = a_case()
    added = ask("POST", f"{path}/test-cases", {"case": more})
    assert (added.status, added.body["version"], added.body["cases"]) == (201, 2, number + 1)
    assert added.headers["etag"] == '"2"'
    found = next(each for each in ask("GET", f"{path}/test-cases").body if each["test_case_id"] == more["id"])
    assert ask("POST", f"{path}/test-cases", {"case": more}).status == 422, "its id is taken"
    assert ask("DELETE", f"/test-cases/{found['id']}").status == 204
    assert ask("GET", f"/test-cases/{found['id']}").status == 404
    assert ask("GET", path).body["version"] == 3
    before, after = (ask("GET", f"{path}/versions/{each}/content").raw for each in (1, 3))
    assert before.splitlines() == after.splitlines(), "no other byte is touched"


def test_the_last_case_cannot_be_taken_out(ask: Asker) -> None:
    content = json.dumps({"test_set_id": "x", **a_test_set(entry(1))})
    made = ask.made("/datasets", {"name": "one.json", "content": content})
    (only,) = ask("GET", f"/datasets/{made['dataset_id']}/test-cases").body
    assert ask("DELETE", f"/test-cases/{only['id']}").status in (409, 422)
    assert ask("GET", f"/datasets/{made['dataset_id']}").body["cases"] == 1


def test_a_dataset_has_versions_too(ask: Asker) -> None:
    made = ask.made("/datasets", a_dataset(note="first"))
    path = f"/datasets/{made['dataset_id']}"
    changed = ask("PUT", path, a_dataset(name="renamed.jsonl"), If_Match='"1"')
    assert (changed.status, changed.body["version"], changed.body["name"]) == (200, 2, "renamed.jsonl")
    assert ask("PUT", path, a_dataset(), If_Match='"1"').status == 412
    run = ask.finished(ask.made("/runs", {"dataset_id": made["dataset_id"]}, 202)["run_id"])
    assert ask("DELETE", path).status == 204
    assert ask("GET", path).status == 404
    shown = ask("GET", f"/runs/{run['run_id']}").body
    assert shown["test_set_name"] == "renamed.jsonl (deleted)"
    assert ask("GET", f"{path}/versions/2/content").status == 404


def test_a_question_set_is_run_with_the_older_scores(ask: Asker) -> None:
    questions = [
        {"question": "What is said?", "expected_answer": "You said What is said?"},
        {"question": "Is it kind?", "criteria": ["The answer is kind", "The answer is short"]},
    ]
    made = ask.made("/question-sets", a_question_set(questions=questions))
    assert all(each["question_id"] for each in made["questions"])
    asked = ask.made("/runs", {"question_set_id": made["question_set_id"], "agent_id": AGENT}, 202)
    run = ask.finished(asked["run_id"])
    assert (run["status"], run["total"], run["test_set_id"]) == ("completed", 2, None), run["error"]
    results = ask("GET", f"/runs/{run['run_id']}/results").body
    assert [each["test_case_id"] for each in results] == [each["question_id"] for each in made["questions"]]
    assert all(each["scores"] and each["criteria_scores"] is None for each in results)
    nothing = ask("POST", "/question-sets", a_question_set(questions=[{"question": "Why?"}]))
    assert (nothing.status, nothing.body["problems"][0]["field"]) == (422, "questions[0]")


def test_a_list_of_graders_decides_what_is_graded(ask: Asker) -> None:
    types = ask("GET", "/evaluators/types").body
    assert {"criteria", "rubric", "tools_used"} <= {each["type"] for each in types}
    assert all(each["description"] for each in types)
    graders = [{"type": "criteria"}, {"type": "tools_used", "enabled": False}]
    config = ask.made("/evaluator-configs", a_config(evaluators=graders))
    key = ask.made("/test-sets", a_test_set(entry(1)))["test_set_id"]
    asked = ask.made("/evaluations", {"bot_id": AGENT, "test_set_id": key, "config_id": config["config_id"]}, 202)
    assert asked["config_id"] == config["config_id"]
    run = ask.finished(asked["run_id"])
    assert set(ask("GET", f"/runs/{run['run_id']}/results").body[0]["scores"]) == {"criteria"}
    unknown = ask("POST", "/evaluator-configs", a_config(evaluators=[{"type": "nope"}]))
    assert (unknown.status, unknown.body["problems"][0]["field"]) == (422, "evaluators[0].type")


def test_a_run_keeps_the_bot_it_started_with(ask: Asker) -> None:
    key = ask.made("/test-sets", a_test_set(entry(1)))["test_set_id"]
    path = f"/bots/{AGENT}/context"
    ask("PUT", path, a_bot())
    run = ask.finished(ask.made("/evaluations", {"bot_id": AGENT, "test_set_id": key}, 202)["run_id"])
    ask("PUT", path, a_bot(llm_config={"provider": "anthropic", "model": "newer"}))
    assert ask("GET", f"/runs/{run['run_id']}").body["bot_llm_model"] == "gpt-4.1"
    assert ask("PUT", path, a_bot(), If_Match='"1"').status == 412
    assert ask("GET", "/bots/nobody/context").status == 404


class BotService(BaseHTTPRequestHandler):
    """Somebody else's description of agents."""

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        self.server.asked.append((self.path, self.headers.get("Authorization")))  # type: ignore[attr-defined]
        tools = [
            {"id": f"t{number}", "tool_name": f"tool {number % 3}", "description": "x" * 2000} for number in range(300)
        ]
        known = {
            "good": (200, json.dumps({"bot_id": "good", "bot_name": "Good", "organization_id": "org", "tools": tools})),
            "text": (200, "hello"),
            "odd": (200, json.dumps({"bot_name": "Odd", "tools": ["x"]})),
            "list": (200, "[]"),
            "broken": (500, "{}"),
            "moved": (302, "{}"),
        }
        status, body = known.get(name, (404, "{}"))
        self.send_response(status)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()
        for start in range(0, len(body), 10_000):
            self.wfile.write(body[start : start + 10_000].encode())
            self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BotService)
    server.asked = []  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def fetching(elsewhere: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("fetching")
    address = f"http://127.0.0.1:{elsewhere.server_port}/bots/{{id}}"
    with (
        pytest.MonkeyPatch.context() as patched,
        in_a_thread(folder, "", ServiceAccess(), bot_service=address, bot_service_key="BOT_KEY") as service,
    ):
        patched.setenv("BOT_KEY", "s3same")
        yield service


def test_a_bot_that_nobody_described_is_fetched(fetching: Service, elsewhere: Any) -> None:
    ask = fetching.nobody()
    found = ask("GET", "/bots/good/context")
    assert found.status == 200, found.body
    assert (found.body["bot_name"], len(found.body["tools"]), found.body["llm_config"]) == ("Good", 300, None)
    assert elsewhere.asked[-1] == ("/bots/good", "Bearer s3same")
    ask("PUT", "/bots/good/context", {"bot_name": "Ours"})
    assert ask("GET", "/bots/good/context").body["bot_name"] == "Ours"


@pytest.mark.parametrize(
    ("name", "status"), [("text", 422), ("odd", 422), ("list", 422), ("broken", 503), ("moved", 422), ("x", 404)]
)
def test_what_the_bot_service_gets_wrong_is_told(fetching: Service, name: str, status: int) -> None:
    reply = fetching.nobody()("GET", f"/bots/{name}/context")
    assert reply.status == status, reply.body
    assert "s3same" not in reply.raw.decode()
    assert "127.0.0.1" not in reply.raw.decode()


def test_a_bot_of_another_organisation_is_not_fetched(fetching: Service) -> None:
    assert fetching.asker(organization_id="org")("GET", "/bots/good/context").status == 200
    assert fetching.asker(organization_id="other")("GET", "/bots/good/context").status == 404
    limited = fetching.asker(organization_id="org", agent_ids=["else"])
    assert limited("GET", "/bots/good/context").status == 404


def test_a_plain_table_may_be_called_one_and_an_unknown_dialect_is_named(ask: Asker) -> None:
    table = "question,expected\nCapital of France?,Paris\n"
    made = ask.made("/datasets", {"name": "t.csv", "content": table, "dialect": "plain"})
    assert (made["dialect"], made["cases"]) == ("plain", 1)
    (problem,) = ask("POST", "/datasets", {"name": "t.csv", "content": table, "dialect": "plane"}).body["problems"]
    assert (problem["field"], problem["code"]) == ("dialect", "unknown-name")
    assert "plain" in problem["message"]
