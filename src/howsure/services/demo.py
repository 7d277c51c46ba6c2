"""`howsure demo`: the datasets of one invented company, one for each dialect, with recorded answers and judge
replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from howsure.model.run_request import RunRequest
from howsure.model.summary import Summary
from howsure.services.report import write_reports
from howsure.services.run.execute import Progress, RunHandle
from howsure.services.run.start import start
from howsure.services.workspace import Workspace


class Demo(Struct, frozen=True):
    """One dataset and its files; paths are relative to the demo's folder."""

    dialect: str
    dataset: str
    responses: str = ""
    judge: str = ""
    rubric: str = ""
    agent: str = ""


DEMOS = (
    Demo("explain", "explain/support-onboarding.explain.jsonl", judge="explain/judge.jsonl"),
    Demo("golden", "golden/moss_support_golden.json", responses="golden/responses.jsonl", judge="golden/judge.jsonl"),
    Demo("simulation", "simulation/support-simulation.csv"),
    Demo(
        "test-set",
        "test-set/test-set.json",
        responses="test-set/responses.jsonl",
        judge="test-set/judge.jsonl",
        rubric="test-set/rubric.json",
        agent="test-set/agent.json",
    ),
    Demo("legal", "legal/compliance.jsonl", responses="legal/responses.jsonl", judge="legal/judge.jsonl"),
)


def demo_folder() -> Path:
    return Path(str(files("howsure") / "demo"))


def demo_request(demo: Demo) -> RunRequest:
    """The run of one demo dataset, as `howsure run` would make it."""
    base = demo_folder()
    return RunRequest(
        datasets=(str(base / demo.dataset),),
        dialect=demo.dialect,
        responses=(str(base / demo.responses),) if demo.responses else (),
        judge=f"recorded:{base / demo.judge}" if demo.judge else "",
        rubric=str(base / demo.rubric) if demo.rubric else "",
        agent=str(base / demo.agent) if demo.agent else "",
        name=f"demo {demo.dialect}",
    )


async def run_demos(
    work: Workspace, watch: Callable[[RunHandle], Progress], reports: Path
) -> list[tuple[Demo, Summary, Path]]:
    """Run all five, and write a page for each."""
    reports.mkdir(parents=True, exist_ok=True)
    done = []
    for demo in DEMOS:
        summary = await start(work, demo_request(demo), watch)
        page = reports / f"{demo.dialect}.html"
        await write_reports(work, summary.run.id, [str(page)])
        done.append((demo, summary, page))
    return done


def demo_commands(demo: Demo) -> Iterator[str]:
    """The `howsure run` command that does the same, a part at a time."""
    base = demo_folder()
    yield f"howsure run {base / demo.dataset}"
    for option, value in (("responses", demo.responses), ("rubric", demo.rubric), ("agent", demo.agent)):
        if value:
            yield f"--{option} {base / value}"
    if demo.judge:
        yield f"--judge recorded:{base / demo.judge}"
