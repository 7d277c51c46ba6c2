"""Rows of `howsure judge`, `howsure triage`, `howsure ci`, `howsure demo` and the service's programs."""

from __future__ import annotations

from typing import Any

from net.rows import Row
from net.table_commands import RUN
from net.table_common import FILES, LABELS
from net.worlds import answers

TWO = [{**row, "candidate_name": name} for name in ("juno", "orchid") for row in answers(("t1", "Yes."), ("t2", "No."))]
RULE_LABELS = [{**label, "grader": "rubric", "criterion_id": "KIND"} for label in LABELS]
OTHERS = {"labels.jsonl": LABELS, "rule-labels.jsonl": RULE_LABELS, "two.jsonl": TWO, **FILES}
JUDGE = "--judge recorded:judge.jsonl"
LIVE = "--judge openai-compatible:judge"
BASES = {
    "judge calibrate": f"judge calibrate labels.jsonl set.json {JUDGE}",
    "judge migrate": "judge migrate recorded:judge.jsonl recorded:judge.jsonl labels.jsonl set.json",
    "judge test": "judge test set.json --judge offline --json",
}
ENDS = {"judge calibrate": 0, "judge migrate": 101, "judge test": 0}
ANSWERED = " --responses answers.jsonl"


def judged(command: str, option: str, shows: str, given: str, expect: dict[str, Any], absent: dict[str, Any],
           **more: Any) -> Row:  # fmt: skip
    """A row of an option of judge commands that says which answers are judged: the run that is made is looked at."""
    ends = {"exit": ENDS[command]}
    more = {"run": BASES[command] + ANSWERED, "look": "" if command == "judge test" else "runs --json", **more}
    return Row(f"{command} {option}", shows, given, expect={**ends, **expect}, absent={**ends, **absent},
               world="test-set", files=OTHERS, **more)  # fmt: skip


def live(command: str) -> str:
    """The command with a judge that is a model."""
    return (
        (BASES[command] + ANSWERED)
        .replace("recorded:judge.jsonl", "openai-compatible:judge")
        .replace("offline", "openai-compatible:judge")
    )


SHARED = [
    row
    for command in BASES
    for row in (
        judged(command, "--dialect", "the files are read as what is said", "--dialect explain", {"exit": 2}, {}),
        judged(command, "--responses", "whose answers are judged", "--responses answers.jsonl", {}, {"exit": 2},
               run=BASES[command]),
        judged(command, "--agent", "the file of the agent is read", "--agent labels.jsonl", {"exit": 2}, {},
               other="--agent agent.json"),
        judged(command, "--profile", "the profile has to be there", "--profile nobody", {"exit": 2}, {},
               other="--profile prep_default"),
        judged(command, "--no-cache", "nothing is kept for the next time", "--no-cache", {"replies": 0},
               {"replies": ...}, run=live(command) + " --limit 1", look="cache --json"),
        judged(command, "--budget", "a price has to be known", "--budget 1USD", {"exit": 2}, {},
               run=live(command) + " --limit 1"),
        judged(command, "--max-concurrency", "none at a time is refused", "--max-concurrency 0", {"exit": 2}, {}),
    )
]  # fmt: skip
JUDGING = [
    *SHARED,
    *(
        judged(command, option, shows, given, expect, absent, **more)
        for command in ("judge calibrate", "judge migrate")
        for option, shows, given, expect, absent, more in (
            ("--limit", "only the first case", "--limit 1", {"0.total": 1}, {"0.total": 2}, {}),
            ("--candidate", "only this candidate", "--candidate juno", {"0.total": 2}, {"exit": 2, "0.total": 4},
             {"run": BASES[command] + " --responses two.jsonl"}),
            ("--rubric", "the rules that labels are about", "--rubric rubric.json", {"0.rubric_rules_total": 4},
             {"exit": 2}, {"run": BASES[command].replace("labels", "rule-labels") + ANSWERED}),
            ("--max-concurrency", "one case at a time", "--max-concurrency 1", {"0.concurrency": 1},
             {"0.concurrency": 8}, {}),
        )
    ),
    judged("judge test", "--limit", "only the first case", "--limit 1", {"cases": 1}, {"cases": 2}),
    judged("judge test", "--candidate", "only this candidate", "--candidate juno", {"grades": 2}, {"grades": 4},
           run=BASES["judge test"] + " --responses two.jsonl"),
    judged("judge test", "--rubric", "the rules are judged, too", "--rubric rubric.json", {"grades": 6}, {"grades": 2}),
    judged("judge test", "--graders", "only these graders", "--graders criteria", {"grades": 2}, {"grades": 6},
           run=BASES["judge test"] + ANSWERED + " --rubric rubric.json"),
    judged("judge test", "--judge", "who is tested", LIVE, {"judge.spec": "openai-compatible:judge"},
           {"judge.spec": "offline"}, run=f"judge test set.json {ANSWERED} --limit 1 --json", other="--judge offline"),
    judged("judge calibrate", "--judge", "who judges", JUDGE, {"out": "recorded:"}, {"no out": "recorded:"},
           run="judge calibrate labels.jsonl set.json" + ANSWERED, other="--judge offline"),
    judged("judge calibrate", "--run", "a stored run", "--run latest", {"#": 1}, {"#": 2},
           run="judge calibrate labels.jsonl", before=(f"run set.json {JUDGE} {ANSWERED} --quiet",),
           other=f"set.json {JUDGE} {ANSWERED}"),
    judged("judge calibrate", "--by", "also by this key of the cases", "--by tag", {"out": "money"},
           {"no out": "money"}, look="", run=BASES["judge calibrate"] + ANSWERED + " --json"),
    Row("judge calibrate --graders", "with --by alone: only these graders", "--graders CoherenceExplain",
        "judge calibrate cases.jsonl --by quality_band --judge recorded:judge.jsonl --json",
        {"no out": "RelevanceExplain"}, {"out": "RelevanceExplain"}, world="explain"),
    *(
        Row("judge correct --method", method, f"--method {method}", "judge correct latest --json",
            {"out": f'"{method}"'}, {"no out": f'"{method}"'}, other=f"--method {other}", world="test-set",
            files=OTHERS,
            before=(f"run set.json {JUDGE} {ANSWERED} --quiet", "judge calibrate labels.jsonl --run latest"))
        for method, other in (("prediction_powered", "sensitivity_specificity"),
                              ("sensitivity_specificity", "prediction_powered"))
    ),
]  # fmt: skip
TRIAGE = [
    Row("triage --judge", "who writes the root causes", LIVE, "triage first --json",
        {"written.judge": "openai-compatible:judge"}, {"written.judge": ""}, before=(RUN,)),
    Row("triage --record-judge", "the reply is written down", "--record-judge said.jsonl",
        f"triage first {LIVE} --json", {"file said.jsonl": "triage"}, {"no file said.jsonl": ""}, before=(RUN,)),
    Row("triage --budget", "a price has to be known", "--budget 1USD", f"triage first {LIVE} --json", {"exit": 2}, {},
        before=(RUN,)),
    Row("triage --no-cache", "nothing is kept for the next time", "--no-cache", f"triage first {LIVE} --json",
        {"replies": 0}, {"replies": 1}, before=(RUN,), look="cache --json"),
    Row("triage --output", "written as Markdown instead", "-o there.md", "triage first", {"file there.md": "q2"},
        {"out": "q2", "no file there.md": ""}, before=(RUN,)),
]  # fmt: skip
CI = "ci cases.jsonl --responses answers.jsonl --base-run first --json"


