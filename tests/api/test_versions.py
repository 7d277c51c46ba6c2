"""Versions of datasets, case by case, and of descriptions of agents; and who wrote each of whatever has versions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.operations import a_bot, a_case, a_dataset, a_rubric, rule
from api.shared import AGENT, Asker, Service

Json = dict[str, Any]
CONTEXT = f"/bots/{AGENT}/context"


def lines(*cases: Json) -> str:
    return "".join(json.dumps(case) + "\n" for case in cases)


def two_versions(ask: Asker) -> tuple[str, list[Json]]:
    """A dataset of three cases, then without the first, with the second changed and a new one."""
    first, second, third, fourth = (a_case() for _ in range(4))
    made = ask.made("/datasets", a_dataset(content=lines(first, second, third)))
    path = f"/datasets/{made['dataset_id']}"
    changed = {**second, "prompt": "Quite another question?"}
    put = ask("PUT", path, a_dataset(content=lines(changed, third, fourth), note="the question was unclear"))
    assert put.status == 200, put.body
    return path, [first, second, third, fourth]


def test_the_versions_of_a_dataset_are_listed_and_read(ask: Asker) -> None:
    path, _ = two_versions(ask)
    listed = ask("GET", f"{path}/versions").body
    assert [(each["version"], each["cases"], each["note"]) for each in listed] == [
        (2, 3, "the question was unclear"),
        (1, None, None),
    ]
    assert [[each["version"] for each in page] for page in ask.pages(f"{path}/versions", 1)][:2] == [[2], [1]]
    one = ask("GET", f"{path}/versions/1")
    assert (one.body["version"], one.body["latest_version"], one.headers["etag"]) == (1, 2, '"1"')
    assert [each["version"] for each in one.body["changelog"]] == [2, 1]
    assert ask("GET", f"{path}/versions/3").status == 404
    assert ask("GET", "/datasets/nothing/versions").status == 404


def test_what_changed_in_a_dataset_is_told_case_by_case(ask: Asker) -> None:
    path, (first, second, _, fourth) = two_versions(ask)
    changed = ask("GET", f"{path}/versions/1/diff/2").body
    assert [(each["path"], each["kind"]) for each in changed] == [
        (f"cases[{first['id']}]", "removed"),
        (f"cases[{second['id']}].input.message", "changed"),
        (f"cases[{fourth['id']}]", "added"),
    ]
    assert ask("GET", f"{path}/versions/2/diff/2").body == []


def test_an_old_dataset_is_the_newest_again(ask: Asker) -> None:
    path, cases = two_versions(ask)
    restored = ask("POST", f"{path}/versions/1/restore")
    assert (restored.status, restored.body["version"], restored.body["note"]) == (201, 3, "version 1 restored")
    assert (restored.body["cases"], restored.headers["etag"]) == (3, '"3"')
    listed = ask("GET", f"{path}/test-cases").body
    assert [each["test_case_id"] for each in listed] == [case["id"] for case in cases[:3]]
    assert ask("GET", f"/test-cases/{listed[0]['id']}").status == 200
    assert ask("POST", f"{path}/versions/9/restore").status == 404


def test_versions_of_a_deleted_dataset_are_gone_until_it_is_brought_back(ask: Asker) -> None:
    path, _ = two_versions(ask)
    assert ask("DELETE", path).status == 204
    for ending in ("/versions", "/versions/1", "/versions/1/diff/2"):
        assert ask("GET", path + ending).status == 404
    assert ask("POST", f"{path}/versions/1/restore").status == 404
    assert ask("POST", f"{path}/undelete").status == 200
    assert ask("GET", f"{path}/versions/1/diff/2").status == 200


def test_the_descriptions_of_an_agent_have_versions(ask: Asker) -> None:
    for text in ("Be kind.", "Be brief."):
        assert ask("PUT", CONTEXT, a_bot(system_prompt=text)).status == 200
    listed = ask("GET", f"{CONTEXT}/versions").body
    assert [(each["version"], each["system_prompt"], each["author"]) for each in listed] == [
        (2, "Be brief.", "tester"),
        (1, "Be kind.", "tester"),
    ]
    assert [(each["path"], each["before"]) for each in ask("GET", f"{CONTEXT}/versions/1/diff/2").body] == [
        ("system_prompt", "Be kind.")
    ]
    restored = ask("POST", f"{CONTEXT}/versions/1/restore")
    assert (restored.status, restored.body["version"], restored.body["system_prompt"]) == (201, 3, "Be kind.")
    assert ask("GET", CONTEXT).body["system_prompt"] == "Be kind."
    assert ask("GET", "/bots/nobody/context/versions").status == 404


def test_a_description_is_changed_only_as_it_was_read(ask: Asker) -> None:
    first = ask("PUT", CONTEXT, a_bot())
    assert first.headers["etag"] == ask("GET", CONTEXT).headers["etag"] == '"1"'
    second = ask("PUT", CONTEXT, a_bot(system_prompt="Mine"), If_Match='"1"')
    assert (second.status, second.headers["etag"]) == (200, '"2"')
    late = ask("PUT", CONTEXT, a_bot(system_prompt="Too late"), If_Match='"1"')
    assert (late.status, late.body["error"]) == (412, "precondition_failed")
    assert ask("GET", CONTEXT).body["system_prompt"] == "Mine"


def test_a_description_is_patched_deleted_and_written_anew(ask: Asker) -> None:
    ask("PUT", CONTEXT, a_bot(system_prompt="Be kind."))
    changed = ask("PATCH", CONTEXT, {"bot_name": "Renamed"}, If_Match='"1"')
    assert (changed.status, changed.body["bot_name"], changed.body["system_prompt"]) == (200, "Renamed", "Be kind.")
    assert ask("PATCH", CONTEXT, {"bot_name": "late"}, If_Match='"1"').status == 412
    assert ask("DELETE", CONTEXT).status == 204
    assert ask("GET", CONTEXT).status == ask("PATCH", CONTEXT, {}).status == 404
    assert ask("POST", f"{CONTEXT}/undelete").body["bot_name"] == "Renamed"
    ask("DELETE", CONTEXT)
    assert ask("PUT", CONTEXT, a_bot(bot_name="Anew")).headers["etag"] == '"3"'
    assert [each["bot_name"] for each in ask("GET", f"{CONTEXT}/versions").body][:2] == ["Anew", "Renamed"]


@pytest.mark.parametrize("way", ["GET", "PUT", "POST"])
def test_whoever_reads_one_document_reads_who_wrote_it(ask: Asker, way: str) -> None:
    made = ask.made("/rubrics", a_rubric(note="first"))
    path = f"/rubrics/{made['rubric_id']}"
    assert [(each["version"], each["author"], each["note"]) for each in made["changelog"]] == [(1, "tester", "first")]
    ask("PUT", path, a_rubric(rules=[rule("CALM")], note="calmer"))
    replies = {
        "GET": lambda: ask("GET", path),
        "PUT": lambda: ask("PUT", path, a_rubric(note="again")),
        "POST": lambda: ask("POST", f"{path}/versions/1/restore"),
    }
    found = replies[way]().body["changelog"]
    newest = {"GET": [], "PUT": ["again"], "POST": ["version 1 restored"]}[way]
    assert [each["note"] for each in found] == [*newest, "calmer", "first"]
    assert all("changelog" not in each for each in ask("GET", "/rubrics").body)


def test_a_changelog_tells_of_the_newest_hundred(ask: Asker) -> None:
    path = f"/rubrics/{ask.made('/rubrics', a_rubric())['rubric_id']}"
    for number in range(102):
        assert ask("PUT", path, a_rubric(note=f"n{number}")).status == 200
    told = ask("GET", path).body["changelog"]
    assert (len(told), told[0]["version"], told[-1]["version"]) == (100, 103, 4)


def test_versions_of_others_are_not_there(service: Service) -> None:
    """The same agent may be described by two organisations: each has its own versions."""
    owner, other = service.asker(), service.asker()
    path, _ = two_versions(owner)
    owner("PUT", CONTEXT, a_bot(system_prompt="secret"))
    for address in (f"{path}/versions", f"{path}/versions/1", f"{path}/versions/1/diff/2", f"{CONTEXT}/versions"):
        assert other("GET", address).status == 404, address
    assert other("POST", f"{path}/versions/1/restore").status == 404
    other("PUT", CONTEXT, a_bot(system_prompt="open"))
    assert [each["system_prompt"] for each in other("GET", f"{CONTEXT}/versions").body] == ["open"]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edits=st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["Kindness", "Grace", "Patience"]),
                "agent_id": st.sampled_from([AGENT, "a2", None]),
                "description": st.text("ab", max_size=3),
                "rules": st.lists(st.sampled_from("ABC"), unique=True, min_size=1, max_size=3).map(
                    lambda ids: [rule(id) for id in ids]
                ),
            },
        ),
        min_size=1,
        max_size=6,
    )
)
def test_no_edit_changes_an_earlier_version(ask: Asker, edits: list[dict[str, Any]]) -> None:
    path = f"/rubrics/{ask.made('/rubrics', a_rubric())['rubric_id']}"
    moving = ("latest_version", "changelog")
    seen = [ask("GET", f"{path}/versions/1").body]
    for number, edit in enumerate(edits, 2):
        assert ask("PATCH", path, edit).body["version"] == number
        seen.append(ask("GET", f"{path}/versions/{number}").body)
        for old in seen:
            now = ask("GET", f"{path}/versions/{old['version']}").body
            assert {**now, **{name: old[name] for name in moving}} == old
    first = ask("POST", f"{path}/versions/1/restore").body
    assert {name: first[name] for name in ("name", "agent_id", "description", "rules")} == {
        name: seen[0][name] for name in ("name", "agent_id", "description", "rules")
    }
