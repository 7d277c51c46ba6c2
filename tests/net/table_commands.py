"""Rows of the commands around a run: files, results, comparisons, gates, judges, and the service's keys."""

from __future__ import annotations

from typing import Any

from net.rows import Row
from net.table_run import SPELLED
from net.worlds import answers, entry, explained, question, rulings

RUN = "run cases.jsonl --responses answers.jsonl --name first --quiet"
BOTH = "run cases.jsonl --responses both.jsonl --name both --quiet"
BETTER = "run cases.jsonl --responses better.jsonl --name second --quiet"
BETTER_FILE = {"better.jsonl": answers(*((f"q{number}", "A") for number in (1, 2, 3, 4)))}
LOGS = [
    {"query": "Hi"},
    {"query": "Where is A1?", "expected_tool_use": [{"tool_name": "lookup", "tool_input": {"order": "A1"}}]},
]
RAW = {"logs.json": LOGS, "logs-array.json": '[{"query": "Hi"}, {"query": "Where is A1?"}]'}

COURIER = """
class Courier:
    name = "courier"


def register(kit):
    kit.kinds.add(Courier())
"""


def history(number: int, when: float) -> dict[str, Any]:
    """What `adk eval` leaves."""
    said = {"author": "user", "content": {"parts": [{"text": f"Refund {number}"}]}}
    done = {"author": "billing", "content": {"parts": [{"text": "Done."}]}}
    return {
        "eval_set_result_id": f"shop_run{number}",
        "creation_timestamp": when,
        "eval_case_results": [
            {
                "eval_set_id": "basic",
                "eval_id": f"refund{number}",
                "session_id": f"s{number}",
                "overall_eval_metric_results": [],
                "eval_metric_result_per_invocation": [],
                "session_details": {"id": f"s{number}", "app_name": "shop", "state": {}, "events": [said, done]},
            }
        ],
    }


HISTORIES = {
    "shop/.adk/eval_history/shop_run1.evalset_result.json": history(1, 1_700_000_000.0),
    "shop/.adk/eval_history/shop_run2.evalset_result.json": history(2, 1_800_000_000.0),
    "source/agent.py": 'from google.adk.agents import Agent\n\n\ndef refund(order: str) -> str:\n    """Pays back."""\n'
    '    return order\n\n\nroot_agent = Agent(name="shop", tools=[refund])\n',
}


