"""A real Inspect: we import what it logs, it reads what we export, and both decide alike on the same replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import sqrt
from pathlib import Path

import pytest
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.log import read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries
from inspect_ai.scorer import exact, includes, match

from frameworks.eval_tools import howsure, howsure_json, inspect_eval, verdicts

SUMS = [Sample(id=f"q{n}", input=f"What is {n} plus 1?", target=str(n + 1)) for n in range(8)]


def add(question: str) -> str:
    """Right but for 0, 3 and 6; broken at 7."""
    number = int(question.split()[2])
    if number == 7:
        raise RuntimeError("the model is out")
    return f"It is {number + 1 if number % 3 else number}"


@pytest.fixture(scope="module", params=["eval", "json"])
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight samples, two epochs each."""
    folder = tmp_path_factory.mktemp("logs")
    done = inspect_eval(folder, SUMS, add, scorer=match(), kind=request.param, epochs=2, fail_on_error=False)
    return Path(done.location)


def test_what_inspect_logs_is_imported_with_its_own_numbers(log: Path, tmp_path: Path) -> None:
    theirs = read_eval_log(str(log)).results
    assert theirs is not None
    run = howsure_json(tmp_path, "import", log, "--name", "sums", ends=3)
    assert [run[name] for name in ("total", "passed", "failed", "errored", "skipped")] == [16, 8, 6, 2, 0]
    # Of the 7 samples that could be tried 4 are right: 4/7, and sqrt(4/7 * 3/7 / 6).
    said = {name: metric.value for name, metric in theirs.scores[0].metrics.items()}
    assert said == pytest.approx({"accuracy": 4 / 7, "stderr": sqrt(4 / 7 * 3 / 7 / 6)})
    note = "inspect says match accuracy 0.5714, match stderr 0.202, and so do its samples here."
    assert note in run["notes"]


def test_inspect_reads_its_log_back_from_us(log: Path, tmp_path: Path) -> None:
    howsure(tmp_path, "export", log, "--to", "inspect", "-o", "back.eval")
    before, after = read_eval_log(str(log)), read_eval_log(str(tmp_path / "back.eval"))
    assert before.samples and after.samples and before.results and after.results
    assert [sample.scores for sample in after.samples if sample.id == "q7"] == [{}, {}]
    kept = [
        {
            (each.id, each.epoch): (
                each.input,
                each.target,
                each.output.completion,
                bool(each.error),
                len(each.messages),
            )
            for each in samples
        }
        for samples in (before.samples, after.samples)
    ]
    assert len(kept[0]) == 16
    assert kept[0] == kept[1]
    values = [
        {(each.id, each.epoch): score.value for each in samples for score in (each.scores or {}).values()}
        for samples in (before.samples, after.samples)
    ]
    assert values[0] == values[1]
    assert set(values[0].values()) == {"C", "I"}
    metrics = [{m.name: m.value for m in each.scores[0].metrics.values()} for each in (before.results, after.results)]
    assert metrics[0] == pytest.approx(metrics[1])


def test_a_run_of_ours_is_a_log_that_inspect_lists_and_opens(tmp_path: Path) -> None:
    cases = [{"id": f"c{n}", "input": f"Case {n}?", "expected": "yes"} for n in range(4)]
    said = ["yes", "Yes, it is", "no", "yes"]
    lines = [{"case_id": f"c{n}", "response_text": text} for n, text in enumerate(said)]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    howsure(tmp_path, "run", "cases.jsonl", "--responses", "said.jsonl", "--match", "exact", "--name", "ours")
    howsure(tmp_path, "export", "ours", "--to", "inspect", "-o", "ours.eval")
    place = str(tmp_path / "ours.eval")
    log = read_eval_log(place)
    assert (log.status, log.eval.task, log.eval.dataset.sample_ids) == ("success", "ours", ["c0", "c1", "c2", "c3"])
    assert log.results and {m.name: m.value for m in log.results.scores[0].metrics.values()} == {
        "accuracy": 0.5,
        "stderr": pytest.approx(sqrt(0.25 / 3)),
    }
    assert [each.scores["verdict"].value for each in log.samples or () if each.scores] == ["C", "I", "I", "C"]
    listed = read_eval_log_sample_summaries(place)
    assert [(each.id, each.scores["exact_match"].value) for each in listed if each.scores] == [
        ("c0", 1.0), ("c1", 0.0), ("c2", 0.0), ("c3", 1.0)
    ]  # fmt: skip
    assert read_eval_log_sample(place, uuid=listed[1].uuid).output.completion == "Yes, it is"
    howsure(tmp_path, "import", "ours.eval", "--name", "back")
    assert verdicts(tmp_path, "back") == verdicts(tmp_path, "ours")


def tango(gained: int, lost: int, n: int) -> tuple[float, float]:
    """The ends of Tango's 95 % interval, by halving: where (b - c - n d) / sqrt(n (2 q + d - d²)) is ±1.96, q being the
    likeliest share of the lost under the difference d."""

    def statistic(d: float) -> float:
        a, b, c = 2 * n, -gained - lost + (2 * n - gained + lost) * d, -lost * d * (1 - d)
        q = (sqrt(b * b - 4 * a * c) - b) / (2 * a)
        return (gained - lost - n * d) / sqrt(n * (2 * q + d * (1 - d)))

    def end(low: float, high: float, wanted: float) -> float:
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if statistic(middle) > wanted else (low, middle)
        return low

    z, best = 1.959963984540054, (gained - lost) / n
    return end(-1 + 1e-12, best, z), end(best, 1 - 1e-12, -z)


