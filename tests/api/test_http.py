"""What programs expect of any HTTP API: whole lists, pages with their account, conditional reads, compression, HEAD,
slashes, addresses of what was made, filters, changes of single fields, and no parameter that does nothing."""

from __future__ import annotations

import gzip
import json

import pytest
from aiohttp import ClientSession

from api.operations import a_rubric, a_test_set, entry, rule
from api.served import Caller
from api.shared import AGENT, Asker
from howsure.api.http_answers import LARGEST_HELD
from howsure.api.routes import runs as run_routes


def finished_run(ask: Asker, cases: int, **more: str) -> tuple[str, str]:
    """The ids of a test set and of a run of it."""
    key = ask.made("/test-sets", a_test_set(*(entry(number) for number in range(1, cases + 1))))["test_set_id"]
    run_id = ask.made("/runs", {"test_set_id": key, **more}, 202)["run_id"]
    ask.finished(run_id)
    return key, run_id


def test_results_come_whole_unless_a_page_is_asked_for(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    _, run_id = finished_run(ask, 130)
    whole = ask("GET", f"/runs/{run_id}/results")
    assert [each["test_case_id"] for each in whole.body] == [f"i{number}" for number in range(1, 131)]
    assert "x-next-cursor" not in whole.headers
    paged = ask("GET", f"/runs/{run_id}/results?envelope=true&limit=50").body
    assert (len(paged["items"]), paged["total"]) == (50, 130)
    last = ask("GET", f"/runs/{run_id}/results?envelope=true&limit=100&cursor={paged['next_cursor']}").body
    assert (len(last["items"]), last["total"], last["next_cursor"]) == (80, 130, None)
    assert len(ask("GET", f"/runs/{run_id}/results?envelope=true").body["items"]) == 100
    assert whole.body[:50] == paged["items"]
    assert ask("GET", f"/runs/{run_id}/results?verdict=errored").body == []
    monkeypatch.setattr(run_routes, "MOST_AT_ONCE", 129)
    refused = ask("GET", f"/runs/{run_id}/results")
    assert (refused.status, "130 results are more than the 129" in refused.body["detail"]) == (422, True)
    assert "`limit`" in refused.body["detail"]


def test_what_is_known_is_not_sent_again(ask: Asker) -> None:
    made = ask.made("/rubrics", a_rubric())
    path = f"/rubrics/{made['rubric_id']}"
    for address, etag in ((path, '"1"'), ("/rubrics", ""), ("/graders", "")):
        first = ask("GET", address)
        assert first.headers["etag"] == etag if etag else first.headers["etag"].startswith('W/"')
        again = ask("GET", address, If_None_Match=first.headers["etag"])
        assert (again.status, again.raw, again.headers["etag"]) == (304, b"", first.headers["etag"])
        assert ask("GET", address, If_None_Match=f'"other", {first.headers["etag"]}').status == 304
        assert ask("GET", address, If_None_Match='"other"').status == 200
    listed = ask("GET", "/rubrics").headers["etag"]
    ask("PUT", path, a_rubric(description="changed"))
    assert ask("GET", path, If_None_Match='"1"').body["version"] == 2
    assert ask("GET", "/rubrics", If_None_Match=listed).status == 200
    # Which version is the newest stands in every version.
    assert ask("GET", f"{path}/versions/1", If_None_Match='"1"').body["latest_version"] == 2


def test_an_answer_that_is_streamed_is_not_sent_again_until_something_in_it_changes(ask: Asker) -> None:
    """Each reading with the ETag of the one before is a 304 where the answer would be the same, and never otherwise."""
    items = [entry(number, f"{number} " + "long " * 4_000) for number in range(1, 26)]
    for each in items[:2]:
        each["inputs"]["user_id"] = "ana"
    key = ask.made("/test-sets", a_test_set(*items, entry(26, "break it")))["test_set_id"]
    run_id = ask.made("/runs", {"test_set_id": key, "initial_payload": {"user_id": "ana"}}, 202)["run_id"]
    ask.finished(run_id)
    base = f"/runs/{run_id}"
    addresses = [f"{base}/{end}" for end in ("results", "results?verdict=failed", "results.ndjson", "report")]
    known = {address: ask("GET", address) for address in addresses}
    assert min(len(known[each].raw) for each in (addresses[0], *addresses[2:])) > LARGEST_HELD
    assert len({reply.headers["etag"] for reply in known.values()}) == len(addresses), "each answer has its own"

    def read_again() -> set[str]:
        """The addresses whose answer changed; each is read with the ETag of the reading before."""
        changed = set()
        for address, before in known.items():
            now, asked = ask("GET", address), ask("GET", address, If_None_Match=before.headers["etag"])
            assert asked.status == (304 if now.headers["etag"] == before.headers["etag"] else 200)
            if asked.status == 304:
                assert (asked.raw, now.raw) == (b"", before.raw), "never where something changed"
                assert ask("HEAD", address, If_None_Match=before.headers["etag"]).status == 304
            else:
                changed.add(address.removeprefix(f"{base}/"))
            known[address] = now
        return changed

    assert read_again() == set()
    assert ask("PATCH", base, {"name": "another name"}).status == 200
    assert "report" in read_again()
    assert ask("PATCH", base, {"tags": ["nightly"]}).status == 200
    assert "report" in read_again()
    assert ask("DELETE", f"/test-sets/{key}").status == 204
    assert "report" in read_again(), "its name says that it is deleted"
    assert read_again() == set()
    assert ask("POST", f"{base}/retry").status == 202
    ask.finished(run_id)
    assert read_again() >= {"results", "results.ndjson", "report"}
    assert ask("POST", "/erasures", {"user_id": "ana"}).body["results"] > 0
    assert read_again() >= {"results", "results.ndjson", "report"}
    assert read_again() == set()


def test_a_client_that_polls_reads_less_than_half(ask: Asker) -> None:
    _, run_id = finished_run(ask, 40)

    def bytes_read(path: str, encoding: str) -> int:
        """What five readings of a path bring altogether."""
        sent = {"Authorization": f"Bearer {ask.key}", "Accept-Encoding": encoding}

        async def read(caller: Caller) -> int:
            number = 0
            async with ClientSession(auto_decompress=False) as session:
                for _ in range(5):
                    async with session.get(caller.base + path, headers=sent) as response:
                        body = await response.read()
                    number += len(body)
                    if encoding == "gzip":
                        assert not body or json.loads(gzip.decompress(body))
                        sent["If-None-Match"] = response.headers["ETag"]
            return number

        return ask.service.within(read)

    for path in (f"/runs/{run_id}", f"/runs/{run_id}/results", f"/runs/{run_id}/report"):
        plain, wise = bytes_read(path, "identity"), bytes_read(path, "gzip")
        assert wise < plain / 10, (path, plain, wise)


def test_head_and_slashes(ask: Asker) -> None:
    made = ask.made("/rubrics", a_rubric())
    path = f"/rubrics/{made['rubric_id']}"
    head = ask("HEAD", path)
    assert (head.status, head.raw, head.headers["etag"]) == (200, b"", '"1"')
    assert int(head.headers["content-length"]) == len(ask("GET", path, Accept_Encoding="identity").raw)
    assert ask("HEAD", "/rubrics/none").status == 404
    assert ask("HEAD", path, If_None_Match='"1"').status == 304
    assert ask("GET", f"{path}/").body == ask("GET", path).body
    assert ask("POST", "/rubrics/", a_rubric()).status == 201
    _, run_id = finished_run(ask, 1)
    assert ask("HEAD", f"/runs/{run_id}/results").raw == b""
    assert ask("HEAD", f"/runs/{run_id}/events").status == 200


def test_what_was_made_has_an_address(ask: Asker) -> None:
    rubric = ask("POST", "/rubrics", a_rubric())
    assert rubric.headers["location"] == f"/api/v1/rubrics/{rubric.body['rubric_id']}"
    key = ask.made("/test-sets", a_test_set())["test_set_id"]
    run = ask("POST", "/runs", {"test_set_id": key})
    assert run.headers["location"] == f"/api/v1/runs/{run.body['run_id']}"
    evaluation = ask("POST", "/evaluations", {"test_set_id": key, "bot_id": AGENT})
    assert evaluation.headers["location"] == f"/api/v1/runs/{evaluation.body['run_id']}"
    ask.finished(run.body["run_id"])
    again = ask("POST", f"/runs/{run.body['run_id']}/regrade", {})
    assert again.headers["location"] == f"/api/v1/runs/{again.body['run_id']}"


@pytest.mark.parametrize("path", ["/runs", "/rubrics", "/results", "/whoami"])
def test_a_parameter_that_nothing_reads_is_refused(ask: Asker, path: str) -> None:
    reply = ask("GET", f"{path}?limti=5&page=2")
    assert reply.status == 422
    assert [(each["code"], each["field"]) for each in reply.body["problems"]] == [
        ("unknown-parameter", "limti"),
        ("unknown-parameter", "page"),
    ]
    if path == "/runs":
        assert "limit" in reply.body["problems"][0]["message"]


def test_runs_are_found_by_what_they_are(ask: Asker) -> None:
    rubric = ask.made("/rubrics", a_rubric())["rubric_id"]
    one, first = finished_run(ask, 1, name="Nightly Refunds")
    two, second = finished_run(ask, 1, rubric_id=rubric)
    middle = ask("GET", f"/runs/{second}").body["created_at"]

    def found(query: str) -> list[str]:
        reply = ask("GET", f"/runs?{query}")
        assert reply.status == 200, reply.body
        return [each["run_id"] for each in reply.body]

    assert found("") == [second, first]
    assert (found(f"test_set_id={one}"), found(f"test_set_id={two}")) == ([first], [second])
    assert (found(f"rubric_id={rubric}"), found("rubric_id=none")) == ([second], [])
    assert (found("name=refund"), found("name=nothing")) == ([first], [])
    assert (found("state=completed"), found("state=cancelled")) == ([second, first], [])
    assert (found(f"since={middle}"), found(f"until={middle}")) == ([second], [first])
    assert ask("GET", "/runs?since=yesterday").status == 422
    assert len(ask.pages("/runs?name=e", 1)) >= 1


def test_single_fields_are_changed(ask: Asker) -> None:
    path = f"/rubrics/{ask.made('/rubrics', a_rubric(description='old'))['rubric_id']}"
    changed = ask("PATCH", path, {"description": "new"}, If_Match='"1"')
    assert (changed.status, changed.body["version"], changed.body["description"]) == (200, 2, "new")
    assert (changed.body["name"], changed.body["rules"][0]["id"]) == ("Kindness", "KIND")
    assert ask("PATCH", path, {"description": None}).body["description"] is None
    assert ask("PATCH", path, {"rules": [rule("CALM")]}).body["rules"][0]["id"] == "CALM"
    assert ask("PATCH", path, {"name": "later"}, If_Match='"1"').status == 412
    wrong = ask("PATCH", path, {"rules": [{"name": 7}]})
    assert wrong.status == 422
    assert {each["field"] for each in wrong.body["problems"]} >= {"rules[0].id"}
    assert ask("GET", path).body["version"] == 4


def test_fields_of_ones_own_are_kept_however_they_are_sent(ask: Asker) -> None:
    path = f"/rubrics/{ask.made('/rubrics', a_rubric(team='red'))['rubric_id']}"
    assert ask("GET", path).body["team"] == "red"
    assert ask("PUT", path, a_rubric(team="blue")).body["team"] == "blue"
    patched = ask("PATCH", path, {"colour": "green"}).body
    assert (patched["team"], patched["colour"], patched["version"]) == ("blue", "green", 3)
    assert [each["path"] for each in ask("GET", f"{path}/versions/2/diff/3").body] == ["colour"]
    assert "team" not in ask("PATCH", path, {"team": None}).body


def test_events_go_on_after_the_last_that_was_heard(ask: Asker) -> None:
    _, run_id = finished_run(ask, 2)
    told = ask("GET", f"/runs/{run_id}/events").raw.decode().split("\n\n")
    ids = [event.split("\n")[1].removeprefix("id: ") for event in told if event]
    assert [each.split("-")[0] for each in ids] == ["progress", "end"]
    later = ask("GET", f"/runs/{run_id}/events", Last_Event_ID=ids[0]).raw.decode()
    assert "event: progress" not in later
    assert "event: end" in later
    # 204 tells a browser not to ask again.
    assert ask("GET", f"/runs/{run_id}/events", Last_Event_ID=ids[1]).status == 204


def test_a_caller_is_told_what_there_is(ask: Asker) -> None:
    me = ask("GET", "/whoami").body
    assert (me["key_id"], me["organization_id"]) == (ask.key_id, ask.organization_id)
    assert {"read", "edit", "run"} <= set(me["permissions"])
    finished_run(ask, 1)
    ask("PUT", "/bots/other-bot/context", {"bot_name": "Other"})
    agents = {
        each["agent_id"]: (each["agent_name"], each["described"], each["runs"]) for each in ask("GET", "/agents").body
    }
    assert agents == {AGENT: (None, False, 1), "other-bot": ("Other", True, 0)}
    assert [len(page) for page in ask.pages("/agents", 1)][:2] == [1, 1]
    judges = ask("GET", "/judges").body
    assert [each["default"] for each in judges].count(True) == 1
    assert "offline" in [each["name"] for each in judges]
    assert all(set(each) == {"name", "default"} for each in ask("GET", "/targets").body)
    assert {"criteria", "rubric"} <= {each["name"] for each in ask("GET", "/graders").body}
    assert all(each["marks"] or each["weights"] for each in ask("GET", "/profiles").body)
