"""A team's service, with keys, on both databases: what each key opens to a client, and what two people do at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from api.operations import a_rubric, a_test_set, entry
from api.shared import AGENT, Service, in_a_thread
from databases import IN_TURN, a_database
from howsure.api.app import ServiceAccess
from howsure.client.async_client import AsyncClient
from howsure.client.blocking_client import Client
from howsure.client.errors import Conflicting, Forbidden, Invalid, ResourceNotFound, Unauthorized, VersionConflict
from howsure.wire.documents import Rubric

HELLO = "The answer says hello 1"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Service]]:
    with ExitStack() as stack:

        @cache
        def started(kind: str) -> Service:
            folder = tmp_path_factory.mktemp(f"team-{kind}")
            where = stack.enter_context(a_database(kind, folder))
            return stack.enter_context(in_a_thread(folder, where, ServiceAccess(keys_needed=True)))

        yield started


@pytest.fixture(params=IN_TURN)
def team(request: pytest.FixtureRequest, running: Callable[[str], Service]) -> Service:
    return running(request.param)


def client_of(team: Service, *scopes: str, home: str | None = "", agents: list[str] | None = None) -> Client:
    asker = team.asker(*scopes, organization_id=home, agent_ids=agents)
    return Client(team.base, asker.key, environ={})


def test_without_a_key_nothing_but_health_is_answered(team: Service) -> None:
    with Client(team.base, environ={}) as stranger:
        assert stranger.health().status == "ok"
        assert stranger.ready().status == "ready"
        for asking in (stranger.grader_types, lambda: list(stranger.runs.each()), lambda: list(stranger.bulk.export())):
            with pytest.raises(Unauthorized, match="a key is needed"):
                asking()
    with Client(team.base, "howsure_guessed", environ={}) as guesser, pytest.raises(Unauthorized, match="is not known"):
        guesser.rubrics.get("x")


@pytest.mark.parametrize("scope", ["read", "write", "run"])
def test_a_key_opens_what_its_scope_says(team: Service, scope: str) -> None:
    with client_of(team, scope) as client:
        doing: dict[str, Callable[[], object]] = {
            "read": lambda: list(client.rubrics.each()),
            "write": lambda: client.rubrics.create(a_rubric()),
            "run": lambda: client.evaluate_transcript([{"role": "user", "content": "hi"}], success_criteria=["kind"]),
        }
        for name, do in doing.items():
            if name == scope:
                do()
            else:
                with pytest.raises(Forbidden, match=f"it needs the scope '{name}'") as raised:
                    do()
                assert (raised.value.status, raised.value.kind) == (403, "forbidden")
        with pytest.raises(Forbidden):
            client.keys.create("more", ["admin"])


def test_organisations_do_not_see_each_other(team: Service) -> None:
    with client_of(team) as ours, client_of(team) as theirs:
        made = ours.rubrics.create(a_rubric())
        assert list(theirs.rubrics.each()) == []
        assert [each for each in theirs.bulk.export() if each.id == made.rubric_id] == []
        for asking in (
            lambda: theirs.rubrics.get(made.rubric_id),
            lambda: list(theirs.rubrics.versions(made.rubric_id)),
            lambda: theirs.rubrics.change(made.rubric_id, made),
            lambda: theirs.rubrics.delete(made.rubric_id),
        ):
            with pytest.raises(ResourceNotFound):
                asking()
        (entry_of_ours,) = [each for each in ours.bulk.export("rubric") if each.id == made.rubric_id]
        assert [each.status for each in theirs.bulk.load([entry_of_ours])] == ["created"]
        assert theirs.rubrics.get(made.rubric_id).rules == made.rules


def test_a_key_for_one_agent_is_for_that_alone(team: Service) -> None:
    with client_of(team, "read", "write", "run", agents=["a1"]) as client:
        made = client.rubrics.create(a_rubric(agent_id="a1"))
        with pytest.raises(Invalid, match="may write for the agents a1 only"):
            client.rubrics.create(a_rubric(agent_id="a2"))
        with pytest.raises(ResourceNotFound):
            client.bots.get("a2")
        assert [each.rubric_id for each in client.rubrics.each()] == [made.rubric_id]


def test_a_key_is_made_used_and_revoked(team: Service) -> None:
    with client_of(team) as admin:
        made = admin.keys.create("reader", ["read"], days=1)
        with Client(team.base, made.secret, environ={}) as reader:
            assert list(reader.runs.each()) == []
            admin.keys.revoke(made.id)
            with pytest.raises(Unauthorized, match="was revoked"):
                list(reader.runs.each())
        noted = [each.action for each in admin.keys.deeds(most=2)]
        assert noted == ["DELETE /api/v1/keys/{id}", "POST /api/v1/keys"]


async def test_of_two_who_read_the_same_one_wins(team: Service) -> None:
    asker = team.asker()
    async with AsyncClient(team.base, asker.key, environ={}) as client:
        made = await client.rubrics.create(a_rubric())

        async def change(text: str) -> Rubric:
            return await client.rubrics.change(made.rubric_id, a_rubric(description=text), version=1)

        done = await asyncio.gather(*(change(text) for text in "abcd"), return_exceptions=True)
        won = [each for each in done if isinstance(each, Rubric)]
        assert len(won) == 1
        assert all(isinstance(each, VersionConflict | Conflicting) for each in done if each is not won[0])
        assert (await client.rubrics.get(made.rubric_id)).description == won[0].description


def test_people_label_under_their_own_names(team: Service) -> None:
    owner = team.asker()
    with (
        Client(team.base, owner.key, environ={}) as admin,
        client_of(team, "read", "write", home=owner.organization_id) as writer,
    ):
        made = admin.test_sets.create(a_test_set(entry(1)))
        run = admin.runs.wait(admin.evaluate(AGENT, made.test_set_id).run_id, seconds=60, every=0.1)
        with pytest.raises(Forbidden, match="speaks for 'tester' alone"):
            writer.labels.give(run.run_id, "i1", "criteria", "pass", criterion_id=HELLO, labeler="ana")
        writer.labels.give(run.run_id, "i1", "criteria", "pass", criterion_id=HELLO)
        ana = admin.labels.give(run.run_id, "i1", "criteria", "fail", criterion_id=HELLO, labeler="ana")
        with pytest.raises(Forbidden):
            writer.labels.take_back(run.run_id, ana.label_id)
        found = admin.labels.agreement(run.run_id)
        assert (found.people, found.together and found.together.agreed) == ({"tester": 1, "ana": 1}, 0)