def test_two_logs_of_a_thousand_samples_are_compared_as_by_hand(tmp_path: Path) -> None:
    samples = [Sample(id=f"q{n}", input=f"What is {n} plus 1?", target=str(n + 1)) for n in range(1000)]
    wrong: dict[str, Callable[[int], bool]] = {"before": lambda n: n % 4 == 0, "after": lambda n: n % 7 == 0}
    logs = []
    for name, misses in wrong.items():

        def answer(text: str, misses: Callable[[int], bool] = misses) -> str:
            number = int(text.split()[2])
            return str(number if misses(number) else number + 1)

        done = inspect_eval(tmp_path, samples, answer, scorer=match(), name=name, max_connections=50)
        logs.append(done.location)
    found = howsure_json(tmp_path, "compare", *logs)["comparisons"][0]
    # 250 and 143 are wrong, 36 of them in both: 214 are gained and 107 lost.
    gained, lost = 214, 107
    assert (found["verdict"]["n"], found["verdict"]["raised"], found["verdict"]["lowered"]) == (1000, gained, lost)
    assert (found["verdict"]["first"], found["verdict"]["second"]) == (0.75, 0.857)
    assert found["verdict"]["difference"] == pytest.approx((gained - lost) / 1000)
    assert found["verdict"]["interval"] == pytest.approx(tango(gained, lost, 1000), abs=1e-6)
    assert found["conclusion"] == "better"


REPLIES = {
    "plain": ("Paris", "Paris"),
    "lower": ("Paris", "paris"),
    "dot": ("Paris", "Paris."),
    "sentence": ("Paris", "The capital is Paris."),
    "inside": ("Paris", "Paris is the capital."),
    "wrong": ("Paris", "London"),
    "empty": ("Paris", ""),
    "space": ("Paris", "  Paris \n"),
    "number": ("42", "42"),
    "thousands": ("1234", "1,234"),
    "decimal": ("42", "42.0"),
    "partial": ("Paris", "Parisian"),
    "article": ("Rome", "the Rome"),
    "unicode": ("Café", "CAFÉ"),
    "bold": ("Paris", "**Paris**"),
    "several": ("Paris", "London or Paris"),
}
LOOSER = {
    "lower": "Inspect's exact() ignores case",
    "unicode": "Inspect's exact() ignores case",
    "dot": "Inspect's exact() ignores punctuation",
    "bold": "Inspect's exact() ignores punctuation",
    "article": "Inspect's exact() ignores articles",
    "thousands": "Inspect's exact() reads numbers",
    "decimal": "Inspect's exact() reads numbers",
}
"""Where `--match exact` and Inspect's `exact()` differ, and by which rule: ours compares the text without the spaces
around it, so Inspect passes these and we do not."""


def test_graders_by_program_decide_as_inspect_does_or_by_a_named_rule(tmp_path: Path) -> None:
    rows = [{"id": id, "input": f"Question {id}?", "target": target} for id, (target, _) in REPLIES.items()]
    lines = [{"case_id": id, "response_text": reply} for id, (_, reply) in REPLIES.items()]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    samples = list(json_dataset(str(tmp_path / "data.jsonl")))
    done = inspect_eval(
        tmp_path, samples, lambda text: REPLIES[text.split()[1][:-1]][1], scorer=[includes(), exact()], name="capital"
    )
    theirs = {
        name: {each.id: "passed" if each.scores[name].value == "C" else "failed" for each in done.samples}
        for name in ("includes", "exact")
    }
    for name in theirs:
        howsure(tmp_path, "run", "data.jsonl", "--responses", "said.jsonl", "--match", name, "--name", name)
    assert verdicts(tmp_path, "includes") == theirs["includes"]
    ours = verdicts(tmp_path, "exact")
    assert {id for id in REPLIES if ours[id] != theirs["exact"][id]} == set(LOOSER)
    assert {theirs["exact"][id] for id in LOOSER} == {"passed"}


NUMBERS = {
    "plain": ("42", "42"),
    "sentence": ("42", "It is 42."),
    "last": ("42", "First 7, then 42"),
    "not last": ("42", "42, not 7"),
    "thousands": ("1234", "It is 1,234"),
    "decimal": ("42", "42.0"),
    "dollars": ("12", "$12"),
    "wrong": ("42", "43"),
    "words": ("42", "forty-two"),
    "decimal comma": ("1.5", "1,5"),
    "stated": ("7", "#### 7, of 9 in all"),
    "negative": ("-3", "-3"),
}
READ_OTHERWISE = {
    "decimal comma": "one comma that separates no thousands is decimal for us; Inspect takes commas out: 15",
    "stated": "a stated answer counts for us before the last number",
}


def test_numbers_are_compared_as_inspect_does_or_by_a_named_rule(tmp_path: Path) -> None:
    rows = [{"id": id, "input": f"Number {id}?", "target": target} for id, (target, _) in NUMBERS.items()]
    lines = [{"case_id": id, "response_text": reply} for id, (_, reply) in NUMBERS.items()]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    samples = list(json_dataset(str(tmp_path / "data.jsonl")))
    done = inspect_eval(
        tmp_path, samples, lambda text: NUMBERS[text[7:-1]][1], scorer=match(numeric=True), name="numbers"
    )
    theirs = {
        each.id: "passed" if each.scores and each.scores["match"].value == "C" else "failed"
        for each in done.samples or ()
    }
    howsure(tmp_path, "run", "data.jsonl", "--responses", "said.jsonl", "--match", "numeric", "--name", "ours")
    ours = verdicts(tmp_path, "ours")
    assert {id for id in NUMBERS if ours[id] != theirs[id]} == set(READ_OTHERWISE)
    assert {ours[id] for id in READ_OTHERWISE} == {"passed"}