def ci(option: str, shows: str, given: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    """A row of `howsure ci`, which starts runs in processes of their own."""
    ends = {"exit": 101}
    more = {"run": CI, "expect": {**ends, **expect}, "absent": {**ends, **absent}, **more}
    return Row(f"ci {option}", shows, given, files=FILES, before=(RUN,), slow=True, **more)


PROGRAMS = [
    ci("--base-run", "a stored run is compared with", "--base-run first",
       {"gates.0.expression": "no_regression vs first by 5%"}, {"exit": 0, "gates": []},
       run=CI.replace(" --base-run first", "")),
    ci("--base", "the branch to compare with: there is none here", "--base main", {"exit": 2}, {},
       run=CI.replace(" --base-run first", ""), other="--base-run first"),
    ci("--gate", "what the change is held to", "--gate 'errors <= 0'", {"exit": 0}, {}),
    ci("--inconclusive-ok", "exits with 0 where a gate cannot be decided", "--inconclusive-ok", {"exit": 0}, {}),
    ci("--comment", "where the comment is written", "--comment there.md", {"file there.md": "first"},
       {"no file there.md": ""}),
    ci("--report", "where the page is written", "--report there.html", {"file there.html": "q2"},
       {"no file there.html": ""}),
    ci("--json", "the answer is JSON", "--json", {"is json": True}, {"is json": False}, run=CI.replace(" --json", "")),
    ci("--database", "runs are kept there", "--database no-database", {"exit": 2}, {}),
    ci("--config", "other settings hold", "--config wrong.yaml", {"exit": 2}, {}),
    ci("--plugin", "the plug-in is loaded", "--plugin no.py", {"exit": 2}, {}),
    Row("demo --json", "the runs as JSON", "--json", "demo", {"#": 5, "0.status": "completed"}, {"is json": False},
        world="nothing", slow=True),
    *(
        Row(f"{command} {option}", shows, given, command, {"exit": 2, "err": told},
            {"exit": 2, "no err": told}, other=other, files=FILES, slow=command != "demo")
        for command in ("demo", "serve", "worker")
        for option, shows, given, told, other in (
            ("--config", "other settings hold", "--config wrong.yaml", "`colour` is not a setting", "--plugin no.py"),
            ("--plugin", "the plug-in is loaded", "--plugin no.py", "no, says the plug-in", "--config wrong.yaml"),
            ("--database", "runs are kept there", "--database no-database", "no-database", "--plugin no.py"),
        )
    ),
    Row("serve --host", "an address that others reach needs a key", "--host 0.0.0.0", "serve",
        {"exit": 2, "err": "there is no key yet"}, {"exit": 2, "no err": "there is no key yet"},
        other="--config wrong.yaml", files=FILES, slow=True),
    Row("serve --port", "a port that somebody has is refused", "--port $PORT", "serve --workers 0",
        {"exit": 2, "err": "cannot be used"}, {"exit": 2, "no err": "cannot be used"}, other="--config wrong.yaml",
        files=FILES, slow=True),
    Row("worker --while-open", "stops when its input is closed", "--while-open", "worker", {}, {"exit": 2},
        other="--config wrong.yaml", files=FILES, slow=True),
]  # fmt: skip
ROWS = [*JUDGING, *TRIAGE, *PROGRAMS]
