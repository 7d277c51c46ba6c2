"""Leases: a process that can be seen decides by being there; one that cannot, by its heartbeat."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta

import pytest

from howsure.model.run import RunState
from howsure.store.leases import lease_is_held, lease_is_stale, owner_is_alive, this_owner
from store.making import NOON

SOON = NOON + timedelta(seconds=60)
LATE = NOON + timedelta(seconds=61)


def a_dead_owner() -> str:
    """The owner text of a process that has ended."""
    code = "from howsure.store.leases import this_owner; print(this_owner('x'))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_this_owner_is_alive() -> None:
    assert owner_is_alive(this_owner("token")) is True


def test_two_owners_in_one_process_are_told_apart() -> None:
    assert this_owner("a") != this_owner("b")
    assert this_owner("a") == this_owner("a")


def test_a_process_that_ended_is_not() -> None:
    assert owner_is_alive(a_dead_owner()) is False


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the start of a process is read from /proc")
def test_a_process_that_took_over_the_number_is_not_the_owner() -> None:
    machine, pid, started, token = this_owner("x").rsplit("/", 3)
    assert owner_is_alive("/".join((machine, pid, str(int(started) - 1), token))) is False


@pytest.mark.skipif(not os.path.exists("/proc/sys/kernel/random/boot_id"), reason="boots are told apart by /proc")
def test_a_machine_of_the_same_name_is_another_machine() -> None:
    """Two that were copied from one image: same host name, same number of the first namespace, same process id."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        owner = this_owner("x").replace(file.read().strip(), "00000000-0000-0000-0000-000000000000")
    assert owner != this_owner("x")
    assert owner_is_alive(owner) is None
    assert lease_is_held(owner, NOON, SOON) is True
    assert lease_is_held(owner, NOON, LATE) is False


@pytest.mark.parametrize("owner", ["", "x", "elsewhere/pid:[1]/17/99/x", "a/b/c/d", "host//not-a-number/1/x"])
def test_what_is_elsewhere_cannot_be_seen(owner: str) -> None:
    assert owner_is_alive(owner) is None


@pytest.mark.parametrize(
    ("owner", "heartbeat", "now", "expected"),
    [
        (None, NOON, NOON, False),
        ("elsewhere", None, NOON, False),
        ("elsewhere", NOON, SOON, True),
        ("elsewhere", NOON, LATE, False),
    ],
    ids=["nobody", "never heard from", "heard from lately", "silent for too long"],
)
def test_a_lease_holds_while_its_owner_is_heard(
    owner: str | None, heartbeat: datetime | None, now: datetime, expected: bool
) -> None:
    assert lease_is_held(owner, heartbeat, now) is expected


def test_an_owner_we_see_needs_no_heartbeat_and_a_dead_one_has_none() -> None:
    assert lease_is_held(this_owner("x"), NOON, NOON + timedelta(days=1)) is True
    assert lease_is_held(a_dead_owner(), NOON, NOON) is False


@pytest.mark.parametrize("state", [state for state in RunState if state is not RunState.RUNNING])
def test_only_a_running_run_can_be_stale(state: RunState) -> None:
    assert lease_is_stale(state, None, None, NOON) is False


@pytest.mark.parametrize(
    ("owner", "heartbeat", "now", "expected"),
    [
        ("elsewhere", NOON, SOON, False),
        ("elsewhere", NOON, LATE, True),
        (None, NOON, SOON, False),
        (None, NOON, LATE, True),
        (None, None, NOON, True),
    ],
)
def test_a_running_run_is_stale_when_nobody_holds_it(
    owner: str | None, heartbeat: datetime | None, now: datetime, expected: bool
) -> None:
    assert lease_is_stale(RunState.RUNNING, owner, heartbeat, now) is expected
