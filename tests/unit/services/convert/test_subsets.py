"""Parts of datasets: drawn, split and merged, with ids and records as they were."""

from __future__ import annotations

import csv
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import mcq, write_rows
from howsure.dialects.datasets import digest, read_cases
from howsure.errors import Conflict, DatasetInvalid, InputError
from howsure.kit.plugins import builtin_kit
from howsure.policies.verdicts import builtin_profiles
from howsure.services.convert.subsets import OriginalFile, merge, sample, split_by_label, split_by_share, write_parts

KIT = builtin_kit(builtin_profiles())


def legal(folder: Path, count: int = 10, name: str = "l.jsonl", **fields: Any) -> Path:
    return write_rows(folder / name, [mcq(f"q{number}", prompt=f"Q{number}?", **fields) for number in range(count)])


def test_set(folder: Path, *tags: str, name: str = "t.json", start: int = 0) -> Path:
    entries = [
        {
            "item_id": f"i{number}",
            "type": "single_turn",
            "inputs": {"message": f"m{number}"},
            "expected": {"success_criteria": ["ok"]},
            "tags": [tag] if tag else [],
        }
        for number, tag in enumerate(tags, start)
    ]
    path = folder / name
    path.write_text(json.dumps({"name": "set", "items": entries}))
    return path


test_set.__test__ = False  # type: ignore[attr-defined]


def simulation(folder: Path, *questions: str) -> Path:
    path = folder / "s.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["question_id", "user_inputs", "final_response"])
        table.writerows(
            [question, '["a ""quoted"" turn"]', f"line one\nline two {at}"] for at, question in enumerate(questions)
        )
    return path


def ids(path: str | Path, dialect: str) -> list[str]:
    return [case.id for case in read_cases(Path(path), KIT.dialects[dialect])]


def test_the_same_seed_draws_the_same_lines_byte_for_byte(tmp_path: Path) -> None:
    source = legal(tmp_path)
    sample(source, KIT, tmp_path / "a.jsonl", 4, seed=1)
    sample(source, KIT, tmp_path / "b.jsonl", 4, seed=1)
    sample(source, KIT, tmp_path / "c.jsonl", 4, seed=2)
    drawn = (tmp_path / "a.jsonl").read_bytes()
    assert drawn == (tmp_path / "b.jsonl").read_bytes() != (tmp_path / "c.jsonl").read_bytes()
    lines = source.read_bytes().splitlines()
    assert [line for line in lines if line in drawn.splitlines()] == drawn.splitlines()
    assert len(drawn.splitlines()) == 4


def test_a_case_that_is_added_moves_at_most_one_other(tmp_path: Path) -> None:
    sample(legal(tmp_path, 10), KIT, tmp_path / "a.jsonl", 5, seed=3)
    sample(legal(tmp_path, 11), KIT, tmp_path / "b.jsonl", 5, seed=3)
    assert len(set(ids(tmp_path / "a.jsonl", "legal")) - set(ids(tmp_path / "b.jsonl", "legal"))) <= 1


def test_groups_are_drawn_in_proportion(tmp_path: Path) -> None:
    source = test_set(tmp_path, *["big"] * 6, *["small"] * 3, "")
    part = sample(source, KIT, tmp_path / "o.json", 5, by="tag", seed=1)
    assert part.groups == {"big": 3, "small": 2, "none": 0} or sum(part.groups.values()) == 5
    assert part.groups["big"] == 3
    drawn = json.loads((tmp_path / "o.json").read_text())
    assert drawn["name"] == "set"
    assert len(drawn["items"]) == 5


