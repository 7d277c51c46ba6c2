"""Rows of the options that commands share: where runs are kept, which settings hold, which plug-ins are loaded, and
whether the answer is JSON."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from net.options import all_options
from net.rows import Row
from net.table_commands import BETTER, BETTER_FILE, RUN
from net.table_imports import WORSE as LOG
from net.worlds import answers, question

NO = """
from howsure.errors import ConfigInvalid


def register(kit):
    raise ConfigInvalid("no, says the plug-in")
"""
LABELS = [
    {"case_id": f"t{number}", "grader": "criteria", "criterion_id": "1", "label": number == 1, "annotator": "ana"}
    for number in (1, 2)
]


class PlainCommand(Struct, frozen=True, kw_only=True):
    """A command that does its work as it stands, and what it needs for that."""

    run: str
    world: str = "legal"
    before: tuple[str, ...] = ()
    files: dict[str, Any] = field(default_factory=dict)
    stdin: str = ""
    exit: int = 0
    """How it ends."""


ANSWERED = "--responses answers.jsonl --judge recorded:judge.jsonl"
JUDGED = f"run set.json {ANSWERED} --quiet"
COMMANDS: dict[str, PlainCommand] = {
    "validate": PlainCommand(run="validate cases.jsonl"),
    "convert": PlainCommand(run="convert shop_golden.json --to test-set -o out.json", world="golden"),
    "sample": PlainCommand(
        run="sample cases.jsonl -n 2 -o out.jsonl --by information",
        before=("run cases.jsonl --responses four.jsonl --quiet",),
        files={
            "four.jsonl": [
                {"example_id": f"q{number}", "candidate_name": f"m{skill}", "response_text": "AB"[number > skill]}
                for skill in (1, 2, 3, 4)
                for number in (1, 2, 3, 4)
            ]
        },
    ),
    "split": PlainCommand(run="split cases.jsonl --by dataset"),
    "merge": PlainCommand(run="merge cases.jsonl essay.jsonl -o out.jsonl"),
    "import": PlainCommand(run="import log.json", files={"log.json": LOG}),
    "run": PlainCommand(run="run cases.jsonl --responses answers.jsonl"),
    "resume": PlainCommand(
        run="resume --budget 100ktok",
        before=(
            "! run essay.jsonl --responses essay-answers.jsonl --judge openai-compatible:judge --budget 100tok"
            " --max-concurrency 1 --quiet",
        ),
    ),
    "retry": PlainCommand(
        run="retry --errors",
        before=("! run cases.jsonl --limit 1 --target function:asleep.py:answer --quiet",),
        files={"asleep.py": "def answer(text):\n    raise RuntimeError('asleep')\n"},
        exit=3,
    ),
    "runs": PlainCommand(run="runs", before=(RUN,)),
    "show": PlainCommand(run="show", before=(RUN,)),
    "results": PlainCommand(run="results", before=(RUN,)),
    "compare": PlainCommand(run="compare first second", before=(RUN, BETTER), files=BETTER_FILE),
    "rank": PlainCommand(run="rank first second", before=(RUN, BETTER), files=BETTER_FILE),
    "report": PlainCommand(run="report -o there.md", before=(RUN,)),
    "card": PlainCommand(run="card desk", world="test-set", before=(f"{JUDGED} --agent agent.json",)),
    "triage": PlainCommand(run="triage", before=(RUN,)),
    "plan": PlainCommand(run="plan --difference 10% --from first", before=(RUN,)),
    "trend": PlainCommand(run="trend first", before=(RUN,)),
    "gate": PlainCommand(run="gate --gate 'errors <= 0'", before=(RUN,)),
    "judge about": PlainCommand(run="judge about offline"),
    "judge calibrate": PlainCommand(
        run="judge calibrate labels.jsonl --run latest",
        world="test-set",
        before=(JUDGED,),
        files={"labels.jsonl": LABELS},
    ),
    "judge correct": PlainCommand(
        run="judge correct latest",
        world="test-set",
        before=(JUDGED, "judge calibrate labels.jsonl --run latest"),
        files={"labels.jsonl": LABELS},
    ),
    "judge migrate": PlainCommand(
        run="judge migrate recorded:judge.jsonl recorded:judge.jsonl labels.jsonl set.json --responses answers.jsonl",
        world="test-set",
        files={"labels.jsonl": LABELS},
        exit=101,
    ),
    "judge pairs": PlainCommand(
        run="judge pairs first second --judge openai-compatible:judge", before=(RUN, BETTER), files=BETTER_FILE
    ),
    "judge drift": PlainCommand(
        run="judge drift latest",
        before=("run many.jsonl --responses said.jsonl --quiet",),
        files={
            "many.jsonl": [question(number) for number in range(120)],
            "said.jsonl": answers(*((f"q{number}", "A") for number in range(120))),
        },
    ),
    "judge raters": PlainCommand(
        run="judge raters people.jsonl --run latest",
        before=(RUN,),
        files={
            "people.jsonl": [
                {
                    "case_id": f"q{1 + number % 4}",
                    "criterion_id": number,
                    "grader": "c",
                    "label": True,
                    "annotator": who,
                }
                for number in range(12)
                for who in ("ana", "ben", "cy")
            ]
        },
        exit=2,
    ),
    "judge test": PlainCommand(
        run="judge test set.json --responses run:latest --judge offline --limit 1", world="test-set", before=(JUDGED,)
    ),
    "label next": PlainCommand(run="label next latest", world="test-set", before=(JUDGED,)),
    "label save": PlainCommand(
        run="label save labels.jsonl latest", world="test-set", before=(JUDGED,), files={"labels.jsonl": LABELS}
    ),
    "cache": PlainCommand(run="cache"),
    "keys create": PlainCommand(run="keys create --name ana --scope read"),
    "keys list": PlainCommand(run="keys list"),
    "keys password": PlainCommand(run="keys password ana --scope read", stdin="long enough 1\nlong enough 1\n"),
    "keys revoke": PlainCommand(run="keys revoke nobody", exit=2),
    "db backup": PlainCommand(run="db backup copy.db", before=(RUN,)),
    "db check": PlainCommand(run="db check", before=(RUN,)),
    "db upgrade": PlainCommand(run="db upgrade"),
    "db seal": PlainCommand(run="db seal", before=(RUN,)),
    "db purge": PlainCommand(run="db purge", before=(RUN,)),
    "erase": PlainCommand(run="erase --user nobody", before=(RUN,)),
    "audit verify": PlainCommand(run="audit verify", before=(RUN,)),
    "audit head": PlainCommand(run="audit head -o head.json", before=(RUN,)),
    "audit export": PlainCommand(run="audit export", before=(RUN,)),
    "audit list": PlainCommand(run="audit list", before=(RUN,)),
    "export": PlainCommand(run="export --to otlp -o out.jsonl", before=(RUN,)),
    "schema": PlainCommand(run="schema legal"),
    "doctor": PlainCommand(run="doctor"),
}
SHARED = {
    "--config": ("other settings hold", "--config wrong.yaml", "`colour` is not a setting"),
    "--plugin": ("the plug-in is loaded", "--plugin no.py", "no, says the plug-in"),
    "--database": ("runs are kept there", "--database no-database", "no-database"),
}
FILES = {"wrong.yaml": "colour: red\n", "no.py": NO, "no-database": "This is no database.\n" * 100}


def _shared(command: str, option: str) -> Row | None:
    plain = COMMANDS.get(command)
    if plain is None:
        return None
    more: dict[str, Any] = {"world": plain.world, "before": plain.before, "stdin": plain.stdin}
    more["files"] = {**FILES, **plain.files}
    ends = {"exit": plain.exit}
    if option == "--json":
        expect = {**ends, "is json": True}
        return Row(
            f"{command} --json", "the answer is JSON", "--json", plain.run, expect, {**ends, "is json": False}, **more
        )
    shows, given, told = SHARED[option]
    if command == "doctor" and option == "--database":
        return Row(f"{command} {option}", shows, given, plain.run, {"exit": 2, "out": told}, ends, **more)
    return Row(f"{command} {option}", shows, given, plain.run, {"exit": 2, "err": told}, ends, **more)


ROWS = [
    row
    for each in all_options()
    if each.longest in (*SHARED, "--json") and each.name not in ("run --json", "init --json", "results --json")
    if (row := _shared(each.command, each.longest)) is not None
]
