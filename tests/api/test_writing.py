"""Writers at the same time: two versions or one refusal, never a lost update; versions are dense and never change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.operations import MADE, a_bot, a_rubric, a_test_set, entry, rule
from api.served import Reply
from api.shared import AGENT, Asker

Json = dict[str, Any]
Batch = list[tuple[str, int | None]]
"""What is sent at once: the writer of each PUT, and how many versions behind its If-Match is; None: it has none."""
WRITES = st.lists(
    st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from([None, 0, 0, 1])), min_size=2, max_size=4),
    min_size=1,
    max_size=4,
)


def versions(ask: Asker, path: str) -> dict[int, Json]:
    return {each["version"]: each for page in ask.pages(f"{path}/versions", 3) for each in page}


def sent(ask: Asker, path: str, batch: Batch, newest: int, number: int) -> list[tuple[str, int | None, Reply]]:
    """The batch's PUTs, all at once; each writes a text of its own."""
    texts = [f"{writer}-{number}-{place}" for place, (writer, _) in enumerate(batch)]
    expected = [None if behind is None else max(1, newest - behind) for _, behind in batch]
    wanted = [("PUT", path, a_rubric(description=text)) for text in texts]
    heads = [{} if each is None else {"If_Match": f'"{each}"'} for each in expected]
    return list(zip(texts, expected, ask.at_once(*wanted, heads=heads), strict=True))


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(batches=WRITES)
def test_no_update_is_lost(ask: Asker, batches: list[Batch]) -> None:
    path = f"/rubrics/{ask.made('/rubrics', a_rubric(description='first'))['rubric_id']}"
    said = {1: "first"}
    for number, batch in enumerate(batches):
        newest = len(said)
        for text, expected, reply in sent(ask, path, batch, newest, number):
            assert reply.status in (200, 409, 412), reply.body
            if reply.status != 200:
                continue
            version = reply.body["version"]
            assert version not in said, "a version is written once"
            assert expected is None or version == expected + 1, "only what was made of the newest is taken"
            assert reply.body["description"] == text
            said[version] = text
        if any(behind is None for _, behind in batch):
            assert len(said) > newest, "whoever names no version is not refused by all"
        assert {version: each["description"] for version, each in versions(ask, path).items()} == said
        assert sorted(said) == list(range(1, len(said) + 1))
    assert ask("GET", path).body["description"] == said[len(said)]


def test_of_two_writers_who_read_the_same_one_wins(ask: Asker) -> None:
    path = f"/rubrics/{ask.made('/rubrics', a_rubric())['rubric_id']}"
    for number in range(1, 6):
        put = [("PUT", path, a_rubric(description=f"{who} {number}")) for who in ("A", "B", "C")]
        statuses = sorted(reply.status for reply in ask.at_once(*put, If_Match=f'"{number}"'))
        assert statuses[0] == 200
        assert set(statuses[1:]) <= {409, 412}
    assert sorted(versions(ask, path)) == [1, 2, 3, 4, 5, 6]


def test_of_two_who_describe_a_new_bot_none_is_lost(ask: Asker) -> None:
    put = [("PUT", f"/bots/{AGENT}/context", a_bot(system_prompt=f"p{number}")) for number in range(4)]
    assert {reply.status for reply in ask.at_once(*put)} <= {200, 409}
    assert ask("GET", f"/bots/{AGENT}/context").body["system_prompt"] in ("p0", "p1", "p2", "p3")


def test_cases_added_at_once_are_all_there_or_refused(ask: Asker) -> None:
    content = json.dumps({"test_set_id": "x", **a_test_set(entry(1))})
    made = ask.made("/datasets", {"name": "x.json", "content": content})
    path = f"/datasets/{made['dataset_id']}"
    replies = ask.at_once(*(("POST", f"{path}/test-cases", {"case": entry(number)}) for number in range(2, 8)))
    assert {reply.status for reply in replies} <= {201, 409}
    done = sum(reply.status == 201 for reply in replies)
    assert done >= 1
    assert ask("GET", path).body["cases"] == 1 + done
    assert len(ask("GET", f"{path}/test-cases").body) == 1 + done


def test_a_request_that_is_sent_twice_at_once_is_done_once(ask: Asker) -> None:
    replies = ask.at_once(*[("POST", "/rubrics", a_rubric())] * 5, Idempotency_Key="twice")
    made = {reply.body["rubric_id"] for reply in replies if reply.status == 201}
    assert {reply.status for reply in replies} <= {201, 409}
    assert len(made) == 1
    assert [each["rubric_id"] for each in ask("GET", "/rubrics").body] == list(made)


