"""Starting, resuming and retrying runs: nothing is stored of a refused one, and nothing finished is made again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import reference_qa
from howsure.errors import Conflict, NotFound, PlanRefused
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.run import RunState
from howsure.model.run_request import RunRequest
from howsure.model.summary import Summary
from howsure.services.run.execute import Progress, RunHandle
from howsure.services.run.start import open_reply_log, resume, retry, start
from howsure.services.workspace import Workspace
from unit.services.places import Counting, asking, house, lines, mcq, unwatched, workplace


async def kept(work: Workspace, run: str = "latest") -> list[Result]:
    async with await work.store(read_only=True) as store:
        found = await store.find_run(run)
        return [result async for result in store.iterate(found.id)]


def answers(path: Path, said: dict[str, str], **fields: Any) -> str:
    return lines(path, *({"case_id": case, "response_text": text, **fields} for case, text in said.items()))


async def test_a_started_run_is_announced_before_it_works(tmp_path: Path) -> None:
    target = Counting()
    work = workplace(tmp_path, target)
    announced: list[RunHandle] = []

    def watch(started: RunHandle) -> Progress:
        assert target.asked == []
        announced.append(started)
        return lambda results: None

    summary = await start(work, asking(house(tmp_path), name="nightly"), watch)
    (started,) = announced
    assert (started.run.name, started.done, started.plan.warnings) == ("nightly", 0, ())
    assert (started.run.state, started.run.counts.total) == (RunState.PENDING, 4)
    assert summary.run.id == started.run.id
    assert (summary.run.state, summary.run.counts.passed) == (RunState.COMPLETED, 4)


async def test_a_refused_plan_leaves_no_run(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting())
    with pytest.raises(PlanRefused, match="--repeat must be 1 or more"):
        await start(work, asking(house(tmp_path), repeat=0), unwatched)
    with pytest.raises(NotFound, match=r"no such file: .*nowhere\.jsonl"):
        await start(work, asking(str(tmp_path / "nowhere.jsonl")), unwatched)
    async with await work.store() as store:
        assert await store.runs() == []


def breaking(broken: set[str]) -> Counting:
    def answer(case: Case) -> str:
        if case.id in broken:
            raise ConnectionError("refused")
        return "A"

    return Counting(answer)


async def test_a_retry_makes_what_errored_again_and_announces_what_is_done(tmp_path: Path) -> None:
    broken = {"q2", "q3"}
    target = breaking(broken)
    work = workplace(tmp_path, target)
    first = await start(work, asking(house(tmp_path)), unwatched)
    assert (first.run.counts.passed, first.run.counts.errored) == (2, 2)
    broken.discard("q2")
    target.asked.clear()
    announced: list[int] = []

    def watch(started: RunHandle) -> Progress:
        announced.append(started.done)
        return lambda results: None

    again = await retry(work, "latest", watch)
    assert target.asked == ["q2", "q3"]
    assert announced == [2]
    assert again.run.id == first.run.id
    assert (again.run.counts.passed, again.run.counts.errored) == (3, 1)


async def test_what_is_complete_cannot_be_resumed_and_what_is_well_cannot_be_retried(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting())
    await start(work, asking(house(tmp_path), name="done"), unwatched)
    with pytest.raises(PlanRefused, match=r"run 'done' \(.+\) is complete: there is nothing to resume"):
        await resume(work, "done", unwatched)
    with pytest.raises(PlanRefused, match="run 'done' has no errored case to retry"):
        await retry(work, "done", unwatched)
    with pytest.raises(NotFound):
        await resume(work, "nobody", unwatched)


async def interrupted(work: Workspace, options: RunRequest, after: int) -> None:
    """Start a run and stop it when so many results are kept."""
    count = 0

    def watch(_: RunHandle) -> Progress:
        def stop(results: Sequence[Result]) -> None:
            nonlocal count
            count += len(results)
            if count >= after:
                raise asyncio.CancelledError

        return stop

    with pytest.raises(asyncio.CancelledError):
        await start(work, options, watch)


class Slow(Counting):
    """Lets the results be saved one by one."""

    async def open(self, case: Case) -> Any:
        await asyncio.sleep(0.05)
        return await super().open(case)


async def test_an_interrupted_run_is_resumed_with_nothing_repeated(tmp_path: Path) -> None:
    target = Slow()
    work = workplace(tmp_path, target)
    await interrupted(work, asking(house(tmp_path, 6)), after=2)
    before = [result.case.id for result in await kept(work)]
    async with await work.store() as store:
        assert (await store.find_run("latest")).state is RunState.INTERRUPTED
    target.asked.clear()
    done = await resume(work, "latest", unwatched)
    assert (done.run.state, done.run.counts.passed) == (RunState.COMPLETED, 6)
    assert len(before) >= 2
    assert not set(before) & set(target.asked)
    assert sorted(before + target.asked) == [f"q{number}" for number in range(1, 7)]


@pytest.mark.parametrize(
    ("file", "told"),
    [("house.jsonl", r"house\.jsonl has changed"), ("answers.jsonl", r"answers\.jsonl has changed")],
)
async def test_a_run_whose_files_changed_does_not_go_on(tmp_path: Path, file: str, told: str) -> None:
    work = workplace(tmp_path)
    said = answers(tmp_path / "answers.jsonl", {"q1": "A", "q2": "A bar."})
    judge = lines(tmp_path / "judge.jsonl", {"case_id": "q2", "grader": "reference_answer", "reply": "hard to say"})
    dataset = lines(tmp_path / "house.jsonl", mcq(1), reference_qa("q2"))
    await start(work, RunRequest(datasets=(dataset,), responses=(said,), judge=f"recorded:{judge}"), unwatched)
    path = tmp_path / file
    # Before what was there: a dataset that has only grown goes on with the part that it began with.
    path.write_text("\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(Conflict, match=told):
        await retry(work, "latest", unwatched)
    async with await work.store() as store:
        assert (await store.find_run("latest")).counts.errored == 1


async def test_a_dataset_that_is_gone_is_named_when_the_run_should_go_on(tmp_path: Path) -> None:
    work = workplace(tmp_path, breaking({"q1"}))
    dataset = house(tmp_path)
    await start(work, asking(dataset), unwatched)
    Path(dataset).unlink()
    with pytest.raises(NotFound, match=r"no such file: .*house\.jsonl"):
        await retry(work, "latest", unwatched)


async def test_repeats_have_answers_of_their_own(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    said = lines(
        tmp_path / "r.jsonl",
        *(
            {"case_id": f"q{case}", "repeat": repeat, "response_text": "A" if repeat != case else "B"}
            for case in (1, 2)
            for repeat in (1, 2, 3)
        ),
    )
    summary = await start(work, RunRequest(datasets=(house(tmp_path, 2),), responses=(said,), repeat=3), unwatched)
    assert (summary.run.counts.total, summary.run.counts.passed, summary.run.counts.failed) == (6, 4, 2)
    found = [(each.case.id, each.repeat, each.verdict.value, each.position) for each in await kept(work)]
    assert found == [
        ("q1", 1, "failed", 0),
        ("q1", 2, "passed", 1),
        ("q1", 3, "passed", 2),
        ("q2", 1, "passed", 3),
        ("q2", 2, "failed", 4),
        ("q2", 3, "passed", 5),
    ]
    with pytest.raises(PlanRefused, match=r"2 answers are missing: q1 \(repeat 4\), q2 \(repeat 4\)"):
        await start(work, RunRequest(datasets=(house(tmp_path, 2),), responses=(said,), repeat=4), unwatched)


async def test_answers_may_lie_in_several_files_and_candidates_may_be_chosen(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    files = (
        answers(tmp_path / "juno.jsonl", {"q1": "A", "q2": "A"}, candidate_name="juno"),
        answers(tmp_path / "orchid.jsonl", {"q1": "B", "q2": "A"}, candidate_name="orchid"),
    )
    dataset = house(tmp_path, 2)
    both = await start(work, RunRequest(datasets=(dataset,), responses=files), unwatched)
    assert {name: (each.passed, each.failed) for name, each in both.candidates.items()} == {
        "juno": (2, 0),
        "orchid": (1, 1),
    }
    assert [Path(pin.path).name for pin in both.run.pins.responses] == ["juno.jsonl", "orchid.jsonl"]
    one = await start(work, RunRequest(datasets=(dataset,), responses=files, candidates=("orchid",)), unwatched)
    assert (one.run.counts.total, one.run.pins.request.candidates) == (2, ("orchid",))
    with pytest.raises(PlanRefused, match="2 answers are missing: q1 by nobody, q2 by nobody"):
        await start(work, RunRequest(datasets=(dataset,), responses=files, candidates=("nobody",)), unwatched)


async def test_answers_of_an_earlier_run_are_graded_again_and_broken_ones_stay_broken(tmp_path: Path) -> None:
    target = breaking({"q2"})
    work = workplace(tmp_path, target)
    dataset = house(tmp_path, 3)
    first = await start(work, asking(dataset, name="live"), unwatched)
    target.asked.clear()
    again = await start(work, RunRequest(datasets=(dataset,), responses=("run:live",)), unwatched)
    assert target.asked == []
    assert (again.run.counts.passed, again.run.counts.errored) == (2, 1)
    (pin,) = again.run.pins.responses
    assert (pin.path, pin.sha256) == (f"run:{first.run.id}", first.run.id)
    broken = (await kept(work, again.run.id))[1]
    assert broken.failures[0].message == ("target 'counting': ConnectionError: refused")
    retried = await retry(work, again.run.id, unwatched)
    assert (retried.run.counts.passed, retried.run.counts.errored) == (2, 1)


async def test_answers_come_from_one_earlier_run_or_from_files(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting())
    dataset = house(tmp_path, 1)
    await start(work, asking(dataset, name="live"), unwatched)
    said = answers(tmp_path / "r.jsonl", {"q1": "A"})
    with pytest.raises(PlanRefused, match="one earlier run, or from files; not from both"):
        await start(work, RunRequest(datasets=(dataset,), responses=("run:live", said)), unwatched)
    with pytest.raises(NotFound):
        await start(work, RunRequest(datasets=(dataset,), responses=("run:nobody",)), unwatched)


async def test_the_answers_of_an_unfinished_run_do_not_cover_the_rest(tmp_path: Path) -> None:
    work = workplace(tmp_path, Slow())
    dataset = house(tmp_path, 6)
    await interrupted(work, asking(dataset, name="half"), after=2)
    with pytest.raises(PlanRefused, match=r"\d answers are missing: .*q6"):
        await start(work, RunRequest(datasets=(dataset,), responses=("run:half",)), unwatched)


OPEN = {
    "task_type": "reference_qa",
    "reference_answers": ["Three days"],
    "choices": None,
    "correct_choice_ids": None,
}


def open_question(folder: Path) -> str:
    question = {key: value for key, value in mcq(1, **OPEN).items() if value is not None}
    return lines(folder / "open.jsonl", question)


async def judged(work: Workspace, folder: Path, judge: str, record: Path | None = None) -> Summary:
    said = answers(folder / "r.jsonl", {"q1": "Three days"})
    options = RunRequest(
        datasets=(open_question(folder),), responses=(said,), judge=judge, record_judge=str(record or "")
    )
    return await start(work, options, unwatched)


async def test_judge_replies_are_recorded_and_replay_to_the_same_verdict(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    record = tmp_path / "judge.jsonl"
    first = await judged(work, tmp_path, "offline", record)
    replies = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert [(each["case_id"], each["grader"]) for each in replies] == [("q1", "reference_answer")]
    again = await judged(work, tmp_path, f"recorded:{record}")
    assert (again.run.counts.passed, again.run.counts.failed) == (first.run.counts.passed, first.run.counts.failed)
    assert again.run.pins.request.judge == f"recorded:{record}"


async def test_a_run_whose_recording_changed_does_not_go_on(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    record = tmp_path / "judge.jsonl"
    reply = {"case_id": "q1", "grader": "reference_answer", "reply": "no idea"}
    lines(record, reply)
    first = await judged(work, tmp_path, f"recorded:{record}")
    assert first.run.counts.errored == 1
    lines(record, {**reply, "reply": "no idea at all"})
    with pytest.raises(Conflict, match=r"the judge recorded:.*judge\.jsonl has changed"):
        await retry(work, "latest", unwatched)


def test_a_recording_appends_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    path.write_bytes(b"first\n")
    with open_reply_log(str(path)) as write:
        assert write is not None
        write(b"second")
        assert path.read_bytes() == b"first\nsecond\n"
        write(b"third\n")
    with open_reply_log(str(path)) as write:
        assert write is not None
        write(b"fourth")
    assert path.read_bytes() == b"first\nsecond\nthird\nfourth\n"


def test_no_recording_is_made_unasked_and_one_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with open_reply_log("") as write:
        assert write is None
    for path, told in ((tmp_path, "Is a directory"), (tmp_path / "no" / "where.jsonl", "No such file or directory")):
        wrong = f"--record-judge .*: cannot be written: {told}"
        with pytest.raises(PlanRefused, match=wrong), open_reply_log(str(path)):
            pass


async def test_a_run_goes_on_with_the_budget_it_had_unless_there_is_a_new_one(tmp_path: Path) -> None:
    """A budget that cannot be read is refused where a model would be asked; the pinned one stays as it was."""
    work = workplace(tmp_path, breaking({"q1"}))
    first = await start(work, asking(house(tmp_path), budget="10m"), unwatched)
    assert first.run.pins.request.budget == "10m"
    again = await retry(work, "latest", unwatched, budget="20m")
    assert again.run.pins.request.budget == "10m"
    assert again.run.counts.errored == 1


async def test_evals_of_ones_own_can_be_run_twice_in_one_workplace(tmp_path: Path) -> None:
    """The lines of a custom eval are read for each run; a second run must not find its own names taken."""
    evals = tmp_path / "evals.yaml"
    evals.write_text(
        "evals:\n  - name: tone\n    instructions: Is it kind?\n    inputs: {answer: answer}\n"
        "    scale: {min: 0, max: 1}\n",
        encoding="utf-8",
    )
    options = asking(house(tmp_path, 1), evals=(str(evals),))
    work = workplace(tmp_path, Counting())
    first = await start(work, options, unwatched)
    second = await start(work, options, unwatched)
    assert [pin.path for pin in second.run.pins.evals] == [str(evals)]
    assert first.run.pins.evals == second.run.pins.evals
