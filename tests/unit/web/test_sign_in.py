"""Whoever tries too often waits: by name, and all together; who came in is not counted."""

from __future__ import annotations

from howsure.web.pages.sign_in import ATTEMPTS_BY_NAME, ATTEMPTS_IN_TOTAL, NAMES_TRACKED, WINDOW_SECONDS, SignInThrottle


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_after_some_tries_one_waits_until_the_first_is_long_ago() -> None:
    clock = Clock()
    throttle = SignInThrottle(clock)
    for _ in range(ATTEMPTS_BY_NAME):
        assert throttle.seconds_to_wait("ana") == 0
        throttle.count_attempt("ana")
        clock.now += 1
    assert throttle.seconds_to_wait("ana") == WINDOW_SECONDS - ATTEMPTS_BY_NAME + 1
    assert throttle.seconds_to_wait("bo") == 0
    clock.now += WINDOW_SECONDS - ATTEMPTS_BY_NAME
    assert throttle.seconds_to_wait("ana") == 0


def test_the_last_tries_count_not_the_first() -> None:
    clock = Clock()
    throttle = SignInThrottle(clock)
    for _ in range(3 * ATTEMPTS_BY_NAME):
        throttle.count_attempt("ana")
        clock.now += WINDOW_SECONDS / ATTEMPTS_BY_NAME
    assert throttle.seconds_to_wait("ana") == 0


def test_who_comes_in_begins_anew() -> None:
    throttle = SignInThrottle(Clock())
    for _ in range(ATTEMPTS_BY_NAME - 1):
        throttle.count_attempt("ana")
    throttle.count_attempt("ana")
    throttle.forget_attempt("ana")
    assert throttle.seconds_to_wait("ana") == 0


def test_many_names_are_one_flood() -> None:
    throttle = SignInThrottle(Clock())
    for number in range(ATTEMPTS_IN_TOTAL):
        throttle.count_attempt(f"name {number}")
    assert throttle.seconds_to_wait("somebody new") > 0


def test_a_team_that_signs_in_at_nine_is_no_flood() -> None:
    throttle = SignInThrottle(Clock())
    for number in range(3 * ATTEMPTS_IN_TOTAL):
        throttle.count_attempt(f"name {number}")
        throttle.forget_attempt(f"name {number}")
    assert throttle.seconds_to_wait("somebody new") == 0


def test_names_do_not_fill_the_memory() -> None:
    throttle = SignInThrottle(Clock())
    for number in range(NAMES_TRACKED + 50):
        throttle.count_attempt(f"name {number}")
    assert len(throttle._by_name) == NAMES_TRACKED
