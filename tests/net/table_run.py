"""Rows of `howsure run`: every option, in every world where it means something."""

from __future__ import annotations

from net.rows import Row
from net.worlds import PROGRAM, SECOND, WORLDS, answers, entry, question, rule, rulings

LEGAL = "run cases.jsonl --responses answers.jsonl --json"
BOTH = "run cases.jsonl --responses both.jsonl --json"
ESSAY = "run essay.jsonl --responses essay-answers.jsonl --judge recorded:essay-judge.jsonl --json"
WHY = "run why.jsonl --responses why-answers.jsonl --judge recorded:why-judge.jsonl --json"
EXPLAIN = "run cases.jsonl --judge recorded:judge.jsonl --json"
GOLDEN = "run shop_golden.json --responses answers.jsonl --json"
TEST_SET = "run set.json --responses answers.jsonl --judge recorded:judge.jsonl --json"
TALK = "run talk.json --target function:bot.py:answer --judge recorded:talk-judge.jsonl --json"
SIMULATION = "run talks.jsonl --json"

COUNTING_BOT = """
import time
from threading import Lock

lock, now = Lock(), 0


def answer(text):
    global now
    with lock:
        now += 1
    time.sleep(0.03)
    with lock:
        seen, now = now, now - 1
    return "A" if seen == 1 else "B"
"""
"""Right while nobody else is being answered."""
STREAKY_BOT = """
import itertools

numbers = itertools.count()


def answer(text):
    return "AB"[next(numbers) % 2]
"""
EVALS = """
evals:
  - name: house_style
    instructions: Is it in the style of the house?
    inputs: {answer: answer}
    scale: {min: 1, max: 5, integer: true}
    pass_mark: 4
"""
DEFINITIONS = {
    "metrics": {
        "politeness": {
            "metric_type": "llm",
            "score_range": {"min": 0, "max": 5},
            "template": "Is this polite? {response}",
            "dataset_mapping": {"response": {"source_column": "final_response"}},
        }
    }
}
PLUGIN = """
from howsure.targets.base import Reply, Stateless


class Parrot:
    name = "parrot"

    async def open(self, case):
        return Stateless(lambda text: Reply.saying("Answer: A"))


def register(kit):
    kit.targets.add(Parrot())
"""
SPELLED = {"case.jsonl": [question(1)], "answer.jsonl": answers(("q1", "A"))}

MANY = "run many.jsonl --target function:bot.py:answer --max-concurrency 1 --json"
MANY_FILES = {"many.jsonl": [question(number) for number in range(1, 31)]}