def convert(option: str, shows: str, given: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    more = {"run": "convert logs-array.json -o out.json", "world": "nothing", "files": RAW, **more}
    return Row(f"convert {option}", shows, given, expect=expect, absent=absent, **more)


FILES = [
    Row("validate --dialect", "the file is read as what is said", "--dialect explain", "validate cases.jsonl --json",
        {"exit": 2, "valid": False, "files.0.dialect": "explain"},
        {"valid": True, "files.0.dialect": "legal", "files.0.cases": 4}),
    Row("validate --dialect", "a file that only importers know", "--dialect raw-logs",
        "validate logs-array.json --json", {"valid": True, "files.0.cases": 1}, {"exit": 2, "valid": False},
        world="nothing", files=RAW),
    convert("--input", "another name for FROM", "--input logs-array.json", {"file out.json": "Where is A1?"},
            {"exit": 2}, run="convert -o out.json"),
    convert("--to", "test-set", "--to test-set", {"file out.json": '"items"'}, {"file out.json": '"golden_questions"'},
            run="convert shop_golden.json -o out.json", world="golden", files={}, other="--to golden"),
    convert("--to", "golden", "--to golden", {"file out.json": '"golden_questions"'}, {"file out.json": '"items"'},
            other="--to test-set", run="convert shop_golden.json -o out.json", world="golden", files={}),
    convert("--to", "simulation", "--to simulation", {"file out.csv": "refund1"}, {"exit": 2},
            run="convert shop -o out.csv", files=HISTORIES),
    convert("--to", "explain", "--to explain", {"file out.jsonl": "case_id"}, {"exit": 2},
            run="convert cases.jsonl -o out.jsonl", world="explain", files={}),
    convert("--to", "legal", "--to legal", {"file out.jsonl": "legal_eval_v1"}, {"exit": 2},
            run="convert cases.jsonl -o out.jsonl", world="legal", files={}),
    convert("--to", "scenario-catalog", "--to scenario-catalog", {"file out.jsonl": "SCN-001"}, {"exit": 2},
            run="convert -o out.jsonl", files={}),
    convert("--output", "where to write", "--output there.json", {"file there.json": "Where is A1?"},
            {"no file there.json": ""}, run="convert logs-array.json", other="--output here.json"),
    convert("--from", "what FROM is", "--from raw-logs", {"file out.json": "Where is A1?"}, {"exit": 2},
            run="convert logs-array.json -o out.json", other="--from tau2"),
    convert("--agent", "the agent that the cases are for", "--agent shop", {"file out.json": '"shop"'},
            {"no file out.json": '"shop"'}),
    convert("--prefix", "what made-up ids begin with", "--prefix billing", {"file out.json": "billing_"},
            {"no file out.json": "billing_"}),
    convert("--metadata", "said of every case", "--metadata mood:calm", {"file out.json": '"calm"'},
            {"no file out.json": '"calm"'}),
    convert("--per", "turn: a question for each turn", "--per turn --json", {"written": 2}, {"written": 1},
            other="--per conversation --json"),
    convert("--per", "conversation: one question for each", "--per conversation --json", {"written": 1}, {"written": 2},
            other="--per turn --json"),
    convert("--run", "only histories of this run", "--run run2", {"written": 1, "file out.csv": "refund2"},
            {"written": 2}, run="convert shop --to simulation -o out.csv --json", files=HISTORIES),
    convert("--run", "latest", "--run latest", {"written": 1, "no file out.csv": "refund1"}, {"written": 2},
            run="convert shop --to simulation -o out.csv --json", files=HISTORIES),
    convert("--since", "only what was recorded since", "--since 2026-01-31",
            {"written": 1, "no file out.csv": "refund1"}, {"written": 2},
            run="convert shop --to simulation -o out.csv --json", files=HISTORIES),
    convert("--agent-dir", "the agent's source, for its tools", "--agent-dir source", {"file out.jsonl": "Pays back."},
            {"no file out.jsonl": "Pays back."}, run="convert shop --to simulation -o out.jsonl", files=HISTORIES),
    convert("--criteria", "the criteria of an eval set", "--criteria mine.json", {"file out.json": "safety_v1"},
            {"no file out.json": "safety_v1"}, run="convert turns.test.json -o out.json",
            files={"turns.test.json": RAW["logs-array.json"], "mine.json": '{"criteria": {"safety_v1": 0.5}}'}),
    convert("--append", "adds to a golden file", "--append --json", {"kept": 1}, {"exit": 2},
            run="convert logs-array.json -o out.json --per turn", before=("convert logs-array.json -o out.json",)),
    convert("--force", "overwrites a file that is there", "--force --json", {"written": 2}, {"exit": 2},
            run="convert logs-array.json -o out.json --per turn", before=("convert logs-array.json -o out.json",)),
    convert("--count", "how many scenarios", "--count 7", {"written": 7}, {"written": 30},
            run="convert --to scenario-catalog -o out.jsonl --json", files={}),
    convert("--seed", "which scenarios", "--seed 5", {"file out.jsonl": "AZ-305"}, {"no file out.jsonl": "AZ-305"},
            run="convert --to scenario-catalog -o out.jsonl --count 1", files={}),
    Row("sample --count", "how many cases", "-n 2", "sample cases.jsonl -o out.jsonl --json", {"cases": 2},
        {"cases": 3}, other="-n 3"),
    Row("sample --by", "from each group in proportion", "--by dataset", "sample cases.jsonl -n 2 -o out.jsonl --json",
        {"groups": {"house": 1, "crown": 1}}, {"groups": {}}),
    Row("sample --seed", "other cases", "--seed 3", "sample cases.jsonl -n 1 -o out.jsonl", {"file out.jsonl": '"q2"'},
        {"file out.jsonl": '"q4"'}),
    Row("sample --output", "where to write", "-o there.jsonl", "sample cases.jsonl -n 2", {"file there.jsonl": "q"},
        {"no file there.jsonl": ""}, other="-o here.jsonl"),
    Row("sample --force", "overwrites a file that is there", "--force",
        "sample cases.jsonl -n 2 -o answers.jsonl --json", {"cases": 2}, {"exit": 2}),
    Row("split --by", "a file for each value of a label", "--by dataset", "split cases.jsonl", {"out": "crown"},
        {"no out": "crown"}, other="--share 0.5"),
    Row("split --share", "two files, by share", "--share 0.75", "split cases.jsonl --json",
        {"0.cases": 3, "1.cases": 1}, {"0.cases": 2, "1.cases": 2}, other="--share 0.5"),
    Row("split --seed", "other cases", "--seed 3", "split cases.jsonl --share 0.25", {"file cases.a.jsonl": '"q2"'},
        {"file cases.a.jsonl": '"q4"'}),
    Row("split --output", "where to write", "-o parts", "split cases.jsonl --by dataset", {"out": "parts/"},
        {"no out": "parts/"}, files={"parts/readme": "x"}),
    Row("split --force", "overwrites files that are there", "--force", "split cases.jsonl --by dataset --json",
        {"#": 2}, {"exit": 2}, before=("split cases.jsonl --by dataset",)),
    Row("merge --output", "where to write", "-o there.jsonl", "merge cases.jsonl essay.jsonl",
        {"file there.jsonl": '"w1"'}, {"no file there.jsonl": ""}, other="-o here.jsonl"),
    Row("merge --force", "overwrites a file that is there", "--force", "merge cases.jsonl essay.jsonl -o answers.jsonl",
        {"file answers.jsonl": '"w1"'}, {"exit": 2, "no file answers.jsonl": '"w1"'}),
    Row("init --force", "overwrites files that are there", "--force", "init", {"no file howsure.yaml": "mine: 1"},
        {"exit": 2, "file howsure.yaml": "mine: 1"}, world="nothing", files={"howsure.yaml": "mine: 1"}),
    Row("init --json", "what was written, as JSON", "--json", "init", {"written.#": 4}, {"out": "wrote"},
        world="nothing"),
    Row("schema --config", "settings bring kinds of their own", "--config other.yaml", "schema settings",
        {"out": '"courier"'}, {"no out": '"courier"'}, world="nothing",
        files={"other.yaml": "plugins: [courier.py]", "courier.py": COURIER}),
]  # fmt: skip

LISTS = [
    Row("runs --limit", "the newest one", "--limit 1", "runs --json", {"#": 1, "0.name": "both"}, {"#": 2},
        before=(RUN, BOTH)),
    Row("runs --agent-id", "only runs of this agent", "--agent-id desk", "runs --json", {"#": 1, "0.agent_id": "desk"},
        {"#": 2}, world="test-set", files={"plain.json": {"name": "Plain", "items": [entry(1, "Hi")]}},
        before=("run set.json --responses answers.jsonl --agent agent.json --judge none --quiet",
                "run plain.json --target function:bot.py:answer --judge none --quiet")),
    *(
        Row("runs --state", f"{state}: none is like that", f"--state {state}", "runs --json", {"#": 0}, {"#": 1},
            before=(RUN,))
        for state in ("pending", "running", "failed", "interrupted", "out_of_budget", "paused", "cancelled")
    ),
    Row("runs --state", "completed", "--state completed", "runs --json", {"#": 1}, {"#": 0}, other="--state failed",
        before=(RUN,)),
    Row("show --candidate", "only what this candidate made of the case", "--candidate orchid", "show latest q1 --json",
        {"#": 1, "0.candidate": "orchid"}, {"#": 2}, before=(BOTH,)),
    Row("show --by", "the run by this label", "--by task_type", "show latest", {"out": "by task_type"},
        {"no out": "by task_type"}, before=(RUN,)),
    Row("results --json", "one array", "--json", "results", {"#": 4}, {"out": '{"'}, other="--ndjson", before=(RUN,)),
    Row("results --ndjson", "one object a line", "--ndjson", "results", {"no out": "[ {"}, {"out": "[ {"},
        before=(RUN,)),
    Row("results --canonical", "without ids and times", "--canonical", "results", {"no out": "run_id"},
        {"out": "run_id"}, before=(RUN,)),
    *(
        Row("results --verdict", f"{verdict}: {number} of four", f"--verdict {verdict}", "results --json",
            {"#": number}, {"#": 4}, before=(RUN,))
        for verdict, number in (("passed", 3), ("failed", 1), ("errored", 0), ("skipped", 0))
    ),
    Row("report --output", "where to", "-o there.md", "report latest", {"file there.md": "q2"},
        {"no file there.md": "", "file report.html": "q2"}, before=(RUN,)),
    Row("report --format", "how, whatever the ending", "--format csv", "report latest -o there.txt",
        {"file there.txt": "q2"}, {"exit": 2}, before=(RUN,)),
    Row("report --baseline", "what changed since", "--baseline first", "report second -o there.md",
        {"file there.md": "first"}, {"no file there.md": "first"}, files=BETTER_FILE, before=(RUN, BETTER)),
    *(
        Row("report --artifacts", f"{kind}: the files of that system", f"--artifacts {kind}", "report latest -o there",
            {f"file there/{name}": ""}, {"exit": 2}, world=world, before=(before,))
        for kind, name, world, before in (
            ("legal", "summary.json", "legal", RUN),
            ("golden", "eval_summary.json", "golden", "run shop_golden.json --responses answers.jsonl --quiet"),
            ("explain", "eval-report-*.json", "explain", "run cases.jsonl --judge recorded:judge.jsonl --quiet"),
            ("azure", "azure_results.json", "explain", "run cases.jsonl --judge recorded:judge.jsonl --quiet"),
            ("every-eval-ever", "cases/unknown/unknown/*.json", "legal", RUN),
        )
    ),
    *(
        Row("export --to", f"{kind}: what that tool reads", f"--to {kind}", "export latest -o there",
            {"file there": told}, {"no file there": told}, other="--to csv", before=(RUN,))
        for kind, told in (("inspect", "header.json"), ("promptfoo", "howsure-"), ("otlp", "gen_ai.evaluation.result"))
    ),
    Row("export --output", "where to", "-o there.eval", "export latest --to inspect", {"file there.eval": "samples/q2"},
        {"exit": 2}, before=(RUN,)),
    Row("export --candidate", "one of several", "--candidate juno", "export both --to openai-evals -o there",
        {"file there": "final_report"}, {"exit": 2}, before=(BOTH,)),
    Row("card --agent", "the agent that this file describes", "--agent agent.json", "card", {"out": "Refund desk"},
        {"exit": 2}, world="test-set"),
    Row("card --output", "written instead", "-o card.md", "card --agent agent.json",
        {"file card.md": "Refund desk", "no out": "Refund desk"}, {"out": "Refund desk"}, world="test-set"),
    Row("doctor --target", "the target is asked, too", "--target function:gone.py:answer", "doctor --json",
        {"exit": 2, "healthy": False}, {"healthy": True}),
]  # fmt: skip
PAIRED = "compare first second --json"
BOTH_AGENTS = ("learning-path-curator", "study-plan-generator")
AGENTS = {
    "cases.jsonl": [explained(1, agent_name=name) for name in BOTH_AGENTS],
    "judge.jsonl": [
        ruling
        for grader in ("CoherenceExplain", "RelevanceExplain")
        for ruling in rulings(grader, *((f"{name}-001", {"score": 4}) for name in BOTH_AGENTS))
    ],
}
COMPARING = [
    Row("compare --by", "also by this label", "--by dataset", "compare first second", {"out": "crown"},
        {"no out": "crown"}, files=BETTER_FILE, before=(RUN, BETTER)),
    Row("compare --by", "a label that no case has is refused", "--by nonsense", "compare first second",
        {"exit": 2, "err": "nonsense"}, {}, files=BETTER_FILE, before=(RUN, BETTER), guards="compare --by nonsense"),
    Row("compare --pair", "inside one run, groups are paired", "--pair scenario_id",
        "compare latest --by agent_name --json", {"out": "study-plan-generator"}, {"exit": 2}, world="explain",
        files=AGENTS, before=("run cases.jsonl --judge recorded:judge.jsonl --quiet",)),
    Row("compare --base", "the group to start from", "--base study-plan-generator",
        "compare latest --by agent_name --pair scenario_id --json",
        {"comparisons.0.first.name": "study-plan-generator"}, {"comparisons.0.first.name": "learning-path-curator"},
        world="explain", files=AGENTS, before=("run cases.jsonl --judge recorded:judge.jsonl --quiet",)),
    Row("compare --candidate", "one run's candidate with the other's", "--candidate juno=orchid", "compare both --json",
        {"out": "orchid"}, {"exit": 2}, before=(BOTH,)),
    Row("compare --cluster", "cases of one area belong together", "--cluster dataset", PAIRED, {"out": '"dataset"'},
        {"no out": '"dataset"'}, files=BETTER_FILE, before=(RUN, BETTER)),
    Row("compare --margin", "a difference up to this counts as none", "--margin 0.9", PAIRED,
        {"comparisons.0.conclusion": "equal"}, {"comparisons.0.conclusion": "cannot_tell"}, files=BETTER_FILE,
        before=(RUN, BETTER)),
    Row("compare --confidence", "how sure intervals are to be", "--confidence 0.8", PAIRED,
        {"comparisons.0.verdict.interval.0": -0.1138}, {"comparisons.0.verdict.interval.0": -0.3624}, files=BETTER_FILE,
        before=(RUN, BETTER)),
    Row("compare --output", "also written", "-o there.md", "compare first second", {"file there.md": "second"},
        {"no file there.md": ""}, files=BETTER_FILE, before=(RUN, BETTER)),
    Row("trend --dataset", "the runs over this dataset", "--dataset cases.jsonl", "trend --json", {"out": "first"},
        {"exit": 2}, before=(RUN,)),
    Row("trend --candidate", "only this candidate", "--candidate orchid", "trend both --json", {"out": "0.0 % now"},
        {"exit": 2}, before=(BOTH,)),
    Row("trend --limit", "the newest two", "--limit 2", "trend same --json", {"runs.#": 2}, {"runs.#": 3},
        before=tuple(RUN.replace("--name first", "--name same") for _ in range(3))),
    Row("gate --gate", "what the run is held to", "--gate 'pass_rate >= 99%'", "gate both --json",
        {"exit": 100, "gates.1.expression": "pass_rate >= 99%"}, {"gates.0.expression": "errors <= 0"},
        before=(BOTH + " --gate 'errors <= 0'",)),
    Row("gate --anytime", "with an interval that holds at every look", "--anytime",
        "gate both --gate 'pass_rate[candidate:orchid] >= 0.9' --json", {"exit": 100, "gates.0.looks": [2, 4]},
        {"exit": 100, "gates.0.looks": "nothing"}, before=(BOTH,)),
    Row("compare --watch", "until it is sure, or both runs have ended", "--watch", PAIRED,
        {"differences.0.conclusion": "cannot_tell", "differences.0.pairs": 4},
        {"comparisons.0.conclusion": "cannot_tell"}, files=BETTER_FILE, before=(RUN, BETTER)),
]  # fmt: skip
PLANNING = [
    Row("plan --difference", "the difference to see", "--difference 5%", "plan --json", {"out": "0.05"}, {"out": "0.2"},
        other="--difference 20%"),
    Row("plan --rate", "the pass rate to start from", "--rate 50%", "plan --difference 10% --json", {"rate": 0.5},
        {"rate": 0.8}),
    Row("plan --power", "the chance to see it", "--power 95%", "plan --difference 10% --json", {"power": 0.95},
        {"power": 0.8}),
    Row("plan --paired", "both try the same cases", "--paired", "plan --difference 10% --json", {"paired": True},
        {"paired": False}),
    Row("plan --from", "the pass rate of a run", "--from first", "plan --difference 10% --json", {"rate": 0.75},
        {"rate": 0.8}, before=(RUN,)),
    Row("plan --candidate", "which candidate of the run", "--candidate juno",
        "plan --difference 10% --from both --json", {"rate": ...}, {"exit": 2}, before=(BOTH,)),
    Row("plan --discordance", "on how many cases the runs differ", "--discordance 30%",
        "plan --difference 10% --paired --json", {"discordance": 0.3}, {}),
    Row("plan --correlation", "how alike two tries of a case are", "--correlation 0.9", "plan --difference 10% --json",
        {"correlation": 0.9}, {}),
    Row("plan --repeats", "tries of each case", "--repeats 4", "plan --difference 10% --json", {"sizes.#": 1},
        {"sizes.#": 4}),
]  # fmt: skip
BROKEN_BOT = "def answer(text):\n    raise RuntimeError('asleep')\n"
ONCE_BOT = """
from pathlib import Path


def answer(text):
    if Path("awake").exists():
        return "Answer: A"
    Path("awake").touch()
    raise RuntimeError("asleep")
"""
ERRORED = "! run case.jsonl --target function:once.py:answer --name first --quiet"
AGAIN = {**SPELLED, "once.py": ONCE_BOT}
JUDGED = "run essay.jsonl --responses essay-answers.jsonl --judge openai-compatible:judge --max-concurrency 1"
STOPPED = "! " + JUDGED + " --budget 100tok --name first --quiet"


def again(command: str, option: str, shows: str, given: str, expect: dict[str, Any], absent: dict[str, Any],
          **more: Any) -> Row:  # fmt: skip
    """A row of `resume`, over a run that ran out of its budget, or of `retry`, over one that errored."""
    base: dict[str, Any] = {"run": "resume --budget 100ktok --json", "before": (STOPPED,)}
    if command == "retry":
        base = {"run": "retry --errors --json", "before": (ERRORED,), "files": AGAIN}
    return Row(f"{command} {option}", shows, given, expect=expect, absent=absent, **{**base, **more})


# The agent is asleep in the run that is tried again; what the judge says of its answer is in the cache.
TOLD = "run essay.jsonl --judge openai-compatible:judge --max-concurrency 1 --quiet --target function:"
ASLEEP: dict[str, Any] = {
    "files": {"once.py": ONCE_BOT, "steady.py": "def answer(text):\n    return 'Answer: A'\n"},
    "before": (TOLD + "steady.py:answer", "! " + TOLD + "once.py:answer"),
}
PLAIN = {"resume": "resume --budget 100ktok", "retry": "retry --errors"}
AGAIN_ROWS = [
    again("resume", "--budget", "a new budget, for all of the run", "--budget 100ktok", {"state": "completed"},
          {"exit": 2, "state": "out_of_budget"}, run="resume --json"),
    again("retry", "--errors", "the errored cases are tried again", "--errors", {"passed": 1}, {"exit": 2},
          run="retry --json"),
    *(
        again(command, option, shows, given, expect, absent, **more)
        for command in ("resume", "retry")
        for option, shows, given, expect, absent, more in (
            ("--gate", "the run is held to it", "--gate 'errors <= 0'", {"gates.0.outcome": "held"}, {"gates": []}, {}),
            ("--engine", "ray: needs the extra", "--engine ray", {"exit": 2, "out": "howsure[ray]"},
             {"state": "completed"}, {}),
            ("--engine", "local", "--engine local", {"state": "completed"}, {"exit": 2}, {"other": "--engine ray"}),
            ("--output", "also written", "-o there.md", {"file there.md": ""}, {"no file there.md": ""}, {}),
            ("--json", "the run as JSON", "--json", {"total": 1}, {"is json": False}, {"run": PLAIN[command]}),
            ("--quiet", "no progress and no summary", "--quiet", {"no out": "skipped"}, {"out": "skipped"},
             {"run": PLAIN[command]}),
        )
    ),
    again("resume", "--trace", "calls of models are written down", "--trace calls.jsonl", {"file calls.jsonl": "judge"},
          {"no file calls.jsonl": ""}),
    again("resume", "--record-judge", "replies are written down", "--record-judge said.jsonl",
          {"file said.jsonl": "weighted_criteria"}, {"no file said.jsonl": ""}),
    again("resume", "--no-cache", "models are asked anew", "--no-cache", {"spent.cached": 0}, {"spent.cached": 1}),
    again("retry", "--budget", "a new budget: one that is too small", "--budget 1tok --no-cache",
          {"exit": 2, "state": "out_of_budget"}, {"state": "completed"}, other="--no-cache", **ASLEEP),
    again("retry", "--trace", "calls of models are written down", "--no-cache --trace calls.jsonl",
          {"file calls.jsonl": "judge"}, {"no file calls.jsonl": ""}, **ASLEEP),
    again("retry", "--no-cache", "new replies are not kept", "--no-cache", {"replies": 0}, {"replies": 2},
          **{**ASLEEP, "before": ASLEEP["before"][1:]}, look="cache --json"),
    again("retry", "--record-judge", "replies are written down", "--record-judge said.jsonl",
          {"file said.jsonl": "weighted_criteria"}, {"no file said.jsonl": ""}, **ASLEEP),
]  # fmt: skip
KEYS = [
    Row("keys create --name", "whose it is", "--name ana", "keys create --scope read --json", {"out": '"ana"'},
        {"out": '"bob"'}, other="--name bob"),
    *(
        Row("keys create --scope", f"{scope}: what it opens", f"--scope {scope}", "keys create --name ana --json",
            {"out": f'"{scope}"'}, {"no out": f'"{scope}"'},
            other="--scope read" if scope != "read" else "--scope admin")
        for scope in ("read", "label", "write", "run", "admin")
    ),
    *(
        Row("keys create --role", f"{role}: what it opens", f"--role {role}", "keys create --name ana --json",
            {"out": f'"role": "{role}"'}, {"out": '"role": null'}, other="--scope run")
        for role in ("viewer", "labeller", "editor", "runner", "admin")
    ),
    Row("keys create --organization", "only what belongs to it", "--organization acme",
        "keys create --name ana --scope read --json", {"out": '"acme"'}, {"no out": '"acme"'}),
    Row("keys create --agent", "only these agents", "--agent desk", "keys create --name ana --scope read --json",
        {"out": '"desk"'}, {"no out": '"desk"'}),
    Row("keys create --days", "how long it opens anything", "--days 0.00000001", "keys create --name ana --scope read",
        {"out": "expired"}, {"out": "open"}, look="keys list"),
    *(
        Row(f"keys password {option}", shows, given, "keys password ana --json", {"out": told}, {"no out": told},
            other=other, stdin="long enough 1\nlong enough 1\n")
        for option, shows, given, told, other in (
            ("--scope", "read: what it opens", "--scope read", '"read"', "--scope admin"),
            ("--scope", "label: what it opens", "--scope label", '"label"', "--scope read"),
            ("--scope", "write: what it opens", "--scope write", '"write"', "--scope read"),
            *(
                ("--role", f"{role}: what it opens", f"--role {role}", f'"role": "{role}"', "--scope run")
                for role in ("viewer", "labeller", "editor", "runner", "admin")
            ),
            ("--scope", "run: what it opens", "--scope run", '"run"', "--scope read"),
            ("--scope", "admin: what it opens", "--scope admin", '"admin"', "--scope read"),
            ("--organization", "only what belongs to it", "--scope read --organization acme", '"acme"', "--scope read"),
            ("--agent", "only these agents", "--scope read --agent desk", '"desk"', "--scope read"),
            ("--days", "how long it opens anything", "--scope read --days 3", '"expires_at": "2', "--scope read"),
        )
    ),
    Row("db backup --force", "replaces a file that is there", "--force", "db backup answers.jsonl --json",
        {"bytes": ...}, {"exit": 2}, before=(RUN,)),
    Row("db check --mark", "lets damaged results count as such", "--mark", "db check", {"out": "marked as damaged"},
        {"no out": "marked as damaged"}, before=(RUN,)),
    Row("db purge --dry-run", "takes nothing out", "--dry-run", "db purge", {"out": "first"}, {"no out": "first"},
        settings="service: {retention: {runs: 0d}}", before=(RUN,), look="runs"),
    Row("erase --user", "whose conversations", "--user ada", "erase --json", {"results": 1}, {"results": 0},
        other="--user bob", before=("run who.jsonl --responses answers.jsonl --quiet",),
        files={"who.jsonl": [{**question(1), "user_id": "ada"}]}),
    Row("erase --dry-run", "erases nothing", "--dry-run", "erase --user ada", {"results": 1}, {"results": 0},
        before=("run who.jsonl --responses answers.jsonl --quiet",),
        files={"who.jsonl": [{**question(1), "user_id": "ada"}]}, look="erase --user ada --json"),
    Row("audit verify --head", "shows that the end was cut", "--head head.json", "audit verify",
        {"exit": 2, "out": "its end was cut off"}, {"out": "ok"}, before=(RUN,),
        files={"head.json": {"sequence": 99, "hash": "ab"}}),
    Row("audit head --output", "where to", "-o there.json", "audit head", {"file there.json": '"hash"'},
        {"no file there.json": ""}, before=(RUN,)),
    Row("audit export --output", "where to", "-o there.jsonl", "audit export", {"file there.jsonl": '"hash"'},
        {"no file there.jsonl": ""}, before=(RUN,)),
    Row("audit list --limit", "how many entries", "--limit 1", "audit list", {"no out": "keys-create"},
        {"out": "keys-create"}, before=("keys create --name ana --scope read", RUN)),
    Row("cache --clear", "forgets replies", "--clear", "cache --json", {"replies": 0, "forgotten": 1}, {"replies": 1},
        before=("run why.jsonl --responses why-answers.jsonl --judge openai-compatible:judge --quiet",)),
    Row("cache --older-than", "only older ones", "--older-than 1", "cache --clear --json", {"replies": 1},
        {"replies": 0},
        before=("run why.jsonl --responses why-answers.jsonl --judge openai-compatible:judge --quiet",)),
]  # fmt: skip
ROWS = [*FILES, *LISTS, *COMPARING, *PLANNING, *AGAIN_ROWS, *KEYS]
