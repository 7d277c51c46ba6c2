"""Rows of documented values: gates, report formats, dialects, built-in profiles, and what wins over what."""

from __future__ import annotations

from net.rows import Row
from net.table_commands import RUN
from net.table_run import EXPLAIN, TEST_SET
from net.worlds import SECOND

THRICE = "run cases.jsonl --target function:bot.py:answer --repeat 3 --name first --quiet"
AGAIN = f"{RUN.replace('first', 'base')} && {RUN}"
RULED = TEST_SET.replace("--json", "--rubric rubric.json --name first --quiet")
MEASURED = "run shop_golden.json --responses answers.jsonl --name first --quiet"
PRICED = "run why.jsonl --responses why-answers.jsonl --judge openai-compatible:judge --name first --quiet"
GATES = [
    # The run, the gate that holds or fails, its exit code, another limit of it, and its exit code.
    ("legal", RUN, "pass_rate >= 1%", 0, "pass_rate >= 90%", 101),
    ("legal", RUN, "pass_rate[choice] >= 1%", 0, "pass_rate[choice] >= 90%", 101),
    ("legal", RUN, "pass_rate[dataset:house] >= 1%", 0, "pass_rate[dataset:house] >= 90%", 101),
    ("legal", RUN, "mean[choice] >= 0", 0, "mean[choice] >= 0.99", 101),
    ("legal", RUN, "errors <= 1%", 0, "errors <= 1% ; ", 2),
    ("legal", RUN, "errors <= 3", 0, "errors <= -1", 2),
    ("legal", AGAIN, "no_regression vs base by 90%", 0, "no_regression vs base by 1%", 101),
    ("legal", RUN, "p95_latency <= 3s", 101, "pass_rate >= 1%", 0),
    ("legal", PRICED, "tokens <= 500k", 0, "tokens <= 1", 100),
    ("legal", PRICED, "cost <= 2 USD", 101, "tokens <= 500k", 0),
    ("legal", THRICE, "pass^3 >= 1%", 0, "pass^3 >= 99.9%", 101),
    ("legal", THRICE, "pass@3 >= 1%", 0, "pass@3 >= 99.9%", 101),
    ("test-set", RULED, "rule:KIND all", 0, "rule:BRIEF all", 100),
    ("test-set", RULED, "pass_rate[rule:KIND] >= 1%", 0, "pass_rate[rule:BRIEF] >= 99%", 100),
    ("test-set", RULED, "pass_rate[tag:money] >= 1%", 0, "pass_rate[tag:nobody] >= 1%", 101),
]
FORMATS = {
    "html": "<!doctype html>",
    "markdown": "# first",
    "markdown-full": "## ",
    "junit": "<testsuite",
    "csv": "q2,",
    "jsonl": '{"result_id"',
    "json": '"run"',
    "canonical": '"q2"',
    "parquet": "PAR1",
    "every-eval-ever": '"schema_version"',
    "inspect": "header.json",
    "promptfoo": '"evalId"',
    "openai-evals": '"final_report"',
    "langsmith": '"experiment_name"',
    "deepeval": '"actual_output"',
    "otlp": '"resourceSpans"',
}
DIALECTS = (
    ("legal", "legal", "cases.jsonl"),
    ("explain", "explain", "cases.jsonl"),
    ("golden", "golden", "shop_golden.json"),
    ("simulation", "simulation", "talks.jsonl"),
    ("test-set", "test-set", "set.json"),
)
ROWS = [
    *(
        Row("gate --gate", f"{held} ({code}), {other} ({otherwise})", f'--gate "{held}"', "gate first", {"exit": code},
            {"exit": otherwise}, other=f'--gate "{other}"', world=world, before=tuple(before.split(" && ")))
        for world, before, held, code, other, otherwise in GATES
    ),
    *(
        Row("report --format", f"{name}: a file of that kind", f"--format {name}", "report first -o there.x",
            {"file there.x": told}, {"no file there.x": told},
            other="--format csv" if name != "csv" else "--format html", before=(RUN,))
        for name, told in FORMATS.items()
    ),
    *(
        Row("validate --dialect", f"{name}: the file is one", f"--dialect {name}", f"validate {file} --json",
            {"valid": True}, {"exit": 2, "valid": False},
            other="--dialect explain" if name != "explain" else "--dialect legal", world=world)
        for name, world, file in DIALECTS
    ),
    Row("run --profile", "assessment_strict: the composite is (4 · 0.10 + 3 · 0.14) / 0.24 = 3.4167",
        "--profile assessment_strict", EXPLAIN, {"scores": {f"{SECOND} composite": 3.4167}},
        {"scores": {f"{SECOND} composite": 3.4}}, other="--profile prep_default", world="explain"),
    Row("run --profile", "prep_default: the composite is (4 · 0.10 + 3 · 0.15) / 0.25 = 3.4",
        "--profile prep_default", EXPLAIN, {"scores": {f"{SECOND} composite": 3.4}},
        {"scores": {f"{SECOND} composite": 3.4167}}, other="--profile assessment_strict", world="explain"),
    Row("run --target", "adk: an agent behind an ADK API server answers", "--target adk:$BOT/adk/shop",
        "run set.json --judge none --json", {"skipped": 2}, {"exit": 2},
        world="test-set"),
    Row("run --judge", "what is typed wins over the settings", "--judge recorded:judge.jsonl",
        "run set.json --responses answers.jsonl --json", {"passed": 1, "failed": 1}, {"skipped": 2},
        settings="judge: none", world="test-set"),
    Row("run --database", "what is typed wins over the settings", "--database there.db",
        "run cases.jsonl --responses answers.jsonl --json", {"file there.db": "SQLite", "no file here.db": ""},
        {"file here.db": "SQLite"}, settings="database: here.db"),
    Row("run --max-concurrency", "what is typed wins over the settings", "--max-concurrency 3",
        "run cases.jsonl --responses answers.jsonl --json", {"concurrency": 3}, {"concurrency": 5},
        settings="max_concurrency: 5"),
]  # fmt: skip
