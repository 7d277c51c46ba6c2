"""Webhooks: from a run, a gate and a label to a receiver that answers, fails, hangs and redirects."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from api.operations import LABEL, a_test_set, entry
from api.served import Caller, Reply, serving
from howsure.api.app import ServiceAccess
from howsure.services.host.keys import KeyRequest, make_key
from howsure.services.host.webhooks import MOST_WEBHOOKS, DeliveryPace, sending_webhooks
from howsure.store.keys import KeyScope
from receivers import is_signed, receiving

Json = dict[str, Any]
PACE = DeliveryPace(look=0.02, limit=60.0, lease=90.0, wait=0.01, growth=1.0, tries=6)
EVENTS = ["run.completed", "run.failed", "gate.failed", "label.added"]


async def a_webhook(call: Caller, url: str, *events: str) -> Json:
    made = await call("POST", "/webhooks", {"url": url, "events": list(events or EVENTS)})
    assert made.status == 201, made.body
    found: Json = made.body
    return found


async def log(call: Caller, webhook: Json) -> list[Json]:
    found: list[Json] = (await call("GET", f"/webhooks/{webhook['id']}/deliveries")).body
    return found


async def ended(call: Caller, webhook: Json, number: int = 1) -> list[Json]:
    async with asyncio.timeout(120):
        while True:
            found = await log(call, webhook)
            if sum(each["ended_at"] is not None for each in found) >= number:
                return found
            await asyncio.sleep(0.01)


async def a_run(call: Caller, *gates: str) -> Json:
    items = [entry(number) for number in range(1, 9)]
    made = await call("POST", "/test-sets", a_test_set(*items))
    started = await call("POST", "/runs", {"test_set_id": made.body["test_set_id"], "gates": list(gates)})
    assert started.status == 202, started.body
    return await call.finished(started.body["run_id"])


async def test_a_run_its_failed_gate_and_a_label_reach_a_receiver_who_can_check_them(
    tmp_path: Path, database: str
) -> None:
    async with (
        receiving() as receiver,
        serving(tmp_path, database=database, hosts=("127.0.0.1",)) as call,
        sending_webhooks(call.host, PACE),
    ):
        webhook = await a_webhook(call, receiver.url)
        run = await a_run(call, "pass_rate <= 0.1", "pass_rate >= 0")
        await receiver.until(2)
        given = await call("POST", f"/runs/{run['run_id']}/labels", LABEL)
        assert given.status == 201, given.body
        await receiver.until(3)
        deliveries = await ended(call, webhook, 3)
    by_event = {event: receiver.body(number) for number, event in enumerate(receiver.events)}
    assert set(by_event) == {"run.completed", "gate.failed", "label.added"}
    assert all(is_signed(receiver, webhook["secret"], number) for number in range(3))
    assert not is_signed(receiver, "whsec_another")
    assert abs(time.time() - int(receiver.came[0][0]["Howsure-Timestamp"])) < 60
    told = by_event["run.completed"]["data"]["run"]
    assert (told["run_id"], told["status"], told["total"]) == (run["run_id"], "completed", 8)
    assert [gate["expression"] for gate in by_event["gate.failed"]["data"]["gates"]] == ["pass_rate <= 0.1"]
    label = by_event["label.added"]["data"]["label"]
    assert (label["label_id"], label["opinion"]) == (given.body["label_id"], "pass")
    assert sorted(each["id"] for each in deliveries) == sorted(receiver.ids)
    assert {(each["state"], each["status"], each["tries"], each["error"]) for each in deliveries} == {
        ("delivered", 204, 1, None)
    }
    assert {each["run_id"] for each in deliveries} == {run["run_id"]}
    assert "whsec_" not in json.dumps([deliveries, by_event])


async def test_a_gate_that_holds_is_not_told(tmp_path: Path) -> None:
    async with (
        receiving() as receiver,
        serving(tmp_path, hosts=("127.0.0.1",)) as call,
        sending_webhooks(call.host, PACE),
    ):
        webhook = await a_webhook(call, receiver.url, "gate.failed")
        await a_run(call, "pass_rate >= 0")
        async with asyncio.timeout(120):
            while await log(call, webhook):
                await asyncio.sleep(0.01)
    assert receiver.came == []


async def test_a_receiver_that_fails_hangs_and_redirects_gets_the_same_again_until_it_answers(tmp_path: Path) -> None:
    pace = DeliveryPace(look=0.02, limit=2.0, wait=0.01, growth=1.0, tries=6)
    async with (
        receiving(500, "hang", 302, 404) as receiver,
        serving(tmp_path, hosts=("127.0.0.1",)) as call,
        sending_webhooks(call.host, pace),
    ):
        webhook = await a_webhook(call, receiver.url, "run.completed")
        await a_run(call)
        (delivery,) = await ended(call, webhook)
    assert (delivery["state"], delivery["tries"], delivery["status"]) == ("delivered", 5, 204)
    assert len(receiver.came) == 5
    assert len(set(receiver.ids)) == 1
    assert len({body for _, body in receiver.came}) == 1
    assert all(is_signed(receiver, webhook["secret"], number) for number in range(5))
    assert receiver.elsewhere == 0


@pytest.mark.parametrize(
    ("answer", "status", "error"),
    [
        (500, 500, "it answered 500"),
        (302, 302, "it answered with a redirect, which is not followed"),
        ("hang", None, "no answer within 0.1 s"),
    ],
)
async def test_after_its_last_try_a_delivery_has_failed_and_says_why(
    tmp_path: Path, answer: int | str, status: int | None, error: str
) -> None:
    limit = 0.1 if answer == "hang" else 60.0
    pace = DeliveryPace(look=0.02, limit=limit, lease=90.0, wait=0.01, growth=1.0, tries=2)
    async with (
        receiving(answer, answer, answer) as receiver,
        serving(tmp_path, hosts=("127.0.0.1",)) as call,
        sending_webhooks(call.host, pace),
    ):
        webhook = await a_webhook(call, receiver.url, "run.completed")
        await a_run(call)
        (delivery,) = await ended(call, webhook)
    assert (delivery["state"], delivery["tries"], delivery["status"], delivery["error"]) == (
        *("failed", 2, status, error),
    )
    assert delivery["next_at"] is None
    assert len(receiver.came) == 2


async def test_a_receiver_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    slow = DeliveryPace(look=0.02, limit=60.0)
    async with (
        receiving("hang") as hanging,
        receiving() as other,
        serving(tmp_path, hosts=("127.0.0.1",)) as call,
        sending_webhooks(call.host, slow),
    ):
        first = await a_webhook(call, hanging.url, "run.completed")
        await a_webhook(call, other.url, "run.completed")
        await a_run(call)
        await a_run(call)
        await other.until(2)
        assert len(hanging.came) == 1
        assert [each["ended_at"] for each in await log(call, first)] == [None, None]


async def test_many_receivers_of_one_organisation_hold_up_no_other(tmp_path: Path) -> None:
    async with (
        receiving(*["hang"] * 60) as hanging,
        receiving() as other,
        serving(tmp_path, ServiceAccess(keys_needed=True), hosts=("127.0.0.1",)) as call,
        sending_webhooks(call.host, DeliveryPace(look=0.02, limit=60.0, at_once=8)),
    ):

        async def run_in(organization: str, url: str, number: int) -> list[int]:
            _, secret = await make_key(
                call.host.store, KeyRequest(name="a", scopes=[*KeyScope], organization_id=organization)
            )
            key = {"Authorization": f"Bearer {secret}"}
            made = await call("POST", "/test-sets", a_test_set(entry(1)), **key)
            hooks = [
                await call("POST", "/webhooks", {"url": url, "events": ["run.completed"]}, **key) for _ in range(number)
            ]
            await call("POST", "/runs", {"test_set_id": made.body["test_set_id"]}, **key)
            return [each.status for each in hooks]

        assert await run_in("loud", hanging.url, MOST_WEBHOOKS + 1) == [*[201] * MOST_WEBHOOKS, 409]
        await hanging.until(2)
        await run_in("quiet", other.url, 1)
        await other.until(1, 30.0)
        assert len(hanging.came) < 8


async def test_a_sender_that_ends_in_the_middle_leaves_the_delivery_to_the_next_one(
    tmp_path: Path, database: str
) -> None:
    """At least once, under the same id."""
    async with (
        receiving("hang") as receiver,
        serving(tmp_path, database=database, hosts=("127.0.0.1",)) as call,
    ):
        webhook = await a_webhook(call, receiver.url, "run.completed")
        await a_run(call)
        async with sending_webhooks(call.host, DeliveryPace(look=0.02, limit=60.0, lease=0.2)):
            await receiver.until(1)
        async with sending_webhooks(call.host, PACE):
            (delivery,) = await ended(call, webhook)
    assert (delivery["state"], delivery["tries"]) == ("delivered", 2)
    assert receiver.ids == [delivery["id"]] * 2


async def test_the_test_button_sends_once_and_tells_what_came_of_it(tmp_path: Path) -> None:
    async with receiving(204, 500) as receiver, serving(tmp_path, hosts=("127.0.0.1",)) as call:
        webhook = await a_webhook(call, receiver.url, "run.failed")
        replies = [await call("POST", f"/webhooks/{webhook['id']}/test") for _ in range(2)]
        off = await call("PATCH", f"/webhooks/{webhook['id']}", {"active": False})
        refused = await call("POST", f"/webhooks/{webhook['id']}/test")
    assert [(each.status, each.body["state"], each.body["status"], each.body["error"]) for each in replies] == [
        (200, "delivered", 204, None),
        (200, "failed", 500, "it answered 500"),
    ]
    assert receiver.events == ["webhook.test"] * 2
    assert (receiver.body()["data"], receiver.body()["id"]) == ({}, replies[1].body["id"])
    assert is_signed(receiver, webhook["secret"])
    assert (off.body["active"], off.body["events"], refused.status) == (False, ["run.failed"], 409)


@pytest.mark.parametrize(
    ("url", "detail"),
    [
        ("http://10.0.0.8/x", "url: the host 10.0.0.8 is not among those this service may call"),
        ("https://elsewhere.example/", "url: the host elsewhere.example is not among those this service may call"),
        ("ftp://127.0.0.1/x", "url: expected an http or https address, found 'ftp://127.0.0.1/x'"),
        ("http://127.0.0.1:0/x", "url: expected an http or https address, found 'http://127.0.0.1:0/x'"),
        (
            "http://me:secret@127.0.0.1/x",
            "url: an address with a name or a password in it is not called; check the signature instead",
        ),
    ],
)
async def test_an_address_that_the_service_may_not_call_is_refused(tmp_path: Path, url: str, detail: str) -> None:
    async with receiving() as receiver, serving(tmp_path, hosts=("127.0.0.1",)) as call:
        made = await call("POST", "/webhooks", {"url": url, "events": ["run.failed"]})
        known = await a_webhook(call, receiver.url)
        changed = await call("PATCH", f"/webhooks/{known['id']}", {"url": url})
    assert [(each.status, each.body["detail"]) for each in (made, changed)] == [(422, detail)] * 2


async def test_a_listed_name_that_leads_inside_is_not_called(tmp_path: Path) -> None:
    async with receiving() as receiver, serving(tmp_path, hosts=("localhost",)) as call:
        webhook = await a_webhook(call, f"http://localhost:{receiver.port}/hook")
        reply = await call("POST", f"/webhooks/{webhook['id']}/test")
    assert (reply.body["state"], reply.body["error"]) == (
        *("failed", "this host leads to an address that the service may not call"),
    )
    assert receiver.came == []


async def test_webhooks_are_an_organisations_own_and_their_secret_is_shown_once(tmp_path: Path) -> None:
    async with serving(tmp_path, ServiceAccess(keys_needed=True), hosts=("127.0.0.1",)) as call:

        async def keyed(scope: KeyScope, organization: str, method: str, path: str, body: Any = None) -> Reply:
            request = KeyRequest(name="me", scopes=[scope], organization_id=organization)
            _, secret = await make_key(call.host.store, request)
            return await call(method, path, body, Authorization=f"Bearer {secret}", Idempotency_Key="once")

        wanted = {"url": "http://127.0.0.1/x", "events": ["run.failed"]}
        made = await keyed(KeyScope.ADMIN, "acme", "POST", "/webhooks", wanted)
        place = f"/webhooks/{made.body['id']}"
        assert (await keyed(KeyScope.WRITE, "acme", "POST", "/webhooks", wanted)).status == 403
        assert (await keyed(KeyScope.READ, "acme", "GET", "/webhooks")).status == 403
        read = await keyed(KeyScope.ADMIN, "acme", "GET", place)
        assert [each["id"] for each in (await keyed(KeyScope.ADMIN, "acme", "GET", "/webhooks")).body] == [
            read.body["id"]
        ]
        others = [
            (await keyed(KeyScope.ADMIN, "beta", method, path)).status
            for method, path in (("GET", place), ("DELETE", place), ("POST", f"{place}/test"))
        ]
        assert others == [404, 404, 404]
        assert (await keyed(KeyScope.ADMIN, "acme", "DELETE", place)).status == 204
        entries = [entry async for entry in call.host.store.audit.entries()]
    assert made.body["secret"].startswith("whsec_")
    assert (made.headers["location"], "secret" in read.body) == (f"/api/v1{place}", False)
    told = [(entry.action, entry.subject) for entry in entries if entry.status < 300]
    assert told == [("POST /api/v1/webhooks", read.body["id"]), ("DELETE /api/v1/webhooks/{id}", f"/api/v1{place}")]
