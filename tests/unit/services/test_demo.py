"""The demo: all five datasets, run as `howsure run` would, each with a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.reports.figures import pass_rate_of
from howsure.services.demo import DEMOS, Demo, demo_commands, demo_folder, demo_request, run_demos
from unit.services.places import unwatched, workplace

README = Path(__file__).parents[3] / "README.md"
IDS = [demo.dialect for demo in DEMOS]


@pytest.mark.parametrize("demo", DEMOS, ids=IDS)
def test_every_file_a_demo_names_is_there(demo: Demo) -> None:
    for name in (demo.dataset, demo.responses, demo.judge, demo.rubric, demo.agent):
        assert not name or (demo_folder() / name).is_file(), name


def test_there_is_one_demo_for_each_dialect() -> None:
    assert IDS == ["explain", "golden", "simulation", "test-set", "legal"]


def test_the_options_of_a_demo_are_those_of_the_command_that_is_shown() -> None:
    demo = next(each for each in DEMOS if each.dialect == "test-set")
    base = demo_folder() / "test-set"
    assert list(demo_commands(demo)) == [
        f"howsure run {base / 'test-set.json'}",
        f"--responses {base / 'responses.jsonl'}",
        f"--rubric {base / 'rubric.json'}",
        f"--agent {base / 'agent.json'}",
        f"--judge recorded:{base / 'judge.jsonl'}",
    ]
    made = demo_request(demo)
    assert made.datasets == (str(base / "test-set.json"),)
    assert made.responses == (str(base / "responses.jsonl"),)
    assert (made.rubric, made.agent) == (str(base / "rubric.json"), str(base / "agent.json"))
    assert (made.judge, made.name) == (f"recorded:{base / 'judge.jsonl'}", "demo test-set")


def test_a_demo_that_brings_its_answers_needs_nothing_else() -> None:
    demo = next(each for each in DEMOS if each.dialect == "simulation")
    assert list(demo_commands(demo)) == [f"howsure run {demo_folder() / demo.dataset}"]
    assert (demo_request(demo).responses, demo_request(demo).judge, demo_request(demo).rubric) == ((), "", "")


async def test_the_demos_are_kept_each_has_a_page_and_ends_as_the_readme_says(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    done = await run_demos(work, unwatched, tmp_path / "pages" / "deep")
    assert [(demo.dialect, summary.run.counts.total) for demo, summary, _ in done] == [
        ("explain", 20),
        ("golden", 16),
        ("simulation", 13),
        ("test-set", 12),
        ("legal", 72),
    ]
    for demo, summary, page in done:
        assert page == tmp_path / "pages" / "deep" / f"{demo.dialect}.html"
        assert summary.run.id in page.read_text(encoding="utf-8")
        assert summary.run.counts.pending == 0
    async with await work.store(read_only=True) as store:
        assert [run.name for run in await store.runs()] == [f"demo {name}" for name in reversed(IDS)]
    shown = README.read_text(encoding="utf-8").partition("dialect     cases")[2].splitlines()[1:6]
    ended = []
    for demo, summary, _ in done:
        counts, rate = summary.run.counts, pass_rate_of(summary.run.counts)
        numbers = (counts.total, counts.passed, counts.failed, counts.errored, counts.skipped)
        ended.append([demo.dialect, *map(str, numbers), *f"{rate.percent} [{rate.bounds}]".split()])
    assert [line.split() for line in shown] == ended
