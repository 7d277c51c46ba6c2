"""A panel, from howsure.yaml to several model servers and back: recorded, replayed, cached, resumed."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from e2e.model_server import application
from howsure.services.demo import DEMOS, Demo, demo_folder
from listening import in_a_thread

Howsure = Callable[..., Any]


class Model:
    """A running model server; every name that it is asked under is a model of it."""

    def __init__(self, address: str) -> None:
        self.base = f"{address}/v1"

    def named(self, name: str) -> str:
        return f"openai-compatible:{name}@{self.base}"

    @property
    def calls(self) -> int:
        with urllib.request.urlopen(self.base.replace("/v1", "/count")) as answer:
            return int(json.load(answer)["calls"])


@pytest.fixture
def serving() -> Iterator[Callable[[str], Model]]:
    with ExitStack() as stack:
        yield lambda mood: Model(stack.enter_context(in_a_thread(application(mood))))


def configured(place: Path, *members: str, **rest: Any) -> None:
    text = json.dumps({"panel": {"members": list(members), **rest}})
    (place / "howsure.yaml").write_text(text, encoding="utf-8")


def words(demo: Demo, judge: str = "panel") -> list[str | Path]:
    base = demo_folder()
    said: list[str | Path] = ["run", base / demo.dataset, "--judge", judge]
    for option, value in (("responses", demo.responses), ("rubric", demo.rubric), ("agent", demo.agent)):
        if value:
            said += [f"--{option}", base / value]
    return said


def demo(dialect: str) -> Demo:
    return next(each for each in DEMOS if each.dialect == dialect)


@pytest.mark.parametrize(
    ("dialect", "rule", "counts"),
    [
        ("test-set", "majority", (12, 0, 0)),
        ("explain", "mean", (0, 20, 0)),
        ("legal", "unanimous", (32, 40, 0)),
        ("test-set", "round_robin", (0, 12, 0)),
    ],
)
def test_a_panel_judges_every_world_and_replays_without_its_settings(
    howsure: Howsure,
    serving: Callable[[str], Model],
    tmp_path: Path,
    dialect: str,
    rule: str,
    counts: tuple[int, int, int],
) -> None:
    good, bad, garbage = (serving(mood) for mood in ("good", "bad", "garbage"))
    silent = (garbage.named("four"),) if rule != "round_robin" else ()
    members = (good.named("one"), good.named("two"), bad.named("three"), *silent)
    configured(tmp_path, *members, rule=rule)
    replies = tmp_path / "replies.jsonl"
    live = howsure(*words(demo(dialect)), "--record-judge", replies, "--name", "live", "--json")
    assert live.code in (0, 3), live.err
    assert live.json["judge"] == f"panel: {rule} of {', '.join(members)}"
    assert (live.json["passed"], live.json["failed"], live.json["errored"]) == counts
    (tmp_path / "howsure.yaml").unlink()
    calls = good.calls
    replayed = howsure(*words(demo(dialect), f"recorded:{replies}"), "--name", "replayed", "--json")
    assert replayed.code == live.code, replayed.err
    assert good.calls == calls
    exports = [howsure("results", name, "--canonical").out for name in ("live", "replayed")]
    assert exports[0] == exports[1]
    assert '"panel_rule":"' + rule in exports[0]


def test_the_offline_judge_that_cannot_tell_is_left_out_and_replays(
    howsure: Howsure, serving: Callable[[str], Model], tmp_path: Path
) -> None:
    good = serving("good")
    configured(tmp_path, good.named("one"), good.named("two"), "offline")
    replies = tmp_path / "replies.jsonl"
    live = howsure(*words(demo("test-set")), "--record-judge", replies, "--name", "live", "--json")
    assert live.code == 0, live.err
    assert "the offline judge cannot tell" in replies.read_text(encoding="utf-8")
    replayed = howsure(*words(demo("test-set"), f"recorded:{replies}"), "--name", "replayed", "--json")
    assert replayed.code == 0, replayed.err
    exports = [howsure("results", name, "--canonical").out for name in ("live", "replayed")]
    assert exports[0] == exports[1]


def test_votes_are_calls_of_their_own_and_are_cached(
    howsure: Howsure, serving: Callable[[str], Model], tmp_path: Path
) -> None:
    good = serving("good")
    configured(tmp_path, good.named("one"))
    assert howsure(*words(demo("explain")), "--quiet").code in (0, 3)
    once = good.calls
    configured(tmp_path, good.named("one"), votes=3)
    assert howsure(*words(demo("explain")), "--quiet").code in (0, 3)
    assert good.calls == 4 * once, "a judge that votes is not asked at temperature 0: three votes were asked for"
    assert howsure(*words(demo("explain")), "--quiet").code in (0, 3)
    assert good.calls == 4 * once
    configured(tmp_path, good.named("two"), votes=3, near=0.5)
    assert howsure(*words(demo("explain")), "--quiet").code in (0, 3)
    assert good.calls == 5 * once, "full marks are far from every pass mark: nobody was asked twice"


def test_a_panel_out_of_budget_is_resumed_as_it_was_or_refused(
    howsure: Howsure, serving: Callable[[str], Model], tmp_path: Path
) -> None:
    good = serving("good")
    configured(tmp_path, good.named("one"), good.named("two"))
    first = howsure(*words(demo("explain")), "--budget", "2ktok", "--max-concurrency", "1", "--json")
    assert (first.code, first.json["state"]) == (2, "out_of_budget")
    configured(tmp_path, good.named("one"), "offline")
    changed = howsure("resume", "latest", "--budget", "1Mtok")
    assert changed.code == 2
    assert "now makes it" in changed.err
    configured(tmp_path, good.named("one"), good.named("two"))
    again = howsure("resume", "latest", "--budget", "1Mtok", "--json")
    assert again.code in (0, 3), again.err
    assert (again.json["state"], again.json["skipped"]) == ("completed", 0)


def test_without_settings_there_is_no_panel(howsure: Howsure) -> None:
    refused = howsure(*words(demo("explain")))
    assert refused.code == 2
    assert "needs `panel:` in howsure.yaml" in refused.err
