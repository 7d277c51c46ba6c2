"""What a run says of itself, in every report: how many of how many, what shaped it, what had no effect, what is
certain, and its verdicts by label. One case is shown in full."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import write_rows
from house import lines, mcq

Howsure = Callable[..., Any]
GOLDEN = {
    "golden_questions": [
        {
            "id": "g1",
            "user_inputs": ["Refund order 7"],
            "agents_evaluated": ["shop"],
            "reference_data": {"expected_response": "Your refund is under way."},
            "metadata": {"difficulty": "easy"},
        }
    ]
}
REFUNDED = {"case_id": "g1", "messages": [
    {"role": "user", "content": "Refund order 7"}, {"role": "assistant", "content": "Done.", "agent": "shop"},
]}  # fmt: skip


def house(folder: Path, count: int = 4, wrong: tuple[int, ...] = (2,)) -> list[Path | str]:
    rows = [mcq(n, dataset="old" if n % 2 else "new") for n in range(1, count + 1)]
    said = [{"case_id": f"q{n}", "response_text": "B" if n in wrong else "A"} for n in range(1, count + 1)]
    return [lines(folder / "cases.jsonl", *rows), "--responses", lines(folder / "said.jsonl", *said)]


def golden(folder: Path) -> list[Path | str]:
    data = folder / "shop_golden.json"
    data.write_text(json.dumps(GOLDEN), encoding="utf-8")
    return [data, "--responses", write_rows(folder / "said.jsonl", [REFUNDED])]


def in_every_report(howsure: Howsure, folder: Path, *texts: str) -> None:
    """The texts are in the terminal, the page, both Markdowns and JUnit."""
    names = ("r.html", "r.md", "r.full.md", "r.xml")
    assert howsure("report", "latest", *(word for name in names for word in ("-o", folder / name))).code == 0
    shown = {name: (folder / name).read_text("utf-8") for name in names}
    shown["terminal"] = howsure("show", "latest", env={"COLUMNS": "200"}).out
    plain = re.compile(r"\\(.)")
    for name, page in shown.items():
        for text in texts:
            # Pages and HTML reports name graders in words, the others by their ids.
            shown_text = plain.sub(r"\1", page.replace("&#39;", "'").replace("&#43;", "+")).replace("_", " ")
            assert text.replace("_", " ") in shown_text, (name, text)


def graded(howsure: Howsure) -> set[str]:
    (result, *_) = howsure("results", "latest", "--json").json
    return set(result["scores"])


def test_signed_graders_change_the_usual_ones_and_plain_names_are_the_only_ones(
    howsure: Howsure, tmp_path: Path
) -> None:
    data = golden(tmp_path)
    assert howsure("run", *data).code == 0
    usual = graded(howsure)
    assert {"agent_routing", "output_density"} <= usual
    assert "response_correctness" not in usual
    howsure("run", *data, "--graders", "+response_correctness,-output_density", "--json")
    assert graded(howsure) == usual - {"output_density"} | {"response_correctness"}
    howsure("run", *data, "--graders", "agent_routing")
    assert graded(howsure) == {"agent_routing"}


@pytest.mark.parametrize(("graders", "said"), [
    ("choice,+rubric", "names with + or - change the usual graders, plain names mean only these: not both"),
    ("+choice,-choice", "choice is both added and taken away"),
    ("-chioce", "unknown grader 'chioce'"),
])  # fmt: skip
def test_graders_that_cannot_be_meant_are_refused(howsure: Howsure, tmp_path: Path, graders: str, said: str) -> None:
    refused = howsure("run", *house(tmp_path), "--graders", graders)
    assert refused.code == 2
    assert said in refused.err


def test_a_mark_of_the_profile_makes_its_judged_grader_run(howsure: Howsure, tmp_path: Path) -> None:
    data = golden(tmp_path)
    (tmp_path / "howsure.yaml").write_text(
        "profiles: {strict: {marks: {response_correctness: 4.5}}}\n", encoding="utf-8"
    )
    reply = {"case_id": "g1", "grader": "response_correctness", "reply": {"score": 4, "explanation": "Too short."}}
    judge = f"recorded:{write_rows(tmp_path / 'judge.jsonl', [reply])}"
    assert howsure("run", *data, "--judge", judge, "--json").json["passed"] == 1
    strict = howsure("run", *data, "--judge", judge, "--profile", "strict", "--json").json
    assert (strict["failed"], strict["marks"], strict["profile"]) == (1, {"response_correctness": 4.5}, "strict")
    in_every_report(howsure, tmp_path, "strict (response_correctness ≥ 4.5)")
    unjudged = howsure("run", *data, "--judge", "none", "--profile", "strict", "--json").json
    assert (
        "No case was graded by response_correctness: the profile strict sets marks there in vain." in unjudged["notes"]
    )
    offline = howsure("run", *data, "--profile", "strict", "--json")
    assert "response_correctness" in graded(howsure)
    assert offline.json["judge"] == "offline"


def test_a_judge_that_was_never_asked_is_noted(howsure: Howsure, tmp_path: Path) -> None:
    data = house(tmp_path)
    reply = {"case_id": "q1", "grader": "criteria", "reply": "yes"}
    ran = howsure("run", *data, "--judge", f"recorded:{write_rows(tmp_path / 'judge.jsonl', [reply])}", "--json").json
    note = "The judge recorded:judge.jsonl was never asked: no grader here asks one (--graders +NAME adds one)."
    assert ran["notes"] == [note]
    in_every_report(howsure, tmp_path, "was never asked: no grader here asks one")


def test_judged_offline_is_said_only_where_the_offline_judge_was_asked(howsure: Howsure, tmp_path: Path) -> None:
    assert "Judged offline" not in howsure("run", *house(tmp_path)).out
    case = {"schema_version": "legal_eval_v1", "id": "r1", "dataset": "d", "task_type": "reference_qa",
            "prompt": "Which day?", "reference_answers": ["Friday"]}  # fmt: skip
    data = write_rows(tmp_path / "open.jsonl", [case])
    said = write_rows(tmp_path / "open-said.jsonl", [{"case_id": "r1", "response_text": "On Friday."}])
    assert "Judged offline" in howsure("run", data, "--responses", said).out


def test_what_shaped_the_run_is_in_every_report(howsure: Howsure, tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text("judge_settings: {temperature: 0.5}\n", encoding="utf-8")
    data = house(tmp_path)
    ran = howsure("run", *data, "--filter", "dataset:old,new", "--limit", "3", "--graders", "-rubric", "--json").json
    assert ran["filters"] == {"dataset": ["old", "new"]}
    assert (ran["limit"], ran["graders_asked"]) == (3, ["-rubric"])
    assert ran["settings"] == {"judge_settings": {"temperature": 0.5}}
    assert [(each["cases"], each["selected"]) for each in ran["datasets"]] == [(4, 3)]
    in_every_report(howsure, tmp_path, "cases.jsonl (legal, 3 of 4 cases)", "dataset: old or new", "the first 3 cases")
    shown = howsure("show", "latest", env={"COLUMNS": "120"}).out
    for line in (
        "dataset   cases.jsonl (legal, 3 of 4 cases)",
        "graders   -rubric",
        "filter    dataset: old or new",
        "limit     the first 3 cases",
        "settings  judge_settings temperature 0.5",
    ):
        assert line in shown
    howsure("run", *data)
    plain = howsure("show", "latest", env={"COLUMNS": "120"}).out
    assert "cases.jsonl (legal, 4 cases)" in plain
    assert "filter" not in plain


def test_candidates_are_ordered_by_what_is_certain(howsure: Howsure, tmp_path: Path) -> None:
    """One answers 3 and breaks on 7; the other has 8 of 10."""
    broken = [{"case_id": f"q{n}", "candidate_name": "brave", "error": "no answer"} for n in range(4, 11)]
    said = [{"case_id": f"q{n}", "candidate_name": "brave", "response_text": "A"} for n in range(1, 4)]
    said += [
        {"case_id": f"q{n}", "candidate_name": "steady", "response_text": "A" if n < 9 else "B"} for n in range(1, 11)
    ]
    data = lines(tmp_path / "cases.jsonl", *(mcq(n) for n in range(1, 11)))
    ran = howsure("run", data, "--responses", lines(tmp_path / "said.jsonl", *said, *broken), "--json").json
    assert list(ran["candidates"]) == ["steady", "brave"]
    assert ran["candidates"]["brave"]["pass_rate_if_decided"] == [0.3, 1.0]
    assert ran["candidates"]["steady"]["pass_rate_if_decided"] is None
    assert ran["sentence"].startswith(
        "steady passed 8 of 10 (80.0 %, likely 49–96 %); "
        "brave passed 3 of 3 (100.0 %, likely 44–100 %; 30–100 % of all 10)."
    )
    in_every_report(howsure, tmp_path, "30–100 % of all 10")


def test_a_rate_with_errored_cases_says_of_how_many(howsure: Howsure, tmp_path: Path) -> None:
    data = lines(tmp_path / "cases.jsonl", *(mcq(n) for n in range(1, 5)))
    said = [{"case_id": "q1", "response_text": "A"}, *({"case_id": f"q{n}", "error": "no"} for n in (2, 3, 4))]
    ran = howsure("run", data, "--responses", lines(tmp_path / "said.jsonl", *said), "--json").json
    assert ran["sentence"].endswith("3 errored: not counted as failures. Counted either way: 25–100 % of all 4.")
    shown = howsure("show", "latest", env={"COLUMNS": "100"}).out
    assert "pass rate 100.0 % [21–100] of 1 decided; 25–100 % of all 4" in shown


def test_verdicts_are_broken_down_by_label_everywhere(howsure: Howsure, tmp_path: Path) -> None:
    data = house(tmp_path, wrong=(2, 4))
    ran = howsure("run", *data, "--json").json
    rows = {(each["label"], each["value"]): (each["passed"], each["failed"]) for each in ran["breakdown"]}
    assert rows == {("dataset", "new"): (0, 2), ("dataset", "old"): (2, 0)}
    for name in ("r.html", "r.md", "r.full.md"):
        assert howsure("report", "latest", "-o", tmp_path / name).code == 0
        assert "By dataset" in (tmp_path / name).read_text("utf-8")
    shown = howsure("show", "latest", "--by", "dataset", env={"COLUMNS": "80"}).out
    assert re.search(r"by dataset +passed +failed +pass rate \[95 %\]\s+new +0 +2 +0.0 % \[0–66\]\s+old +2 +0", shown)
    unknown = howsure("show", "latest", "--by", "colour")
    assert (unknown.code, unknown.err.strip()) == (
        2, "error: no case has the label 'colour'; there is candidate, dataset, task_type"
    )  # fmt: skip
    howsure("report", "latest", "-o", tmp_path / "r.csv")
    table = list(csv.DictReader((tmp_path / "r.csv").read_text("utf-8").splitlines()))
    assert [(row["dataset"], row["task_type"], row["file"]) for row in table[:2]] == [
        ("old", "mcq", "cases.jsonl"), ("new", "mcq", "cases.jsonl"),
    ]  # fmt: skip


def test_files_of_one_run_are_told_apart(howsure: Howsure, tmp_path: Path) -> None:
    first = lines(tmp_path / "a.jsonl", mcq(1), mcq(2))
    second = lines(tmp_path / "b.jsonl", mcq(3))
    said = [{"case_id": f"q{n}", "response_text": "A" if n < 3 else "B"} for n in (1, 2, 3)]
    ran = howsure("run", first, second, "--responses", lines(tmp_path / "said.jsonl", *said), "--json").json
    rows = {(each["label"], each["value"]): (each["passed"], each["failed"]) for each in ran["breakdown"]}
    assert rows == {("file", "a.jsonl"): (2, 0), ("file", "b.jsonl"): (0, 1)}


def test_a_label_that_no_case_has_cannot_be_compared_by(howsure: Howsure, tmp_path: Path) -> None:
    data = house(tmp_path)
    for name in ("before", "after"):
        howsure("run", *data, "--name", name)
    assert "dataset=old" in howsure("compare", "before", "after", "--by", "dataset", env={"COLUMNS": "120"}).out
    for option in ("--by", "--cluster"):
        refused = howsure("compare", "before", "after", option, "nonsense")
        assert refused.code == 2
        assert "has the label 'nonsense'; they have 'dataset', 'task_type'" in refused.err


def test_a_case_is_shown_in_full(howsure: Howsure, tmp_path: Path) -> None:
    case = {
        "schema_version": "legal_eval_v1", "id": "r1", "dataset": "d", "task_type": "rubric_qa", "prompt": "Which day?",
        "context": "Shops close on Sunday.", "attachments": [{"path": "terms.txt", "title": "Terms"}],
        "rubric": [{"id": "c1", "title": "Names Friday", "weight": 8}],
    }  # fmt: skip
    (tmp_path / "terms.txt").write_text("Friday is the day.", encoding="utf-8")
    data = write_rows(tmp_path / "open.jsonl", [case])
    said = write_rows(tmp_path / "said.jsonl", [{"case_id": "r1", "response_text": "On Friday."}])
    assert howsure("run", data, "--responses", said).code in (0, 3)
    shown = howsure("show", "latest", "r1", env={"COLUMNS": "100"}).out
    for text in ("context: Shops close on Sunday.", "document: Terms terms.txt", "weight 8", "task_type: rubric_qa"):
        assert text in shown
    (whole,) = howsure("show", "latest", "r1", "--json").json
    assert whole["case"]["expectations"][0]["criteria"][0]["weight"] == 8


def test_the_choices_are_shown_with_the_correct_one(howsure: Howsure, tmp_path: Path) -> None:
    howsure("run", *house(tmp_path))
    shown = howsure("show", "latest", "q1", env={"COLUMNS": "100"}).out
    assert re.search(r"expected choices:\s+A\. Yes\s+B\. No\s+correct: A", shown)


def test_a_file_that_can_be_converted_is_refused_with_the_command(howsure: Howsure, tmp_path: Path) -> None:
    row = {"question": "Which day?", "choices": ["Friday", "Sunday"], "gold": 0, "course": "c", "id": "x",
           "language": "en", "area": "a", "jurisdiction": "j", "year": 2024}  # fmt: skip
    data = write_rows(tmp_path / "lexam.jsonl", [row])
    refused = howsure("run", data)
    assert refused.code == 2
    assert f"make one of it with `howsure convert {data} --to legal -o lexam-legal.jsonl`" in refused.err
    assert "howsure convert" in howsure("validate", data).out


def test_split_makes_its_folder(howsure: Howsure, tmp_path: Path) -> None:
    data, *_ = house(tmp_path)
    done = howsure("split", data, "--by", "dataset", "-o", tmp_path / "parts" / "by-age")
    assert done.code == 0, done.err
    assert sorted(path.name for path in (tmp_path / "parts" / "by-age").iterdir()) == [
        "cases.new.jsonl", "cases.old.jsonl",
    ]  # fmt: skip
