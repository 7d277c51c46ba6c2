"""Rows of the keys of howsure.yaml that are not a target's."""

from __future__ import annotations

from typing import Any

from net.rows import Row
from net.table_run import COUNTING_BOT, ESSAY, EVALS, EXPLAIN, LEGAL, PLUGIN, TALK
from net.worlds import FIRST, SECOND, entry, explained, question, rulings

CHAT = "run case.jsonl --target chat:openai-compatible:plain --trace calls.jsonl --json"
JUDGED = "run why.jsonl --responses why-answers.jsonl --judge openai-compatible:judge --trace calls.jsonl --json"
PANEL = "run why.jsonl --responses why-answers.jsonl --judge panel --trace calls.jsonl --json"
ONE = {"case.jsonl": [question(1)]}
TWO = {"case.jsonl": [question(1), question(2)]}
SLOW = {**ONE, "slow.py": "import time\n\n\ndef answer(text):\n    time.sleep(0.3)\n    return 'A'\n"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

CALLS: dict[str, tuple[str, str, str]] = {
    # In howsure.yaml, on the other side, and what is then in the request.
    "temperature": ("0.3", "0.4", '"temperature":0.3'),
    "max_tokens": ("77", "78", '"max_tokens":77'),
    "top_p": ("0.8", "0.9", '"top_p":0.8'),
    "seed": ("7", "8", '"seed":7'),
    "logprobs": ("3", "2", '"top_logprobs":3'),
    "effort": ("low", "high", '"reasoning_effort":"low"'),
    "stop": ("[END]", "[STOP]", '"stop":["END"]'),
    "extra": ("{colour: red}", "{colour: blue}", '"colour":"red"'),
}


def call_row(key: str, command: str, block: str, **more: Any) -> Row:
    """A row of something that says how a model is called; `block` has `%` where the key stands."""
    name = key.rpartition(".")[2]
    value, other, sent = CALLS[name]
    given, instead = (block.replace("%", f"{name}: {each}") for each in (value, other))
    absent = {"no file calls.jsonl": sent, "file calls.jsonl": '"request"'}
    return Row(key, "it is in the request", given, command, {"file calls.jsonl": sent}, absent, other=instead, **more)


def call_rows(place: str, command: str, block: str, *, but: tuple[str, ...] = (), **more: Any) -> list[Row]:
    return [call_row(f"{place}.{name}", command, block, **more) for name in CALLS if name not in but]


def by_prompt(place: str, command: str, world: str, block: str) -> Row:
    return Row(
        f"{place}.schema_by_prompt",
        "the schema of the reply is in the prompt, and no longer beside it",
        block.replace("%", "schema_by_prompt: true"),
        command,
        {"no file calls.jsonl": "response_format"},
        {"file calls.jsonl": "response_format"},
        other=block.replace("%", "schema_by_prompt: false"),
        world=world,
    )


ONE_MEMBER = "panel: {members: ['openai-compatible:judge'], settings: {'openai-compatible:judge': {%}}}"
RATED = "run cases.jsonl --limit 1 --judge openai-compatible:judge --trace calls.jsonl --json"
TALKING = TALK.replace("--json", "--simulator openai-compatible:judge --trace calls.jsonl --json")
MODELS = [
    # Judges are asked for probabilities with ratings alone; a simulated user has a seed for each conversation.
    *call_rows("judge_settings", JUDGED, "judge_settings: {%}", but=("logprobs",)),
    call_row("judge_settings.logprobs", RATED, "judge_settings: {%}", world="explain"),
    by_prompt("judge_settings", JUDGED, "legal", "judge_settings: {%}"),
    *call_rows("target_settings", CHAT, "target_settings: {%}", files=ONE),
    Row("target_settings.schema_by_prompt", "is refused where it is no yes or no",
        "target_settings: {schema_by_prompt: often}", CHAT, {"exit": 2, "out": "target_settings"}, {"passed": 1},
        other="target_settings: {schema_by_prompt: true}", files=ONE),
    *call_rows("simulator_settings", TALKING, "simulator_settings: {%}", but=("seed",), world="test-set"),
    Row("simulator_settings.seed", "each conversation has a seed", "simulator_settings: {seed: 7}", TALKING,
        {"file calls.jsonl": '"seed":'}, {"no file calls.jsonl": '"seed":'}, world="test-set"),
    by_prompt("simulator_settings", TALKING, "test-set", "simulator_settings: {%}"),
    *call_rows("panel.settings.*", PANEL, ONE_MEMBER, but=("logprobs",)),
    call_row("panel.settings.*.logprobs", RATED.replace("openai-compatible:judge", "panel"), ONE_MEMBER,
             world="explain"),
    by_prompt("panel.settings.*", PANEL, "legal", ONE_MEMBER),
    Row("judge_settings", "explain: how judges are called", "judge_settings: {seed: 11}",
        "run cases.jsonl --limit 1 --judge openai-compatible:judge --trace calls.jsonl --json",
        {"file calls.jsonl": '"seed":11'}, {"no file calls.jsonl": '"seed":11'}, world="explain"),
    Row("target_settings", "how models under test are called, and not how judges are", "target_settings: {seed: 11}",
        CHAT, {"file calls.jsonl": '"seed":11'}, {"no file calls.jsonl": '"seed":11'},
        other="judge_settings: {seed: 11}", files=ONE),
    Row("simulator_settings", "how the model is called that plays the user, and not how judges are",
        "simulator_settings: {seed: 11}", TALKING, {"file calls.jsonl": '"seed":'}, {"no file calls.jsonl": '"seed":'},
        other="judge_settings: {seed: 11}", world="test-set"),
    Row("attempt_seconds", "a call that takes longer is given up", "attempt_seconds: 0.1",
        "run case.jsonl --target chat:openai-compatible:slow --json", {"exit": 3, "errored": 1}, {"passed": 1},
        settings="retry: {attempts: 1}", files=ONE),
    Row("retry", "how long calls are tried again", "retry: {attempts: 1, seconds: 5}",
        "run case.jsonl --target chat:openai-compatible:flaky-0 --json", {"exit": 3, "errored": 1}, {"passed": 1},
        files=ONE),
    Row("retry.attempts", "a call is tried once", "retry: {attempts: 1}",
        "run case.jsonl --target chat:openai-compatible:flaky-1 --json", {"exit": 3, "errored": 1}, {"passed": 1},
        other="retry: {attempts: 5}", files=ONE),
    Row("retry.seconds", "a call is not tried again after this time", "retry: {seconds: 0.02}",
        "run case.jsonl --target chat:openai-compatible:flaky-2 --json", {"exit": 3, "errored": 1}, {"passed": 1},
        other="retry: {seconds: 30}", files=ONE),
    Row("retry.first_contact", "a server that never answered is given up after this time",
        "retry: {first_contact: 0.0001, attempts: 2}",
        "run case.jsonl --target chat:openai-compatible:x@http://127.0.0.1:9/v1 --trace calls.jsonl --json",
        {"exit": 3, "errored": 1, "no file calls.jsonl": '"attempt":2'}, {"exit": 3, "file calls.jsonl": '"attempt":2'},
        other="retry: {first_contact: 5, attempts: 2}", files=ONE),
    Row("rates", "the rate of a provider's models", "rates: {'openai-compatible:*': {requests_per_minute: 6}}",
        "run case.jsonl --target chat:openai-compatible:plain --max-concurrency 1 --json",
        {"exit": 3, "passed": 1, "errored": 1}, {"passed": 2}, other="rates: {'mistral:*': {requests_per_minute: 6}}",
        settings="case_seconds: 0.3", files=TWO),
    Row("rates.*.requests_per_minute", "the second call has to wait for ten seconds",
        "rates: {'openai-compatible:plain': {requests_per_minute: 6}}",
        "run case.jsonl --target chat:openai-compatible:plain --max-concurrency 1 --json",
        {"exit": 3, "passed": 1, "errored": 1}, {"passed": 2},
        other="rates: {'openai-compatible:plain': {requests_per_minute: 6000}}", settings="case_seconds: 0.3",
        files=TWO),
    Row("rates.*.tokens_per_minute", "calls have to wait for tokens", "rates: {'*': {tokens_per_minute: 60}}",
        "run case.jsonl --target chat:openai-compatible:plain --max-concurrency 1 --json",
        {"exit": 3, "passed": 0, "errored": 2}, {"passed": 2}, other="rates: {'*': {tokens_per_minute: 600000}}",
        settings="case_seconds: 0.3", files=TWO),
    Row("prices", "what a run spent: (100 · 1 + 20 · 2) USD for a million tokens",
        "prices: {plain: {prompt: 1, completion: 2}}", CHAT, {"spent.usd": 0.00014, "spent.unpriced": 0},
        {"spent.usd": None, "spent.unpriced": 1}, files=ONE),
    Row("images", "false: pictures are named and not shown", "images: false", CHAT,
        {"no file calls.jsonl": "image_url"}, {"file calls.jsonl": "image_url"},
        files={"case.jsonl": [question(1, attachments=[{"path": "pixel.png"}])],
               "pixel.png": f"base64:{PIXEL}"}),
    Row("batch_criteria", "all criteria of a case in one call", "batch_criteria: true",
        "run essay.jsonl --responses essay-answers.jsonl --judge openai-compatible:judge --trace calls.jsonl --json",
        {"file calls.jsonl": "verdicts", "spent.calls": 1}, {"no file calls.jsonl": "verdicts", "spent.calls": 2}),
]  # fmt: skip

MEMBERS = {
    f"{name}.jsonl": rulings("reference_answer", ("a1", {"score": score}))
    for name, score in (("a", 1.0), ("b", 0.6), ("c", 0.0))
}
THREE = "members: ['recorded:a.jsonl', 'recorded:b.jsonl', 'recorded:c.jsonl']"
PANEL_RULES = {"majority": 0.6, "mean": 0.5333, "unanimous": 0.0, "round_robin": 1.0}
PANELS = [
    *(
        Row("panel.rule", f"{rule}: 1, 0.6 and 0 become {value:g}", f"panel: {{{THREE}, rule: {rule}}}",
            "run why.jsonl --responses why-answers.jsonl --judge panel --json",
            {"scores": {"a1 reference_answer": value}}, {"scores": {"a1 reference_answer": PANEL_RULES[other]}},
            other=f"panel: {{{THREE}, rule: {other}}}", files=MEMBERS)
        for rule, value in PANEL_RULES.items()
        for other in PANEL_RULES
        if other == ("mean" if rule == "majority" else "majority")
    ),
    Row("panel", "the judge of --judge panel", "panel: {members: ['recorded:a.jsonl']}",
        "run why.jsonl --responses why-answers.jsonl --judge panel --json", {"passed": 1}, {"exit": 2, "detail": ...},
        files=MEMBERS),
    Row("panel.members", "who rules", "panel: {members: ['recorded:c.jsonl']}",
        "run why.jsonl --responses why-answers.jsonl --judge panel --json", {"failed": 1}, {"passed": 1},
        other="panel: {members: ['recorded:a.jsonl']}", files=MEMBERS),
    Row("panel.votes", "each member is asked three times", "panel: {members: ['openai-compatible:judge'], votes: 3}",
        PANEL, {"spent.calls": 3}, {"spent.calls": 1}, other="panel: {members: ['openai-compatible:judge']}"),
    Row("panel.near", "only near the mark: 1.0 is not within 0.1 of 0.7",
        "panel: {members: ['openai-compatible:judge'], votes: 3, near: 0.1}", PANEL, {"spent.calls": 1},
        {"spent.calls": 3}, other="panel: {members: ['openai-compatible:judge'], votes: 3, near: 0.4}"),
    Row("panel.settings", "how one member is asked, in place of judge_settings",
        "panel: {members: ['openai-compatible:judge'], settings: {'openai-compatible:judge': {seed: 5}}}", PANEL,
        {"file calls.jsonl": '"seed":5'}, {"no file calls.jsonl": '"seed":5', "file calls.jsonl": '"seed":4'},
        other="panel: {members: ['openai-compatible:judge']}", settings="judge_settings: {seed: 4}"),
]  # fmt: skip

PROFILED = EXPLAIN + " --profile p"
PROFILES = [
    Row("profiles", "a profile of one's own can be named", "profiles: {p: {extends: assessment_strict}}", PROFILED,
        {"passed": 1, "failed": 1}, {"exit": 2, "detail": ...}, world="explain"),
    Row("profiles", "explain: the profile that a case names",
        "profiles: {house: {extends: prep_default, marks: {CoherenceExplain: 5}}}", EXPLAIN, {"failed": 1},
        {"passed": 1}, other="profiles: {house: {extends: prep_default}}", world="explain",
        files={"cases.jsonl": [explained(1, threshold_profile="house")]}),
    Row("profiles.*.extends", "what it does not set comes from there: Relevance must reach 3.6",
        "profiles: {p: {extends: prep_default, marks: {CoherenceExplain: 3}}}", PROFILED, {"passed": 1, "failed": 1},
        {"passed": 2, "failed": 0}, other="profiles: {p: {marks: {CoherenceExplain: 3}}}", world="explain"),
    Row("profiles.*.marks", "explain: Coherence must reach 5",
        "profiles: {p: {extends: prep_default, marks: {CoherenceExplain: 5}}}", PROFILED, {"passed": 0, "failed": 2},
        {"passed": 1, "failed": 1}, other="profiles: {p: {extends: prep_default}}", world="explain"),
    Row("profiles.*.marks", "golden: half of the calls is enough", "profiles: {p: {marks: {tool_usage_accuracy: 0}}}",
        "run shop_golden.json --responses answers.jsonl --profile p --json", {"passed": 2}, {"passed": 1, "failed": 1},
        other="profiles: {p: {}}", world="golden"),
    Row("profiles.*.marks", "test sets: a tool that should have been used gates",
        "profiles: {p: {marks: {tools_used: 1}}}",
        "run set.json --responses answers.jsonl --judge recorded:judge.jsonl --profile p --json",
        {"passed": 0, "failed": 2}, {"passed": 1, "failed": 1}, other="profiles: {p: {}}", world="test-set",
        files={"set.json": {"name": "Desk", "items": [entry(1, "Hi", should_use_tools=["refund"]),
                                                       entry(2, "Hi", should_use_tools=["refund"])]}}),
    Row("profiles.*.weights",
        "the composite is (4 · 1 + 3 · 0.15) / 1.15 = 3.87, not (4 · 0.1 + 3 · 0.15) / 0.25 = 3.4",
        "profiles: {p: {extends: prep_default, marks: {RelevanceExplain: 3}, weights: {CoherenceExplain: 1}}}",
        PROFILED, {"passed": 2, "scores": {f"{SECOND} composite": 3.8696}},
        {"passed": 1, "scores": {f"{SECOND} composite": 3.4}},
        other="profiles: {p: {extends: prep_default, marks: {RelevanceExplain: 3}}}", world="explain"),
    Row("profiles.*.hard_fails", "a value below it fails the case",
        "profiles: {p: {extends: prep_default, hard_fails: {CoherenceExplain: 4.5}}}", PROFILED.replace("--json", ""),
        {"out": "hard fail: CoherenceExplain 4.00 < 4.50"}, {"no out": "hard fail"},
        other="profiles: {p: {extends: prep_default}}", world="explain"),
    Row("profiles.*.composite_mark", "the composite of 4 must reach 4.5",
        "profiles: {p: {extends: prep_default, composite_mark: 4.5}}", PROFILED, {"passed": 0, "failed": 2},
        {"passed": 1, "failed": 1}, other="profiles: {p: {extends: prep_default}}", world="explain"),
    Row("profiles.*.normalization", "min_max: 0.75", "profiles: {p: {normalization: min_max}}", ESSAY + " --profile p",
        {"passed": 1, "scores": {"w1 weighted_criteria": 0.75}},
        {"failed": 1, "scores": {"w1 weighted_criteria": 0.6667}}, other="profiles: {p: {normalization: points}}",
        guards="min_max through a profile"),
]  # fmt: skip

PLAIN = [
    Row("database", "runs are kept there", "database: here.db", LEGAL,
        {"file here.db": "SQLite"},
        {"file .howsure/howsure.db": "SQLite", "no file here.db": ""}),
    Row("judge", "who judges where nothing is said", "judge: none", "run set.json --responses answers.jsonl --json",
        {"judge": None, "skipped": 2}, {"judge": ..., "skipped": 0, "passed": 1},
        other="judge: 'recorded:judge.jsonl'", world="test-set"),
    Row("max_concurrency", "one case at a time", "max_concurrency: 1",
        "run cases.jsonl --target function:counting.py:answer --json", {"passed": 4, "concurrency": 1},
        {"concurrency": 8}, files={"counting.py": COUNTING_BOT}),
    Row("plugins", "what the file registers is there", "plugins: [parrot.py]", "run case.jsonl --target parrot --json",
        {"passed": 1}, {"exit": 2}, files={**ONE, "parrot.py": PLUGIN}),
    Row("evals", "an eval of one's own is asked and decides", "evals: [evals.yaml]",
        "run cases.jsonl --responses answers.jsonl --judge openai-compatible:strict --json",
        {"passed": 0, "failed": 4, "scores": {"q1 house_style": 1}}, {"passed": 3, "failed": 1},
        files={"evals.yaml": EVALS}),
    Row("contracts", "an answer that breaks the schema fails", "contracts: {plan: {type: object, required: [weeks]}}",
        EXPLAIN, {"failed": 1, "scores": {f"{FIRST} output_contract": 0}}, {"passed": 1},
        other="contracts: {plan: {}}", world="explain",
        files={"cases.jsonl": [explained(1, expected_contract="plan", model_answer='{"days": 8}')]}),
    Row("contracts", "the path of a schema", "contracts: {plan: plan.json}", EXPLAIN,
        {"failed": 1, "scores": {f"{FIRST} output_contract": 0}}, {"passed": 1},
        other="contracts: {plan: {}}", world="explain",
        files={"cases.jsonl": [explained(1, expected_contract="plan", model_answer='{"days": 8}')],
               "plan.json": {"type": "object", "required": ["weeks"]}}),
    Row("simulator", "who plays the user where nothing is said", "simulator: 'openai-compatible:judge'", TALK,
        {"simulator": "openai-compatible:judge"}, {"simulator": "offline"}, world="test-set"),
    Row("turn_seconds", "a turn that takes longer is errored", "turn_seconds: 0.1",
        "run case.jsonl --target function:slow.py:answer --json", {"exit": 3, "errored": 1}, {"passed": 1}, files=SLOW),
    Row("case_seconds", "a conversation that takes longer is errored", "case_seconds: 0.1",
        "run case.jsonl --target function:slow.py:answer --json", {"exit": 3, "errored": 1}, {"passed": 1}, files=SLOW),
    Row("gates", "every run is held to it", "gates: ['pass_rate >= 99%']",
        "run cases.jsonl --responses both.jsonl --candidate orchid --json", {"exit": 100, "gates.0.outcome": "failed"},
        {"gates": []}),
    Row("until_sure", "every run stops when it is sure of it", "until_sure: 'pass_rate >= 0.5'",
        "run many.jsonl --target function:bot.py:answer --max-concurrency 1 --json",
        {"stopped_early": True, "gates.0.outcome": "held", "skipped": 23}, {"stopped_early": False, "passed": 30},
        files={"many.jsonl": [question(number) for number in range(1, 31)]}),
    Row("engine", "ray: needs the extra", "engine: ray", LEGAL, {"exit": 2, "out": "howsure[ray]"}, {"passed": 3},
        other="engine: local"),
]  # fmt: skip
WRONG = {
    "panel.rule": "panel: {members: [offline], rule: loudest}",
    "engine": "engine: abacus",
    "profiles.*.normalization": "profiles: {p: {normalization: loud}}",
    "targets": "targets: {shop: http}",
    "service": "service: {colour: red}",
    "service.undelete_days": "service: {undelete_days: -1}",
    "cluster": "cluster: {colour: red}",
    "cluster.shard": "cluster: {shard: -1}",
    "cluster.resources": "cluster: {resources: {num_cpus: -1}}",
    "cluster.needs": "cluster: {needs: {bot: {num_gpus: -1}}}",
    "rates": "rates: {openai: {requests_per_minute: 1}}",
}
REFUSED = [
    Row(of, "a wrong value is refused, by its name", given, "runs", {"exit": 2, "err": of.split(".")[0]}, {})
    for of, given in WRONG.items()
]
RETAINED = {"runs": 1, "transcripts": 1, "documents": 0, "labels": 0, "audit": 1, "sessions": 0, "answered": 0}
RETENTION = [
    *(
        Row(of, f"{kind} that are older are taken out", f"service: {{retention: {{{kind}: 0d}}}}",
            "db purge --dry-run --json", {f"purged.{kind}": number}, {"purged.files": 0}, before=(f"{LEGAL} --quiet",))
        for kind, number in RETAINED.items()
        for of in (f"service.retention.{kind}", *(("service.retention",) if kind == "runs" else ()))
    ),
]  # fmt: skip
ROWS = [*MODELS, *PANELS, *PROFILES, *PLAIN, *REFUSED, *RETENTION]
