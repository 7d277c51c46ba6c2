"""Whole runs with simulated users: who plays, what is pinned, what a resume refuses; and runs over what was said in
earlier ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.config import Settings
from howsure.errors import ConfigInvalid, Conflict, NotFound, PlanRefused, UnknownName
from howsure.model.case import Case
from howsure.model.llm_settings import CallSettings
from howsure.model.result import Result
from howsure.model.run import RunState
from howsure.model.run_request import RunRequest
from howsure.model.simulation import Ending, Party
from howsure.model.verdict import Profile, Verdict
from howsure.services.run.start import retry, start
from howsure.services.workspace import Workspace
from howsure.targets.base import Reply, Stateless, Target, TargetRequest
from howsure.testing import ScriptedTarget, ScriptedUser
from howsure.users.base import UserExit
from unit.services.places import Counting, asking, house, lines, unwatched, workplace


def scenarios(folder: Path, *ids: str) -> str:
    inputs = {
        "persona": "A customer in a hurry.",
        "initial_message": "My lamp arrived broken.",
        "facts": {"order number": "L-5512"},
        "max_turns": 4,
    }
    expected = {"success_criteria": ["The agent says refund"]}
    entries = [
        {"item_id": id, "type": "scenario", "name": id, "inputs": inputs, "expected": expected} for id in ids or ("s1",)
    ]
    path = folder / "scenarios.json"
    path.write_text(json.dumps({"test_set_id": "ts", "name": "Lamps", "version": 1, "items": entries}), "utf-8")
    return str(path)


def a_place(folder: Path, *targets: Target, user: ScriptedUser | None = None, **settings: Any) -> Workspace:
    work = workplace(folder, *targets, settings=Settings(**settings))
    if user is not None:
        work.kit.users.add(user)
    return work


async def kept(work: Workspace, run: str = "latest") -> list[Result]:
    async with await work.store(read_only=True) as store:
        found = await store.find_run(run)
        return [result async for result in store.iterate(found.id)]


def said(result: Result) -> list[str]:
    assert result.transcript is not None
    return [message.content for message in result.transcript.messages]


TRUE = ("My lamp arrived broken.", "It is L-5512.", UserExit(Ending.GOAL_REACHED, "refunded"))
SPOILED = ("My lamp arrived broken.", "It is Q-9999, ann@example.com.", UserExit(Ending.GOAL_REACHED, "refunded"))
SHOP = ScriptedTarget("What is your order number?", "I have made the refund.")


async def test_a_plugins_user_plays_the_scenarios_of_a_run_and_is_pinned(tmp_path: Path) -> None:
    user = ScriptedUser(*TRUE)
    work = a_place(tmp_path, SHOP, user=user)
    options = RunRequest(datasets=(scenarios(tmp_path),), target="scripted", simulator="scripted", judge="offline")
    summary = await start(work, options, unwatched)
    (result,) = await kept(work)
    assert said(result)[2] == "It is L-5512."
    assert user.opened == [("s1", 1)]
    assert result.transcript is not None and result.transcript.simulation is not None
    assert (result.transcript.simulation.user, result.transcript.simulation.ending) == (
        "scripted",
        Ending.GOAL_REACHED,
    )
    pins = summary.run.pins
    assert (pins.request.simulator, len(pins.simulator_sha256), pins.request.replays) == ("scripted", 64, 0)
    assert {grader.name for grader in summary.graders} >= {"criteria", "simulator_fidelity"}


async def test_without_a_word_the_offline_user_plays(tmp_path: Path) -> None:
    work = a_place(tmp_path, SHOP)
    summary = await start(work, RunRequest(datasets=(scenarios(tmp_path),), target="scripted"), unwatched)
    (result,) = await kept(work)
    assert "L-5512" in said(result)[2]
    assert summary.run.pins.request.simulator == "offline"


async def test_a_run_that_simulates_nobody_pins_nobody(tmp_path: Path) -> None:
    work = a_place(tmp_path, Counting(), simulator="openai:gpt-5")
    summary = await start(work, asking(house(tmp_path)), unwatched)
    assert (summary.run.pins.request.simulator, summary.run.pins.simulator_sha256) == ("", "")


async def test_recorded_answers_need_no_key_of_a_simulator_that_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    work = a_place(tmp_path)
    answers = lines(tmp_path / "r.jsonl", {"case_id": "s1", "response_text": "Here is your refund"})
    options = RunRequest(datasets=(scenarios(tmp_path),), responses=(answers,), simulator="openai:gpt-5")
    summary = await start(work, options, unwatched)
    assert summary.run.pins.request.simulator == ""
    with pytest.raises(ConfigInvalid, match="set OPENAI_API_KEY"):
        live = RunRequest(datasets=(scenarios(tmp_path),), target="http:127.0.0.1:9", simulator="openai:gpt-5")
        await start(work, live, unwatched)


async def test_an_unknown_simulated_user_is_refused(tmp_path: Path) -> None:
    work = a_place(tmp_path, SHOP, user=ScriptedUser())
    options = RunRequest(datasets=(scenarios(tmp_path),), target="scripted", simulator="scriptd")
    with pytest.raises(UnknownName, match="unknown simulated user 'scriptd'; known: offline, provider:model, scripted"):
        await start(work, options, unwatched)


async def test_a_spoiled_scenario_is_errored_and_the_run_counts_who_is_answerable(tmp_path: Path) -> None:
    work = a_place(tmp_path, SHOP, user=ScriptedUser(*SPOILED))
    dataset = scenarios(tmp_path, "s1", "s2")
    options = RunRequest(datasets=(dataset,), target="scripted", simulator="scripted", graders=("simulator_fidelity",))
    summary = await start(work, options, unwatched)
    assert (summary.run.counts.errored, summary.faults) == (2, {"simulator": 2})
    work.kit.profiles.add(Profile(name="strict", marks={"simulator_fidelity": 1.0}))
    summary = await start(work, replace(options, profile="strict"), unwatched)
    assert (summary.run.counts.errored, summary.faults) == (2, {"simulator": 2})
    faults = [result.fault.party for result in await kept(work) if result.fault]
    assert faults == [Party.SIMULATOR, Party.SIMULATOR]


async def test_a_spoiled_conversation_is_played_again_where_the_run_allows_it(tmp_path: Path) -> None:
    user = ScriptedUser(*SPOILED, again=[SPOILED, TRUE])
    work = a_place(tmp_path, SHOP, user=user)
    options = RunRequest(datasets=(scenarios(tmp_path),), target="scripted", simulator="scripted", replays=2)
    summary = await start(work, options, unwatched)
    (result,) = await kept(work)
    assert user.opened == [("s1", 1), ("s1", 2), ("s1", 3)]
    assert result.transcript is not None and result.transcript.simulation is not None
    assert len(result.transcript.simulation.discarded) == 2
    assert not result.transcript.simulation.spoiled
    assert summary.run.pins.request.replays == 2
    with pytest.raises(PlanRefused, match="--replay-spoiled must be 0 or more, not -1"):
        await start(work, RunRequest(datasets=(scenarios(tmp_path),), target="scripted", replays=-1), unwatched)


async def test_a_user_who_cannot_be_opened_errors_the_case_and_no_other(tmp_path: Path) -> None:
    class Picky(ScriptedUser):
        def open(self, case: Case, attempt: int = 1) -> Any:
            if case.id == "s2":
                raise KeyError("no part for s2")
            return super().open(case, attempt)

    work = a_place(tmp_path, SHOP, user=Picky(*TRUE))
    options = RunRequest(datasets=(scenarios(tmp_path, "s1", "s2"),), target="scripted", simulator="scripted")
    summary = await start(work, options, unwatched)
    assert summary.run.counts.errored == 1
    broken = (await kept(work))[1]
    assert broken.reasons == ("the user played by 'scripted': KeyError: 'no part for s2'",)
    assert broken.fault is not None and broken.fault.party is Party.SIMULATOR


class Broken(Counting):
    """Raises once, then answers."""

    name = "shaky"

    async def open(self, case: Case) -> Stateless:
        self.asked.append(case.id)
        if len(self.asked) == 1:
            raise ConnectionError("refused")
        return Stateless(lambda _: Reply.saying("refund"))


class ShakyKind:
    """A kind whose targets share one memory."""

    name = "shaky"

    def __init__(self) -> None:
        self.target = Broken()

    def make(self, wish: TargetRequest) -> Target:
        return self.target


def shaky(folder: Path, kind: ShakyKind, **settings: Any) -> Workspace:
    work = a_place(folder, **settings)
    work.kit.kinds.add(kind)
    return work


async def test_a_run_goes_on_only_with_the_target_as_it_was(tmp_path: Path) -> None:
    kind, dataset = ShakyKind(), scenarios(tmp_path)
    block = {"kind": "shaky", "tone": "kind"}
    options = RunRequest(datasets=(dataset,), target="shop")
    first = await start(shaky(tmp_path, kind, targets={"shop": block}), options, unwatched)
    assert first.run.counts.errored == 1
    changed = shaky(tmp_path, kind, targets={"shop": {**block, "tone": "curt"}})
    with pytest.raises(Conflict) as caught:
        await retry(changed, "latest", unwatched)
    assert str(caught.value) == (
        f"run {first.run.id} began with other data: how the target shop is asked has changed. Start a new run."
    )
    with pytest.raises(UnknownName, match=r"unknown target 'shop'; known: .*, shaky"):
        await retry(shaky(tmp_path, kind), "latest", unwatched)
    again = await retry(shaky(tmp_path, kind, targets={"shop": dict(reversed(block.items()))}), "latest", unwatched)
    assert (again.run.state, again.run.counts.errored) == (RunState.COMPLETED, 0)


async def test_a_run_goes_on_only_with_the_simulator_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    kind, dataset = ShakyKind(), scenarios(tmp_path)
    options = RunRequest(datasets=(dataset,), target="shaky", simulator="openai:gpt-5")
    first = await start(shaky(tmp_path, kind), options, unwatched)
    assert (first.run.pins.request.simulator, first.run.counts.errored) == ("openai:gpt-5", 1)
    warm = shaky(tmp_path, kind, simulator_settings=CallSettings(temperature=0.9))
    with pytest.raises(Conflict, match="the simulated user openai:gpt-5 has changed"):
        await retry(warm, "latest", unwatched)


class Away(ScriptedTarget):
    """A target whom nobody finds."""

    name = "away"

    async def check(self) -> str:
        raise ConnectionRefusedError("nobody listens")


async def test_a_target_that_is_not_there_leaves_no_run(tmp_path: Path) -> None:
    work = a_place(tmp_path, Away())
    with pytest.raises(PlanRefused) as caught:
        await start(work, asking(house(tmp_path), target="away"), unwatched)
    assert str(caught.value) == ("target 'away' is not ready: ConnectionRefusedError: nobody listens. Nothing was run.")
    async with await work.store() as store:
        assert await store.runs() == []


async def test_a_conversation_is_replayed_to_another_agent(tmp_path: Path) -> None:
    work = a_place(tmp_path, SHOP, Counting(lambda case: "refund"), user=ScriptedUser(*TRUE))
    dataset = scenarios(tmp_path)
    await start(work, RunRequest(datasets=(dataset,), target="scripted", simulator="scripted"), unwatched)
    options = RunRequest(datasets=(dataset,), target="replay:counting", responses=("run:latest",))
    summary = await start(work, options, unwatched)
    (result,) = await kept(work)
    assert said(result) == ["My lamp arrived broken.", "refund", "It is L-5512.", "refund"]
    assert (summary.run.pins.request.target, summary.run.pins.request.simulator) == ("replay:counting", "replay")
    assert result.transcript is not None and result.transcript.simulation is not None
    assert result.transcript.simulation.user == "replay"


async def test_a_replay_without_conversations_is_refused_before_the_agent_is_asked(tmp_path: Path) -> None:
    target = Counting()
    work = a_place(tmp_path, target)
    with pytest.raises(PlanRefused, match="4 earlier conversations to replay are missing: q1, q2, q3, q4"):
        await start(work, asking(house(tmp_path), target="replay:counting"), unwatched)
    answers = lines(tmp_path / "r.jsonl", *({"case_id": f"q{n}", "response_text": "A"} for n in range(1, 5)))
    with pytest.raises(PlanRefused, match="Name a file of whole conversations, or run:RUN, with --responses"):
        await start(work, asking(house(tmp_path), target="replay:counting", responses=(answers,)), unwatched)
    assert target.asked == []


async def test_what_was_said_in_a_run_is_held_against_the_criteria_of_a_test_set(tmp_path: Path) -> None:
    target = Counting(lambda case: "Here is your refund")
    work = a_place(tmp_path, target)
    await start(work, asking(house(tmp_path, 2), name="night shift"), unwatched)
    target.asked.clear()
    criteria = scenarios(tmp_path, "s1", "s2")
    options = RunRequest(datasets=("run:latest",), criteria_from=criteria, judge="offline")
    summary = await start(work, options, unwatched)
    assert target.asked == []
    assert (summary.run.name, summary.run.pins.request.target) == ("conversations of night shift", "recorded")
    assert summary.run.pins.criteria_from is not None
    assert Path(summary.run.pins.datasets[0].path).name == "night-shift.jsonl"
    results = await kept(work)
    assert [result.case.id for result in results] == ["q1", "q2"]
    criteria_of = [[grade.part.text for grade in result.grades if grade.part] for result in results]
    assert criteria_of == [["The agent says refund"]] * 2
    assert summary.criteria is not None and summary.criteria.total == 2


async def test_a_run_over_another_is_named_by_the_user_where_they_say_so(tmp_path: Path) -> None:
    work = a_place(tmp_path, Counting())
    await start(work, asking(house(tmp_path, 1)), unwatched)
    named = RunRequest(datasets=("run:latest",), criteria_from=scenarios(tmp_path), name="mine")
    assert (await start(work, named, unwatched)).run.name == "mine"
    with pytest.raises(NotFound):
        await start(work, RunRequest(datasets=("run:nobody",)), unwatched)


async def test_conversations_of_a_file_are_held_against_a_test_set_and_the_run_can_be_retried(tmp_path: Path) -> None:
    work = a_place(tmp_path)
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "A refund is made"}]
    file = lines(
        tmp_path / "talks.jsonl", {"case_id": "a", "messages": messages}, {"case_id": "b", "error": "it broke"}
    )
    criteria = scenarios(tmp_path)
    summary = await start(work, RunRequest(datasets=(file,), criteria_from=criteria, judge="offline"), unwatched)
    assert (summary.run.counts.total, summary.run.counts.errored) == (2, 1)
    assert [result.verdict for result in await kept(work)][1] is Verdict.ERRORED
    again = await retry(work, "latest", unwatched)
    assert again.run.counts.errored == 1
    Path(criteria).write_text(Path(criteria).read_text("utf-8").replace("says refund", "says sorry"), "utf-8")
    with pytest.raises(Conflict, match=r"scenarios\.json has changed"):
        await retry(work, "latest", unwatched)
