"""What is sent to whom: every target is told the whole case, what was sent is kept, each candidate is really asked, and
documents that cannot be shown are named before the run, on the case and in the counts."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import reference_qa
from e2e.model_server import application
from house import lines, mcq
from listening import in_a_thread

Howsure = Callable[..., Any]

BOT = """
def answer(text):
    return "Answer: A" if all(part in text for part in ("The facts.", "A. ", "| The lease.")) else "Answer: B"

def wrong(text):
    return "Answer: B"

def told(text, candidate):
    return f"Answer: {candidate}"
"""
PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    whole = all(part in asked["message"] for part in ("The facts.", "A. ", "| The lease."))
    parts = asked["context"] == "The facts." and len(asked["choices"]) > 1 and "| The lease." in asked["documents"]
    print(json.dumps({"answer": "Answer: A" if whole and parts else "Answer: B"}), flush=True)
"""


@pytest.fixture
def base() -> Iterator[str]:
    with in_a_thread(application("good")) as address:
        yield f"{address}/v1"


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "lease.txt").write_text("The lease.", encoding="utf-8")
    attached = [{"path": "lease.txt"}]
    return lines(
        tmp_path / "questions.jsonl",
        mcq(1, context="The facts.", attachments=attached, correct_choice_ids=["A"]),
        mcq(2, context="The facts.", attachments=attached, correct_choice_ids=["A"]),
    )