def test_a_refused_request_may_be_tried_again_with_its_key(ask: Asker) -> None:
    assert ask("POST", "/rubrics", {"name": "x", "rules": [rule(), rule()]}, Idempotency_Key="again").status == 422
    first = ask("POST", "/rubrics", a_rubric(), Idempotency_Key="again")
    assert first.status == 201
    second = ask("POST", "/rubrics", a_rubric(), Idempotency_Key="again")
    assert (second.status, second.body, second.headers["etag"]) == (201, first.body, first.headers["etag"])
    assert second.headers["idempotency-replayed"] == "true"
    other = ask("POST", "/rubrics", a_rubric(name="Other"), Idempotency_Key="again")
    assert (other.status, other.body["error"]) == (409, "conflict")
    elsewhere = ask("POST", "/test-sets", a_test_set(), Idempotency_Key="again")
    assert elsewhere.status == 409
    assert ask("POST", "/rubrics", a_rubric(), Idempotency_Key="x" * 201).status == 422


@pytest.mark.parametrize(
    ("if_match", "status"),
    [('"1"', 412), ('"2"', 200), ("2", 200), ('W/"2"', 200), ("*", 200), ('"3"', 412), ('"x"', 422), ("", 422)],
)
def test_a_change_to_another_version_than_was_read_is_refused(ask: Asker, if_match: str, status: int) -> None:
    path = f"/rubrics/{ask.made('/rubrics', a_rubric())['rubric_id']}"
    assert ask("PUT", path, a_rubric()).headers["etag"] == '"2"'
    assert ask("PUT", path, a_rubric(name="Mine"), If_Match=if_match).status == status
    gone = ask("DELETE", path, If_Match='"1"')
    assert (gone.status, gone.body["error"]) == (412, "precondition_failed")


def test_versions_cannot_be_changed_by_what_was_read(ask: Asker) -> None:
    """What was read may be sent back: ids, versions and times in it are ours."""
    made = ask.made("/rubrics", a_rubric())
    path = f"/rubrics/{made['rubric_id']}"
    forged = {**made, "rubric_id": "other", "version": 77, "created_at": "1999-01-01T00:00:00Z", "latest_version": 9}
    put = ask("PUT", path, forged)
    assert (put.status, put.body["rubric_id"], put.body["version"]) == (200, made["rubric_id"], 2)
    assert put.body["created_at"] == made["created_at"]
    assert ask("GET", f"{path}/versions/1").body["rules"] == made["rules"]
    assert ask("PUT", f"{path}/versions/1", forged).status == 405


def test_what_was_deleted_is_gone_until_it_is_brought_back(ask: Asker) -> None:
    path = f"/rubrics/{ask.made('/rubrics', a_rubric())['rubric_id']}"
    assert ask("DELETE", path).status == 204
    for method, body in (("GET", None), ("PUT", a_rubric()), ("DELETE", None)):
        assert ask(method, path, body).status == 404
    assert ask("GET", f"{path}/versions/1").status == 404
    assert ask("GET", f"{path}/versions").status == 404
    assert ask("POST", f"{path}/versions/1/restore").status == 404
    assert ask("GET", "/rubrics").body == []
    back = ask("POST", f"{path}/undelete")
    assert (back.status, back.body["version"], back.body["deleted"]) == (200, 1, False)


@pytest.mark.parametrize("kind", ["/rubrics", "/test-sets", "/question-sets", "/evaluator-configs", "/datasets"])
def test_what_was_deleted_is_listed_apart_until_its_content_is_gone(ask: Asker, kind: str) -> None:
    name, body = MADE[kind]
    gone, stays = (ask.made(kind, body())[name] for _ in range(2))
    assert ask("GET", f"{kind}?deleted=true").body == []
    assert ask("DELETE", f"{kind}/{gone}").status == 204
    listed = ask("GET", f"{kind}?deleted=true").body
    assert [(each[name], each["deleted"]) for each in listed] == [(gone, True)]
    assert [each[name] for each in ask("GET", kind).body] == [stays]
    assert ask("POST", f"{kind}/{gone}/undelete").status == 200
    assert ask("GET", f"{kind}?deleted=true").body == []
    assert ask("DELETE", f"{kind}/{gone}").status == 204
    ask.service.wait(ask.service.host.store.retention.purge({}, -1))
    assert ask("GET", f"{kind}?deleted=true").body == []
    assert ask("POST", f"{kind}/{gone}/undelete").status == 404