@pytest.mark.parametrize(
    ("count", "by"), [(0, ""), (11, ""), (3, "nonsense")], ids=["none", "too many", "no such label"]
)
def test_what_cannot_be_drawn_is_refused(count: int, by: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        sample(legal(tmp_path), KIT, tmp_path / "o.jsonl", count, by=by)
    assert not (tmp_path / "o.jsonl").exists()


def test_a_split_by_label_puts_every_case_in_one_file(tmp_path: Path) -> None:
    source = test_set(tmp_path, "a/b", "c", "", "c")
    parts = {Path(part.path).name: ids(part.path, "test-set") for part in split_by_label(source, KIT, tmp_path, "tag")}
    assert parts == {"t.a_b.json": ["i0"], "t.c.json": ["i1", "i3"], "t.none.json": ["i2"]}


def test_a_split_by_share_is_exact_and_complete(tmp_path: Path) -> None:
    first, rest = split_by_share(legal(tmp_path), KIT, tmp_path, 0.8, seed=1)
    assert (first.cases, rest.cases) == (8, 2)
    assert sorted(ids(first.path, "legal") + ids(rest.path, "legal")) == [f"q{number}" for number in range(10)]
    with pytest.raises(Conflict, match="exists already"):
        split_by_share(legal(tmp_path), KIT, tmp_path, 0.8, seed=1)
    with pytest.raises(InputError, match="one part would be empty"):
        split_by_share(legal(tmp_path, 1, "one.jsonl"), KIT, tmp_path, 0.5)
    with pytest.raises(InputError, match="between 0 and 1"):
        split_by_share(legal(tmp_path), KIT, tmp_path, 1.5)


def test_tables_keep_their_records_and_repeats_their_numbers(tmp_path: Path) -> None:
    source = simulation(tmp_path, "q1", "q1", "q2", "q3")
    sample(source, KIT, tmp_path / "o.csv", 4, seed=1)
    assert (tmp_path / "o.csv").read_bytes() == source.read_bytes()
    first, rest = split_by_share(source, KIT, tmp_path, 0.5, seed=1)
    both = [*ids(first.path, "simulation"), *ids(rest.path, "simulation")]
    assert sorted(both) == ["q1", "q1#2", "q2", "q3"]


def test_a_part_that_would_renumber_a_conversation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'q1#2' without those before it"):
        split_by_label(simulation(tmp_path, "q1", "q1"), KIT, tmp_path, "repeat")


def test_merging_keeps_equal_cases_once_and_refuses_one_id_for_two(tmp_path: Path) -> None:
    one, two = legal(tmp_path, 3), legal(tmp_path, 5, "m.jsonl")
    merged = merge([one, two], KIT, tmp_path / "o.jsonl")
    assert (merged.cases, merged.repeated) == (5, 3)
    assert (tmp_path / "o.jsonl").read_bytes() == two.read_bytes()
    other = legal(tmp_path, 1, "n.jsonl", context="else")
    with pytest.raises(DatasetInvalid) as raised:
        merge([one, other], KIT, tmp_path / "p.jsonl")
    assert [problem.code for problem in raised.value.problems] == ["duplicate-id"]
    assert not (tmp_path / "p.jsonl").exists()


def test_merged_test_sets_have_the_header_of_the_first(tmp_path: Path) -> None:
    one, two = test_set(tmp_path, "a"), test_set(tmp_path, "b", name="u.json", start=1)
    document = json.loads(two.read_text())
    two.write_text(json.dumps({**document, "name": "other"}))
    merged = merge([one, two], KIT, tmp_path / "o.json")
    assert merged.header_of == str(one)
    assert ids(tmp_path / "o.json", "test-set") == ["i0", "i1"]
    assert json.loads((tmp_path / "o.json").read_text())["name"] == "set"


def test_conversations_of_one_question_are_merged_as_repeats(tmp_path: Path) -> None:
    one = simulation(tmp_path, "q1")
    two = tmp_path / "two.csv"
    two.write_bytes(one.read_bytes().replace(b"line two 0", b"another answer"))
    merge([one, two], KIT, tmp_path / "o.csv")
    assert ids(tmp_path / "o.csv", "simulation") == ["q1", "q1#2"]


def test_files_of_several_dialects_are_not_merged(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"several dialects \(legal, test-set\)"):
        merge([legal(tmp_path), test_set(tmp_path, "a")], KIT, tmp_path / "o.jsonl")


def test_a_table_and_lines_of_many_groups_are_written_in_several_rounds(tmp_path: Path) -> None:
    rows = [mcq(f"q{number}", prompt=f"Q{number}?", dataset=f"d{number % 70}") for number in range(140)]
    source = write_rows(tmp_path / "l.jsonl", rows)
    (tmp_path / "out").mkdir()
    parts = split_by_label(source, KIT, tmp_path / "out", "dataset")
    assert [part.cases for part in parts] == [2] * 70
    assert sorted(one for part in parts for one in ids(part.path, "legal")) == sorted(ids(source, "legal"))
    assert len(list((tmp_path / "out").iterdir())) == 70


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_a_file_that_changes_between_looking_and_copying_gives_no_part(ending: str, tmp_path: Path) -> None:
    source = simulation(tmp_path, "a", "b") if ending == "csv" else legal(tmp_path, 2)
    original = OriginalFile(source, digest(source))
    source.write_bytes(source.read_bytes() + b"\n")
    with pytest.raises(Conflict, match="changed while it was being read"):
        write_parts(original, {tmp_path / f"part.{ending}": [0]})
    assert not (tmp_path / f"part.{ending}").exists()


def test_a_byte_order_mark_and_a_missing_last_line_break_do_no_harm(tmp_path: Path) -> None:
    source = legal(tmp_path, 3)
    source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes().rstrip(b"\n"))
    sample(source, KIT, tmp_path / "all.jsonl", 3)
    assert (tmp_path / "all.jsonl").read_bytes() == legal(tmp_path, 3, "again.jsonl").read_bytes()


def test_files_of_one_dialect_and_several_forms_are_not_merged(tmp_path: Path) -> None:
    table = simulation(tmp_path, "a")
    (tmp_path / "s.jsonl").write_text('{"question_id": "b", "user_inputs": ["x"], "final_response": "y"}\n')
    with pytest.raises(InputError, match=r"several forms \(\.csv, \.jsonl\)"):
        merge([table, tmp_path / "s.jsonl"], KIT, tmp_path / "o.csv")


def test_drawing_from_a_large_file_holds_ids_and_not_the_file(tmp_path: Path) -> None:
    source = legal(tmp_path, 3000, context="x" * 10_000)
    tracemalloc.start()
    sample(source, KIT, tmp_path / "few.jsonl", 5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert source.stat().st_size > 30_000_000
    assert peak < 10_000_000