SOURCES = [
    Row("run --dialect", "the file is read as what is said, and is not that", "--dialect explain", LEGAL,
        {"exit": 2, "error": "DatasetInvalid", "problems.0.field": "case_id"}, {"passed": 3}),
    Row("run --dialect", "a file whose kind cannot be told is read", "--dialect test-set",
        "run odd.json --responses answers.jsonl --judge recorded:judge.jsonl --json", {"total": 1, "passed": 1},
        {"exit": 2}, world="test-set",
        files={"odd.json": {"name": "Odd", "items": [entry(1, "Hi")], "golden_questions": []}}),
    Row("run --responses", "recorded answers are graded", "--responses answers.jsonl", "run cases.jsonl --json",
        {"passed": 3, "failed": 1, "verdicts": {"q1": "passed", "q2": "failed"}}, {"exit": 2}),
    Row("run --responses", "the answers of an earlier run are graded again", "--responses run:first",
        "run cases.jsonl --json", {"passed": 3, "failed": 1}, {"exit": 2},
        before=("run cases.jsonl --responses answers.jsonl --name first --json",)),
    Row("run --responses", "golden: whole transcripts are joined with the questions", "--responses answers.jsonl",
        "run shop_golden.json --json",
        {"passed": 1, "failed": 1, "scores": {"g1 tool_usage_accuracy": 1, "g2 tool_usage_accuracy": 0}}, {"exit": 2},
        world="golden"),
    Row("run --partial", "golden: what was recorded is graded, the rest is skipped and counted", "--partial",
        "run shop_golden.json --responses some.jsonl --json",
        {"passed": 1, "verdicts": {"g1": "passed", "g2": "skipped"}, "err": "1 without a recorded answer"}, {"exit": 2},
        world="golden",
        files={"some.jsonl": WORLDS["golden"]["answers.jsonl"][:1]}),
    Row("run --partial", "golden: a recording of other questions is refused, and says so", "--partial",
        "run shop_golden.json --responses other.jsonl --json",
        {"exit": 2, "out": "nothing is left to grade with --partial: no case has a recorded answer (g1, g2)"},
        {"exit": 2, "no out": "--partial"}, world="golden",
        files={"other.jsonl": [{**WORLDS["golden"]["answers.jsonl"][0], "case_id": "x9"}]}),
    Row("run --target", "recorded: the answers of the file, as without it", "--target recorded",
        "run talks.jsonl --json", {"target": "recorded", "passed": 1},
        {"target": "function:bot.py:answer", "failed": 2},
        other="--target function:bot.py:answer", world="simulation",
        files={"bot.py": "def answer(text):\n    return {'answer': 'No idea.', 'state': {}}\n"}),
    Row("run --target", "function: a Python function answers", "--target function:bot.py:answer",
        "run cases.jsonl --json", {"passed": 4, "target": "function:bot.py:answer"}, {"exit": 2}),
    Row("run --target", "command: a program answers", "--target 'command:python3 program.py'", "run case.jsonl --json",
        {"passed": 1}, {"exit": 2}, files={**SPELLED, "program.py": PROGRAM}),
    Row("run --target", "http: a bot behind an address answers", "--target http:$BOT/slow", "run case.jsonl --json",
        {"passed": 1}, {"exit": 2}, files=SPELLED),
    Row("run --target", "chat: a model answers", "--target chat:openai-compatible:plain", "run case.jsonl --json",
        {"passed": 1}, {"exit": 2}, files=SPELLED),
    Row("run --target", "the name of a target in howsure.yaml", "--target mine", "run case.jsonl --json",
        {"passed": 1, "target": "mine"}, {"exit": 2}, files=SPELLED,
        settings="targets: {mine: {kind: function, function: 'bot.py:answer'}}"),
    Row("run --target", "the target of a plug-in", "--target parrot", "run case.jsonl --plugin parrot.py --json",
        {"passed": 1, "target": "parrot"}, {"exit": 2}, files={**SPELLED, "parrot.py": PLUGIN}),
    Row("run --target", "replay: the user's messages of an earlier conversation are sent again",
        "--target replay:function:echo.py:answer",
        "run run:first --criteria-from talk.json --judge recorded:talk-judge.jsonl --json", {"out": "You said"},
        {"no out": "You said"}, world="test-set",
        files={"echo.py": "def answer(text):\n    return f'You said: {text}'\n"},
        before=("run talk.json --target function:bot.py:answer --judge recorded:talk-judge.jsonl --name first --json",),
        look="show latest s1"),
    Row("run --candidate", "only this candidate's answers are graded", "--candidate orchid", BOTH,
        {"total": 4, "passed": 0, "failed": 4, "candidates.orchid.failed": 4, "candidates.juno": "nothing"},
        {"total": 8, "passed": 4, "failed": 4, "candidates.juno.passed": 4}),
    Row("run --candidate", "two of three candidates", "--candidate juno --candidate orchid",
        "run case.jsonl --responses three.jsonl --json", {"total": 2, "candidates.#": 2},
        {"total": 3, "candidates.#": 3},
        files={**SPELLED,
               "three.jsonl": [{"case_id": "q1", "candidate_name": name, "response_text": "A"} for name in ("juno",
                                "orchid", "opal")]}),
    Row("run --candidate", "with --target chat, each candidate is a model",
        "--candidate openai-compatible:plain --candidate openai-compatible:echo", "run case.jsonl --target chat --json",
        {"total": 2, "verdicts": {"q1 openai-compatible:plain": "passed", "q1 openai-compatible:echo": "failed"}},
        {"exit": 2}, files=SPELLED),
    Row("run --criteria-from", "finished conversations are held against the criteria of a test set",
        "--criteria-from talk.json", "run run:first --judge recorded:all.jsonl --json",
        {"total": 1, "passed": 1, "criteria_from": ...}, {"criteria_from": None, "skipped": 1}, world="test-set",
        files={"all.jsonl": rulings("criteria", ("s1/1", {"passed": True}))},
        before=("run talk.json --target function:bot.py:answer --judge none --name first --json",)),
]  # fmt: skip
CASES = [
    Row("run --limit", "only the first two cases run", "--limit 2", LEGAL, {"total": 2, "limit": 2}, {"total": 4}),
    Row("run --limit", "golden: one question", "--limit 1", GOLDEN, {"total": 1, "passed": 1, "failed": 0},
        {"total": 2, "failed": 1}, world="golden"),
    Row("run --filter", "only cases with this label", "--filter area:criminal", LEGAL,
        {"total": 2, "passed": 2, "verdicts": {"q2": "no result", "q3": "passed"}}, {"total": 4}),
    Row("run --filter", "any of several values", "--filter area:civil,criminal", LEGAL, {"total": 4}, {"total": 2},
        other="--filter area:civil"),
    Row("run --filter", "test sets: by tag", "--filter tag:money", TEST_SET, {"total": 1, "passed": 1}, {"total": 2},
        world="test-set"),
    Row("run --filter", "explain: by difficulty", "--filter difficulty:hard", EXPLAIN,
        {"total": 1, "failed": 1, "verdicts": {SECOND: "failed"}}, {"total": 2, "passed": 1}, world="explain"),
    Row("run --filter", "simulation: by a value of the question's metadata", "--filter topic:returns", SIMULATION,
        {"total": 1, "failed": 1}, {"total": 2}, world="simulation"),
    Row("run --repeat", "every case is tried three times", "--repeat 3",
        "run case.jsonl --target function:bot.py:answer --json",
        {"total": 3, "repeat": 3, "verdicts": {"q1 #3": "passed"}}, {"total": 1}, files=SPELLED),
    Row("run --max-concurrency", "one case at a time", "--max-concurrency 1",
        "run cases.jsonl --target function:counting.py:answer --json", {"passed": 4, "concurrency": 1},
        {"concurrency": 8}, files={"counting.py": COUNTING_BOT}),
    Row("run --state", "conversations start with it", "--state letter:B",
        "run cases.jsonl --target function:bot.py:answer --json", {"passed": 0, "failed": 4}, {"passed": 4}),
    Row("run --name", "the run is found by it", "--name monday", LEGAL, {"out": '"name": "monday"'},
        {"no out": "monday"}, look="runs --json"),
]  # fmt: skip
JUDGES = [
    Row("run --judge", "recorded: replies from a file", "--judge recorded:why-judge.jsonl",
        "run why.jsonl --responses why-answers.jsonl --json", {"passed": 1, "scores": {"a1 reference_answer": 0.8}},
        {"skipped": 1, "passed": 0}, other="--judge none"),
    Row("run --judge", "none: a case that needs a judge is skipped", "--judge none",
        "run set.json --responses answers.jsonl --json", {"skipped": 2, "judge": None},
        {"skipped": 0, "passed": 1, "failed": 1}, other="--judge recorded:judge.jsonl", world="test-set"),
    Row("run --judge", "provider:model: a live model rules", "--judge openai-compatible:judge",
        "run why.jsonl --responses why-answers.jsonl --json", {"passed": 1, "scores": {"a1 reference_answer": 1.0}},
        {"failed": 1, "scores": {"a1 reference_answer": 0.0}}, other="--judge openai-compatible:strict"),
    Row("run --judge", "panel: the panel of howsure.yaml rules", "--judge panel",
        "run why.jsonl --responses why-answers.jsonl --json", {"passed": 1, "out": "panel"},
        {"failed": 1, "no out": '"judge": "panel'}, other="--judge openai-compatible:strict",
        settings="panel: {members: ['openai-compatible:judge']}"),
    Row("run --judge", "explain: offline is said on the run", "--judge offline", "run cases.jsonl",
        {"exit": 3, "out": "Judged offline"}, {"no out": "Judged offline"}, other="--judge recorded:judge.jsonl",
        world="explain"),
    Row("run --batch-criteria", "all criteria of a case in one call", "--batch-criteria",
        "run essay.jsonl --responses essay-answers.jsonl --judge openai-compatible:judge --trace calls.jsonl --json",
        {"file calls.jsonl": "verdicts"}, {"no file calls.jsonl": "verdicts"}),
    Row("run --record-judge", "the judge's replies are written down", "--record-judge said.jsonl",
        "run why.jsonl --responses why-answers.jsonl --judge openai-compatible:judge --json",
        {"file said.jsonl": '"grader": "reference_answer"'}, {"no file said.jsonl": ""}),
    Row("run --trace", "every call of a model is written down", "--trace calls.jsonl",
        "run why.jsonl --responses why-answers.jsonl --judge openai-compatible:judge --json",
        {"file calls.jsonl": "openai-compatible:judge"}, {"no file calls.jsonl": ""}),
    Row("run --no-cache", "the model is asked anew", "--no-cache",
        "run why.jsonl --responses why-answers.jsonl --judge openai-compatible:judge --json", {"spent.calls": 1},
        {"spent.calls": 0},
        before=("run why.jsonl --responses why-answers.jsonl --judge openai-compatible:judge --json",)),
    Row("run --budget", "in tokens: what is over it is not asked", "--budget 100tok --max-concurrency 1",
        "run essay.jsonl --responses essay-answers.jsonl --judge openai-compatible:judge --json",
        {"exit": 2, "state": "out_of_budget"}, {"state": "completed"}),
    Row("run --budget", "in money: refused where a model has no price", "--budget 2USD",
        "run essay.jsonl --responses essay-answers.jsonl --judge openai-compatible:judge --json",
        {"exit": 2, "out": "price"}, {"state": "completed"}),
    Row("run --budget", "in time: a run that is too slow stops", "--budget 0.01s --max-concurrency 1",
        "run essay.jsonl --responses essay-answers.jsonl --judge openai-compatible:judge --json",
        {"exit": 2, "state": "out_of_budget"}, {"state": "completed"}),
]  # fmt: skip
GRADERS = [
    Row("run --graders", "golden: only these graders grade", "--graders agent_routing", GOLDEN,
        {"passed": 2, "graders.#": 1}, {"passed": 1, "failed": 1}, world="golden"),
    Row("run --graders", "explain: one eval of two decides", "--graders CoherenceExplain", EXPLAIN,
        {"passed": 2, "scores": {f"{SECOND} RelevanceExplain": "no score"}},
        {"passed": 1, "failed": 1, "scores": {f"{SECOND} RelevanceExplain": 3}}, world="explain"),
    Row("run --evals", "legal: an eval of one's own is asked and decides", "--evals evals.yaml",
        "run cases.jsonl --responses answers.jsonl --judge openai-compatible:strict --json",
        {"passed": 0, "failed": 4, "scores": {"q1 house_style": 1}}, {"passed": 3, "failed": 1},
        files={"evals.yaml": EVALS}),
    Row("run --evals", "golden: a definition file is read as it is", "--evals definitions.json",
        "run shop_golden.json --responses answers.jsonl --judge openai-compatible:judge --json",
        {"scores": {"g1 politeness": 5}}, {"scores": {"g1 politeness": "no score"}}, world="golden",
        files={"definitions.json": DEFINITIONS}),
    Row("run --profile", "explain: the marks of the profile in place of the cases' own", "--profile strict", EXPLAIN,
        {"passed": 0, "failed": 2, "profile": "strict"}, {"passed": 1, "failed": 1}, world="explain",
        settings="profiles: {strict: {marks: {CoherenceExplain: 5}}}"),
    Row("run --profile", "legal: a lower mark for weighted criteria", "--profile mild", ESSAY,
        {"passed": 1, "failed": 0}, {"passed": 0, "failed": 1},
        settings="profiles: {mild: {marks: {weighted_criteria: 0.6}}}"),
    Row("run --profile", "test sets: the share of criteria gates instead of each", "--profile share",
        "run both.json --responses answers.jsonl --judge recorded:two.jsonl --json", {"passed": 1}, {"failed": 1},
        world="test-set",
        files={"both.json": {"name": "Both", "items": [entry(1, "Hi", success_criteria=["One", "Two"])]},
               "answers.jsonl": answers(("t1", "Hello.")),
               "two.jsonl": rulings("criteria", ("t1/1", {"passed": True}), ("t1/2", {"passed": False}))},
        settings="profiles: {share: {marks: {criteria: 0.5}}}"),
    Row("run --profile", "golden: a measure gates where a mark is set", "--profile quiet", GOLDEN,
        {"passed": 0, "failed": 2}, {"passed": 1, "failed": 1}, world="golden",
        settings="profiles: {quiet: {marks: {latency_metrics: 1}}}"),
    Row("run --normalization", "min_max: (9 - 3 + 3) / 12 = 0.75", "--normalization min_max", ESSAY,
        {"passed": 1, "scores": {"w1 weighted_criteria": 0.75}},
        {"failed": 1, "scores": {"w1 weighted_criteria": 0.6667}}, guards="min_max"),
    Row("run --normalization", "points: (9 - 3) / 9 = 0.667, whatever the profile says", "--normalization points",
        ESSAY + " --profile spread", {"failed": 1, "scores": {"w1 weighted_criteria": 0.6667}},
        {"passed": 1, "scores": {"w1 weighted_criteria": 0.75}},
        settings="profiles: {spread: {normalization: min_max}}", guards="min_max through a profile"),
    Row("run --rubric", "the standing rules are judged", "--rubric rubric.json", TEST_SET,
        {"rubric_rules_total": 4, "rubric_rules_passed": 2}, {"rubric_rules_total": None}, world="test-set"),
    Row("run --component-scope", "only the rules of this scope", "--component-scope prompt",
        TEST_SET + " --rubric rubric.json",
        {"rubric_rules_total": 2, "rubric_rules_passed": 2, "component_scope_filter": "prompt"},
        {"rubric_rules_total": 4}, world="test-set"),
    Row("run --component-id", "only the rules of this component", "--component-id tool-1",
        TEST_SET + " --rubric rubric.json", {"rubric_rules_total": 2, "rubric_rules_passed": 0},
        {"rubric_rules_total": 4}, world="test-set",
        files={"rubric.json": {"name": "House rules", "rules": [rule("KIND", "high", "prompt", "prompt-1"),
                                                                 rule("BRIEF", "low", "function", "tool-1")]}}),
    Row("run --agent", "the run is that agent's", "--agent agent.json",
        "run set.json --responses answers.jsonl --judge recorded:judge.jsonl --json", {"agent_id": "desk"},
        {"agent_id": None}, world="test-set",
        files={"set.json": {"name": "Desk", "items": [entry(1, "I want my money back"), entry(2, "Hello")]}}),
    Row("run --agent", "a tool that a case names and the agent lacks is warned about", "--agent agent.json",
        "run lacks.json --responses answers.jsonl --judge recorded:judge.jsonl", {"err": "reimburse"},
        {"no err": "reimburse"}, world="test-set",
        files={"lacks.json": {"name": "Lacks", "items": [entry(1, "Hi", should_use_tools=["reimburse"])]},
               "answers.jsonl": answers(("t1", "Hello."))}),
]  # fmt: skip
LEAVING = """
from howsure.users.base import Ending, UserExit, UserMessage


class Restless:
    name = "restless"
    version = "1"

    def open(self, case, attempt=1):
        return Player(attempt)


class Player:
    def __init__(self, attempt):
        self.attempt = attempt

    async def next(self, messages):
        if not messages:
            return UserMessage(text="My lamp arrived broken, I want my money back.")
        if self.attempt == 1 or len(messages) > 2:
            return UserExit(ending=Ending.GOAL_REACHED)
        return UserMessage(text="It is L-5512.")


def register(kit):
    kit.users.add(Restless())
"""
"""Leaves too early the first time, and stays when it is played again."""
PLAYING = [
    Row("run --replay-spoiled", "a conversation that the simulated user spoiled is played again", "--replay-spoiled 1",
        TALK + " --simulator restless --plugin restless.py", {"passed": 1, "errored": 0}, {"exit": 3, "errored": 1},
        world="test-set", files={"restless.py": LEAVING}, guards="spoiled is errored"),
    Row("run --simulator", "a model plays the user", "--simulator openai-compatible:judge", TALK,
        {"simulator": "openai-compatible:judge"}, {"simulator": "offline"}, world="test-set"),
    Row("run --simulator", "a name that nobody has is refused", "--simulator nobody", TALK,
        {"exit": 2, "detail": "unknown simulated user 'nobody'; known: offline, provider:model"},
        {"simulator": "offline"}, world="test-set"),
]  # fmt: skip
ENDS = [
    Row("run --until-sure", "it stops when it is sure, and asks no more", "--until-sure 'pass_rate >= 0.5'", MANY,
        {"stopped_early": True, "gates.0.outcome": "held", "gates.0.looks": [7, 30], "passed": 7, "skipped": 23},
        {"stopped_early": False, "gates": [], "passed": 30}, files=MANY_FILES),
    Row("run --until-sure", "a budget that ends before it is sure leaves it undecided",
        "--until-sure 'pass_rate >= 0.9'",
        "run essay.jsonl --responses essay-answers.jsonl --judge openai-compatible:judge --budget 100tok"
        " --max-concurrency 1 --json",
        {"exit": 101, "state": "out_of_budget", "gates.0.outcome": "inconclusive"}, {"exit": 2}),
    Row("run --until-sure", "what cannot be decided by looks is refused by name", "--until-sure 'p95_latency <= 3s'",
        LEGAL, {"exit": 2, "err": "found a latency"}, {"passed": 3}),
    Row("run --gate", "a gate that fails", "--gate 'pass_rate >= 99%'", BOTH,
        {"exit": 100, "gates.1.outcome": "failed"}, {"gates": []}),
    Row("run --gate", "a gate that cannot be decided yet", "--gate 'pass_rate >= 70%'", LEGAL,
        {"exit": 101, "gates.0.outcome": "inconclusive"}, {"gates": []}),
    Row("run --gate", "a gate that holds", "--gate 'errors <= 0'", LEGAL, {"gates.0.outcome": "held"}, {"gates": []}),
    Row("run --output", "a page", "--output page.html", LEGAL, {"file page.html": "q2"}, {"no file page.html": ""}),
    Row("run --output", "Markdown", "-o run.md", LEGAL, {"file run.md": "q2"}, {"no file run.md": ""}),
    Row("run --output", "several at once", "-o run.csv -o run.xml", LEGAL,
        {"file run.csv": "q2", "file run.xml": "<testsuite"}, {"no file run.csv": ""}),
    Row("run --quiet", "no progress and no summary", "--quiet", "run cases.jsonl --responses answers.jsonl",
        {"no out": "passed", "no err": "attempts"}, {"out": "3 of 4 passed", "err": "4 attempts"}),
    Row("run --json", "the run as JSON", "--json", "run cases.jsonl --responses answers.jsonl", {"total": 4},
        {"out": "3 of 4 passed"}),
    Row("run --engine", "ray: needs the extra", "--engine ray", LEGAL, {"exit": 2, "out": "howsure[ray]"},
        {"passed": 3}),
    Row("run --engine", "local, whatever the settings say", "--engine local", LEGAL, {"passed": 3}, {"exit": 2},
        settings="engine: ray"),
]  # fmt: skip
ROWS = [*SOURCES, *CASES, *JUDGES, *GRADERS, *PLAYING, *ENDS]
