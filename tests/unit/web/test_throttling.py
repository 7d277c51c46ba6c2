"""Whoever tries too often waits: by name, and all together; who came in is not counted."""

from __future__ import annotations

from howsure.web.throttling import BY_NAME, NAMES, OVERALL, WINDOW_SECONDS, Throttle


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_after_some_tries_one_waits_until_the_first_is_long_ago() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    for _ in range(BY_NAME):
        assert throttle.waits("ana") == 0
        throttle.failed("ana")
        clock.now += 1
    assert throttle.waits("ana") == WINDOW_SECONDS - BY_NAME + 1
    assert throttle.waits("bo") == 0
    clock.now += WINDOW_SECONDS - BY_NAME
    assert throttle.waits("ana") == 0


def test_the_last_tries_count_not_the_first() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    for _ in range(3 * BY_NAME):
        throttle.failed("ana")
        clock.now += WINDOW_SECONDS / BY_NAME
    assert throttle.waits("ana") == 0


def test_who_comes_in_begins_anew() -> None:
    throttle = Throttle(Clock())
    for _ in range(BY_NAME - 1):
        throttle.failed("ana")
    throttle.failed("ana")
    throttle.came_in("ana")
    assert throttle.waits("ana") == 0


def test_many_names_are_one_flood() -> None:
    throttle = Throttle(Clock())
    for number in range(OVERALL):
        throttle.failed(f"name {number}")
    assert throttle.waits("somebody new") > 0


def test_a_team_that_signs_in_at_nine_is_no_flood() -> None:
    throttle = Throttle(Clock())
    for number in range(3 * OVERALL):
        throttle.failed(f"name {number}")
        throttle.came_in(f"name {number}")
    assert throttle.waits("somebody new") == 0


def test_names_do_not_fill_the_memory() -> None:
    throttle = Throttle(Clock())
    for number in range(NAMES + 50):
        throttle.failed(f"name {number}")
    assert len(throttle._tries) == NAMES