def settings(folder: Path, text: str) -> None:
    (folder / "howsure.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("target", ["function:bot.py:answer", f"command:{shlex.quote(sys.executable)} program.py"])
def test_every_target_is_told_choices_context_and_documents(howsure: Howsure, dataset: Path, target: str) -> None:
    done = howsure("run", dataset, "--target", target, "--json")
    assert done.code == 0, done.err
    assert (done.json["passed"], done.json["failed"]) == (2, 0)


def test_what_was_sent_is_kept_and_exported(howsure: Howsure, base: str, dataset: Path, tmp_path: Path) -> None:
    settings(tmp_path, "target_settings: {temperature: 0.3, seed: 5}\n")
    howsure("run", dataset, "--target", f"chat:openai-compatible:m@{base}", "--name", "live", "--quiet")
    howsure("report", "live", "--artifacts", "legal", "--output", tmp_path / "files")
    (first, _) = (json.loads(line) for line in (tmp_path / "files" / "responses.jsonl").read_text("utf-8").splitlines())
    (message,) = first["prompt_messages"]
    assert message["role"] == "user"
    assert message["content"].startswith("The facts.\n\n[document 1] lease.txt\n| The lease.\n\n")
    assert first["candidate_settings"] == {"temperature": 0.3, "seed": 5}
    traced = json.loads((tmp_path / "files" / "trace.jsonl").read_text("utf-8").splitlines()[0])
    assert traced["request"] == {"messages": [message], "settings": {"temperature": 0.3, "seed": 5}}


def test_two_targets_are_two_candidates(howsure: Howsure, dataset: Path, tmp_path: Path) -> None:
    settings(tmp_path, "targets:\n  good: {kind: function, function: 'bot.py:answer'}\n")
    done = howsure("run", dataset, "--target", "good", "--target", "function:bot.py:wrong", "--json")
    assert done.code == 0, done.err
    passed = {name: (counts["passed"], counts["failed"]) for name, counts in done.json["candidates"].items()}
    assert passed == {"good": (2, 0), "function:bot.py:wrong": (0, 2)}
    again = howsure(
        "run", dataset, "--target", "good", "--target", "function:bot.py:wrong", "--candidate", "good", "--json"
    )
    assert list(again.json["candidates"]) == ["good"]


def test_a_candidate_that_would_not_be_asked_is_refused(howsure: Howsure, dataset: Path, tmp_path: Path) -> None:
    settings(tmp_path, "targets:\n  good: {kind: chat, model: 'openai-compatible:m@http://127.0.0.1:9/v1'}\n")
    fixed = howsure("run", dataset, "--target", "good", "--candidate", "good", "--candidate", "bad")
    assert fixed.code == 2
    assert "--candidate good: this target asks openai-compatible:m@http://127.0.0.1:9/v1 only; write" in fixed.err
    deaf = howsure("run", dataset, "--target", "function:bot.py:answer", "--candidate", "good", "--candidate", "bad")
    assert deaf.code == 2
    assert "--candidate good: the target function is never told which candidate it is" in deaf.err
    told = howsure("run", dataset, "--target", "function:bot.py:told", "--candidate", "A", "--candidate", "B", "--json")
    assert {name: counts["passed"] for name, counts in told.json["candidates"].items()} == {"A": 2, "B": 0}


CANDIDATES = """
target_settings: {{temperature: 0.3, seed: 5}}
candidates:
  fast: {{model: "openai-compatible:m@{base}", max_tokens: 50, system_prompt: Be brief.}}
  short: {{model: "openai-compatible:short@{base}", temperature: 1, effort: high, max_tokens: 7}}
"""


def test_candidates_have_short_names_and_settings_of_their_own(
    howsure: Howsure, base: str, dataset: Path, tmp_path: Path
) -> None:
    settings(tmp_path, CANDIDATES.format(base=base))
    trace = tmp_path / "trace.jsonl"
    done = howsure("run", dataset, "--target", "chat", "--limit", "1", "--trace", trace, "--name", "both", "--json")
    assert done.code == 0, done.err
    assert list(done.json["candidates"]) == ["fast", "short"]
    asked = {
        call["request"]["model"]: call["request"] for call in map(json.loads, trace.read_text("utf-8").splitlines())
    }
    assert (asked["m"]["temperature"], asked["m"]["seed"], asked["m"]["max_tokens"]) == (0.3, 5, 50)
    assert asked["m"]["messages"][0] == {"role": "system", "content": "Be brief."}
    short = asked["short"]
    assert (short["temperature"], short["max_tokens"], short["reasoning_effort"]) == (1.0, 7, "high")
    howsure("report", "both", "--artifacts", "legal", "--output", tmp_path / "files")
    rows = [json.loads(line) for line in (tmp_path / "files" / "responses.jsonl").read_text("utf-8").splitlines()]
    assert [(row["candidate_name"], row["candidate_settings"]) for row in rows] == [
        ("fast", {"temperature": 0.3, "max_tokens": 50, "seed": 5}),
        ("short", {"temperature": 1.0, "max_tokens": 7, "seed": 5, "effort": "high"}),
    ]
    picked = ("--target", "chat", "--candidate", "short")
    one = howsure("run", dataset, *picked, "--name", "one", "--json")
    assert list(one.json["candidates"]) == ["short"]
    # Other settings make another target.
    settings(tmp_path, CANDIDATES.format(base=base).replace("max_tokens: 7", "max_tokens: 8"))
    howsure("run", dataset, *picked, "--name", "two", "--quiet")
    (pair,) = howsure("compare", "one", "two", "--json").json["comparisons"]
    assert "target" in {each["what"] for each in pair["unlike"]}


def test_a_reply_that_was_cut_off_and_one_of_nothing_are_flagged_and_counted(
    howsure: Howsure, base: str, dataset: Path
) -> None:
    models = [word for name in ("short", "mute") for word in ("--candidate", f"openai-compatible:{name}@{base}")]
    done = howsure("run", dataset, "--target", "chat", *models, "--json")
    assert done.json["flags"]["cut_off"] == 2
    assert done.json["flags"]["empty_reply"] == 2
    # Nothing was asked for three times, in each of the two cases; then it is the answer, and fails.
    assert done.json["spent"]["calls"] == 2 + 2 * 3
    assert [counts["failed"] for counts in done.json["candidates"].values()] == [0, 2]


def test_documents_that_cannot_be_shown_are_named_before_on_the_case_and_in_the_counts(
    howsure: Howsure, base: str, tmp_path: Path
) -> None:
    (tmp_path / "long.txt").write_text("x" * 101, encoding="utf-8")
    (tmp_path / "old.txt").write_bytes("café".encode("latin-1"))
    (tmp_path / "memo.docx").write_bytes(b"PK\x03\x04\x14\x00\x00")
    attached = [{"path": "long.txt"}, {"path": "old.txt"}, {"path": "memo.docx", "title": "Memo"}]
    row = reference_qa("q1", prompt="When?", reference_answers=["In May."], attachments=attached)
    dataset = lines(tmp_path / "attached.jsonl", row)
    answers = lines(
        tmp_path / "answers.jsonl", {"example_id": "q1", "candidate_name": "juno", "response_text": "In May."}
    )
    settings(tmp_path, "document_characters: 100\n")
    judged = ("--responses", answers, "--judge", f"openai-compatible:m@{base}")
    for words in (("--target", f"chat:openai-compatible:m@{base}"), judged):
        done = howsure("run", dataset, *words, "--json")
        assert "documents that cannot be shown (2, in 1 case; " in done.err
        assert "Memo: not a text: it cannot be shown; old.txt: not a text in UTF-8: it cannot be shown" in done.err
        assert "long.txt: 100 of 101 characters are shown" in done.err
        assert {kind: done.json["flags"][kind] for kind in ("document_unread", "document_cut")} == {
            "document_unread": 1,
            "document_cut": 1,
        }
        assert "! document_unread: Memo" in howsure("show", "latest", "q1").out
    # Nobody is shown them: nothing is to be said.
    offline = howsure("run", dataset, "--responses", answers, "--json")
    assert "document" not in offline.err
    settings(tmp_path, "document_characters: 101\n")
    assert "are cut" not in howsure("run", dataset, *judged, "--json").err
