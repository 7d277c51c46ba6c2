"""Rows of the arguments of commands, which stand without a name."""

from __future__ import annotations

from net.rows import Row
from net.table_commands import BETTER, BETTER_FILE, BOTH, RAW, RUN
from net.table_common import COMMANDS, LABELS

JUDGED = COMMANDS["judge correct"]
ROWS = [
    Row("--version", "which Howsure it is", "--version", "", {"out": "howsure, version"},
        {"no out": "howsure, version"}, other="--help"),
    Row("init FOLDER", "where to write", "there", "init", {"file there/howsure.yaml": ""}, {"file howsure.yaml": ""},
        world="nothing"),
    Row("validate PATHS", "which files", "cases.jsonl essay.jsonl", "validate --json", {"files.#": 2}, {"files.#": 1},
        other="cases.jsonl"),
    Row("convert PATHS", "what is converted", "logs-array.json", "convert -o out.json", {"file out.json": "A1"},
        {"exit": 2}, world="nothing", files=RAW),
    Row("sample FILE", "of what", "cases.jsonl", "sample -n 1 -o out.jsonl", {"file out.jsonl": '"q4"'},
        {"file out.jsonl": '"w1"'}, other="essay.jsonl"),
    Row("split FILE", "of what", "cases.jsonl", "split --by dataset", {"file cases.crown.jsonl": ""},
        {"no file cases.crown.jsonl": ""}, other="essay.jsonl"),
    Row("merge FILES", "of what", "cases.jsonl essay.jsonl", "merge -o out.jsonl", {"file out.jsonl": '"w1"'},
        {"no file out.jsonl": '"w1"'}, other="cases.jsonl why.jsonl"),
    Row("run DATASETS", "several files in one run", "cases.jsonl more.jsonl", "run --responses answers.jsonl --json",
        {"total": 3, "datasets.#": 2}, {"total": 2, "datasets.#": 1}, other="cases.jsonl", world="simulation",
        files={"cases.jsonl": [{"question_id": f"m{number}", "user_inputs": [f"Hi {number}"], "final_response": "Hi.",
                                "reference_data": {}} for number in (1, 2)],
               "more.jsonl": [{"question_id": "m3", "user_inputs": ["Hi 3"], "final_response": "Hi.",
                               "reference_data": {}}],
               "answers.jsonl": [{"case_id": f"m{number}", "response_text": "Hi."} for number in (1, 2, 3)]}),
    *(
        Row(f"{command.split()[0]} RUN", "which run", "first", command, {"out": told}, {"no out": told}, other="second",
            files=BETTER_FILE, before=(RUN, BETTER))
        for command, told in (("show", "75.0 %"), ("gate --gate 'pass_rate >= 1%'", "75 % passed"))
    ),
    Row("results RUN", "which run", "first", "results --json", {"1.verdict": "failed"}, {"1.verdict": "passed"},
        other="second", files=BETTER_FILE, before=(RUN, BETTER)),
    Row("report RUN", "which run", "first", "report -o there.md", {"file there.md": "75.0 %"},
        {"no file there.md": "75.0 %"}, other="second", files=BETTER_FILE, before=(RUN, BETTER)),
    Row("export RUN", "which run", "first", "export --to openai-evals -o there", {"file there": '"accuracy":0.75'},
        {"no file there": '"accuracy":0.75'}, other="second", files=BETTER_FILE, before=(RUN, BETTER)),
    Row("triage RUN", "which run", "first", "triage --json", {"failed": 1}, {"failed": 0}, other="second",
        files=BETTER_FILE, before=(RUN, BETTER)),
    *(
        Row(f"{command} RUN", "a run that is not there is refused", "nobody", COMMANDS[command].run,
            {"exit": 2, "err": "nobody"}, {"exit": COMMANDS[command].exit}, before=COMMANDS[command].before,
            files=COMMANDS[command].files)
        for command in ("resume", "retry")
    ),
    Row("show CASE", "one case in full", "q2", "show latest", {"out": "chose B; correct is A", "no out": "n 4"},
        {"out": "n 4"}, before=(RUN,)),
    Row("compare RUNS", "which runs", "first second", "compare --json", {"comparisons.0.second.run_name": "second"},
        {"comparisons.0.second.run_name": "first"}, other="second first", files=BETTER_FILE, before=(RUN, BETTER)),
    Row("card WHOSE", "whose", "desk", "card", {"out": "Refund desk"}, {"exit": 2}, other="nobody", world="test-set",
        before=COMMANDS["card"].before),
    Row("trend AGENT", "whose runs", "first", "trend --json", {"runs.#": 1}, {"exit": 2}, other="nobody",
        before=(RUN, BOTH)),
    Row("ci WORDS", "what is run", "cases.jsonl --responses answers.jsonl", "ci --base-run first", {"exit": 101},
        {"exit": 2}, other="nothing.jsonl", before=(RUN,), slow=True),
    Row("judge about SPEC", "which judge", "offline", "judge about", {"out": "agreement with people"},
        {"no out": "agreement with people"}, other="openai-compatible:judge"),
    Row("judge calibrate FILES", "the labels, and what is judged", "labels.jsonl", "judge calibrate --run latest", {},
        {"exit": 2}, other="set.json", world="test-set", before=JUDGED.before[:1], files=JUDGED.files),
    Row("judge correct RUN", "which run", "latest", "judge correct", {}, {"exit": 2}, other="nobody", world="test-set",
        before=JUDGED.before, files=JUDGED.files),
    *(
        Row(f"judge migrate {name}", shows, f"{old} {new} {labels} set.json",
            "judge migrate --responses answers.jsonl --json", {"exit": 101, "out": told}, absent,
            other="recorded:judge.jsonl recorded:judge.jsonl labels.jsonl " + others, world="test-set",
            files={"labels.jsonl": LABELS, "fewer.jsonl": LABELS[:1]})
        for name, shows, old, new, labels, others, told, absent in (
            ("OLD", "the judge that there is", "offline", "recorded:judge.jsonl", "labels.jsonl", "set.json",
             '"offline"', {"exit": 101, "no out": '"offline"'}),
            ("NEW", "the judge that is to come", "recorded:judge.jsonl", "offline", "labels.jsonl", "set.json",
             '"offline"', {"exit": 101, "no out": '"offline"'}),
            ("LABELS", "what people said", "recorded:judge.jsonl", "recorded:judge.jsonl", "fewer.jsonl", "set.json",
             '"labels": 1', {"exit": 101, "no out": '"labels": 1'}),
            ("DATASETS", "what is judged", "recorded:judge.jsonl", "recorded:judge.jsonl", "labels.jsonl", "talk.json",
             "new_agreement", {"exit": 2}),
        )
    ),
    Row("judge test DATASETS", "what is judged", "set.json", "judge test --responses answers.jsonl --limit 1 --json",
        {"cases": 1}, {"exit": 2}, other="nothing.json", world="test-set"),
    Row("keys password NAME", "whose it is", "ana", "keys password --scope read", {"out": "ana can sign in now"},
        {"no out": "ana can sign in now"}, other="bob", stdin="long enough 1\nlong enough 1\n"),
    Row("keys revoke KEY_ID", "which key: there must be one", "nobody", "keys revoke", {"exit": 2, "err": "nobody"},
        {"exit": 2, "no err": "nobody"}, other="somebody"),
    Row("db backup FILE", "where to", "there.db", "db backup", {"file there.db": "SQLite"}, {"no file there.db": ""},
        other="here.db", before=(RUN,)),
    Row("schema NAME", "of what", "settings", "schema", {"is json": True}, {"is json": False, "out": "explain"},
        world="nothing"),
    *(
        Row("completion SHELL", shell, shell, "completion", {"out": told}, {"no out": told}, world="nothing",
            other="bash" if shell != "bash" else "zsh")
        for shell, told in (("bash", "complete -o nosort"), ("zsh", "#compdef"), ("fish", "complete --no-files"))
    ),
]  # fmt: skip
