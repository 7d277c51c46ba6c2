"""Whoever tries too often waits: by name and address, and by address; others do not wait for them."""

from __future__ import annotations

from howsure.services.host.throttles import (
    ATTEMPTS_BY_ADDRESS,
    ATTEMPTS_BY_NAME,
    TRACKED,
    WINDOW_SECONDS,
    SignInThrottle,
)

HERE, ELSEWHERE = "192.0.2.1", "198.51.100.7"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_after_some_tries_one_waits_until_the_first_is_long_ago() -> None:
    clock = Clock()
    throttle = SignInThrottle(clock)
    for _ in range(ATTEMPTS_BY_NAME):
        assert throttle.seconds_to_wait("ana", HERE) == 0
        throttle.count_attempt("ana", HERE)
        clock.now += 1
    assert throttle.seconds_to_wait("ana", HERE) == WINDOW_SECONDS - ATTEMPTS_BY_NAME + 1
    assert throttle.seconds_to_wait("bo", HERE) == 0
    assert throttle.seconds_to_wait("ana", ELSEWHERE) == 0
    clock.now += WINDOW_SECONDS - ATTEMPTS_BY_NAME
    assert throttle.seconds_to_wait("ana", HERE) == 0


def test_the_last_tries_count_not_the_first() -> None:
    clock = Clock()
    throttle = SignInThrottle(clock)
    for _ in range(3 * ATTEMPTS_BY_NAME):
        throttle.count_attempt("ana", HERE)
        clock.now += WINDOW_SECONDS / ATTEMPTS_BY_NAME
    assert throttle.seconds_to_wait("ana", HERE) == 0


def test_who_comes_in_begins_anew() -> None:
    throttle = SignInThrottle(Clock())
    for _ in range(ATTEMPTS_BY_NAME):
        throttle.count_attempt("ana", HERE)
    throttle.forget_attempt("ana", HERE)
    assert throttle.seconds_to_wait("ana", HERE) == 0


def test_many_names_from_one_address_are_a_flood_of_that_address_alone() -> None:
    throttle = SignInThrottle(Clock())
    for number in range(ATTEMPTS_BY_ADDRESS):
        throttle.count_attempt(f"name {number}", HERE)
    assert throttle.seconds_to_wait("somebody new", HERE) > 0
    assert throttle.seconds_to_wait("somebody new", ELSEWHERE) == 0


def test_a_network_of_ipv6_is_one_address() -> None:
    throttle = SignInThrottle(Clock())
    for number in range(ATTEMPTS_BY_ADDRESS):
        throttle.count_attempt(f"name {number}", f"2001:db8:1:2::{number:x}")
    assert throttle.seconds_to_wait("ana", "2001:db8:1:2:ffff::1") > 0
    assert throttle.seconds_to_wait("ana", "2001:db8:1:3::1") == 0


def test_a_team_that_signs_in_at_nine_is_no_flood() -> None:
    throttle = SignInThrottle(Clock())
    for number in range(3 * ATTEMPTS_BY_ADDRESS):
        throttle.count_attempt(f"name {number}", HERE)
        throttle.forget_attempt(f"name {number}", HERE)
    assert throttle.seconds_to_wait("somebody new", HERE) == 0


def test_addresses_do_not_fill_the_memory() -> None:
    throttle = SignInThrottle(Clock())
    for number in range(TRACKED):
        throttle.count_attempt("ana", f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(throttle._attempts) == TRACKED
