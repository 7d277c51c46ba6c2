"""What people call a run: its name and its tags, which alone may change."""

from __future__ import annotations

from typing import Any

import pytest

from api.operations import a_test_set
from api.shared import Asker
from howsure.store.maintenance import check

Json = dict[str, Any]


def a_run(ask: Asker, **more: Any) -> Json:
    key = ask.made("/test-sets", a_test_set())["test_set_id"]
    return ask.finished(ask.made("/runs", {"test_set_id": key, **more}, 202)["run_id"])


def test_a_run_gets_another_name_and_tags_and_is_found_by_them_and_nothing_else_changes(ask: Asker) -> None:
    before, other = a_run(ask, name="first"), a_run(ask, tags=["nightly", "nightly", "R 12"])
    place = f"/runs/{before['run_id']}"
    assert (before["tags"], other["tags"]) == ([], ["nightly", "R 12"])
    changed = ask("PATCH", place, {"name": "refunds", "tags": ["release", "nightly"]})
    assert (changed.status, changed.body) == (200, {**before, "name": "refunds", "tags": ["release", "nightly"]})
    assert ask("GET", place).body == changed.body
    assert ask("PATCH", place, {"name": "refunds 2"}).body["tags"] == ["release", "nightly"]
    assert ask("PATCH", place, {}).body["name"] == "refunds 2"

    def found(query: str) -> list[str]:
        return [each["run_id"] for each in ask("GET", f"/runs?{query}").body]

    assert found("tag=nightly") == [other["run_id"], before["run_id"]]
    assert (found("tag=release"), found("tag=R%2012"), found("tag=night")) == (
        [before["run_id"]],
        [other["run_id"]],
        [],
    )
    assert found("name=REFUNDS") == [before["run_id"]]
    assert ask("PATCH", place, {"tags": []}).body["tags"] == []
    assert found("tag=release") == []
    written = [each for each in ask("GET", "/audit").body if each["action"] == "PATCH /api/v1/runs/{run_id}"]
    assert len(written) == 4
    assert {(each["subject"], each["status"]) for each in written} == {(f"/api/v1{place}", 200)}


async def test_a_name_that_was_changed_is_not_taken_for_damage(ask: Asker) -> None:
    run = a_run(ask)
    assert ask("PATCH", f"/runs/{run['run_id']}", {"name": "another", "tags": ["x"]}).status == 200
    health = await check(ask.service.host.work.settings.database)
    assert [each for each in health.rows if each.run_id == run["run_id"]] == []


@pytest.mark.parametrize(
    "body", [{"name": " "}, {"tags": [""]}, {"tags": ["a" * 101]}, {"tags": ["t"] * 51}, {"state": "completed"}]
)
def test_what_is_no_name_and_no_tag_is_refused(ask: Asker, body: Json) -> None:
    run = a_run(ask)
    assert ask("PATCH", f"/runs/{run['run_id']}", body).status == 422


def test_only_those_who_may_edit_change_a_run(ask: Asker) -> None:
    place = f"/runs/{a_run(ask)['run_id']}"
    reader = ask.service.asker("read", "run", organization_id=ask.organization_id)
    assert reader("PATCH", place, {"name": "mine"}).status == 403
    assert ask.service.asker()("PATCH", place, {"name": "mine"}).status == 404
