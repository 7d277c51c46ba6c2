"""Uploaded files: their dialect found out, every problem named, cases added and taken out without touching the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts import hosted, question
from howsure.errors import Conflict, DatasetInvalid, InputError, PlanRefused, RequestRefused
from howsure.model.access_scope import EVERYWHERE
from howsure.model.document import Document, DocumentKind
from howsure.reports.headlines import field_words
from howsure.services.host.uploads import (
    Upload,
    append_case,
    check_upload,
    content_with_case,
    content_without_case,
    drop_case,
    read_case_page,
)
from howsure.services.workspace import Host

DEMO = Path(__file__).parents[4] / "src" / "howsure" / "demo"
BOT = "def answer(text): return text"


def lines(*numbers: int) -> bytes:
    return b"".join(msgspec.json.encode(question(number)) + b"\n" for number in numbers)


async def kept(host: Host, content: bytes, name: str = "a.jsonl") -> Document:
    draft = await check_upload(host, Upload(content=content, name=name, agent_id="a1", author="ana"))
    return await host.store.documents.create(DocumentKind.DATASET, "d1", draft)


@pytest.mark.parametrize(
    ("file", "dialect", "cases"),
    [
        ("golden/moss_support_golden.json", "golden", 16),
        ("explain/support-onboarding.explain.jsonl", "explain", 20),
        ("legal/compliance.jsonl", "legal", 24),
        ("simulation/support-simulation.csv", "simulation", 13),
        ("test-set/test-set.json", "test-set", 12),
    ],
)
@pytest.mark.parametrize("named", [True, False], ids=["under its name", "under no name"])
async def test_the_dialect_is_found_out(tmp_path: Path, file: str, dialect: str, cases: int, named: bool) -> None:
    content = (DEMO / file).read_bytes()
    async with hosted(tmp_path, BOT) as host:
        draft = await check_upload(host, Upload(content=content, name=Path(file).name if named else "what was sent"))
        assert (draft.dialect, len(draft.case_ids), draft.body) == (dialect, cases, content)


async def test_every_problem_is_named_and_nothing_is_kept(tmp_path: Path) -> None:
    broken = lines(1) + b'{"schema_version": "legal_eval_v1", "id": "q2"}\n' + b"{half\n"
    async with hosted(tmp_path, BOT) as host:
        with pytest.raises(DatasetInvalid) as raised:
            await check_upload(host, Upload(content=broken, name="a.jsonl", dialect="legal"))
        assert {problem.line for problem in raised.value.problems} == {2, 3}


@pytest.mark.parametrize(
    ("upload", "error"),
    [
        (Upload(content=b"", name="a.jsonl"), DatasetInvalid),
        (Upload(content=b"   \n", name="a.csv"), DatasetInvalid),
        (Upload(content=b"hello", name="a.txt"), InputError),
        (Upload(content=lines(1), name="a.jsonl", dialect="golden"), DatasetInvalid),
        (Upload(content=lines(1), name="a.jsonl", dialect="nothing"), RequestRefused),
        (Upload(content=lines(1, 1), name="a.jsonl"), DatasetInvalid),
    ],
    ids=["empty", "blank", "no dialect's", "another dialect's", "an unknown dialect", "an id twice"],
)
async def test_what_is_no_dataset_is_refused(tmp_path: Path, upload: Upload, error: type[Exception]) -> None:
    async with hosted(tmp_path, BOT) as host:
        with pytest.raises(error):
            await check_upload(host, upload)


async def test_cases_are_read_page_by_page_in_the_order_of_the_file(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        document = await kept(host, lines(*range(7)))
        pages = [await read_case_page(host, document, start, 3) for start in (0, 3, 6, 9)]
        assert [[case.id for case in page] for page in pages] == [["q0", "q1", "q2"], ["q3", "q4", "q5"], ["q6"], []]


async def test_a_case_comes_and_goes_and_each_time_it_is_a_version(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        first = await kept(host, lines(1, 2))
        second = await append_case(host, first, question(3), "bo", EVERYWHERE)
        assert (second.edition.version, second.edition.author, second.edition.note) == (2, "bo", "a case was added")
        third = await drop_case(host, second, 0, "bo", EVERYWHERE)
        assert [case.id for case in await read_case_page(host, third, 0, 9)] == ["q2", "q3"]
        assert third.edition.body == lines(2, 3)
        assert (third.name, third.agent_id) == ("a.jsonl", "a1")
        # Whoever changes what is no longer the newest is told so.
        with pytest.raises(Conflict):
            await append_case(host, second, question(4), "bo", EVERYWHERE)


async def test_a_case_that_is_wrong_is_not_added(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        document = await kept(host, lines(1))
        for wrong in ({"id": "q2"}, question(1)):
            with pytest.raises(DatasetInvalid):
                await append_case(host, document, wrong, "bo", EVERYWHERE)
        with pytest.raises(DatasetInvalid):
            await drop_case(host, document, 0, "bo", EVERYWHERE)
        assert (await host.store.documents.get(DocumentKind.DATASET, "d1")).latest == 1


GOLDEN: dict[str, Any] = {"golden_questions": [{"id": "g1"}, {"id": "g2"}], "version": 2}


@pytest.mark.parametrize("name", ["golden_questions", "questions", "items"])
def test_a_whole_file_keeps_everything_else(name: str) -> None:
    content = json.dumps({"version": 2, name: [{"id": "g1"}], "about": "x"}, indent=4).encode()
    assert json.loads(content_with_case(content, {"id": "g2"})) == {
        "version": 2,
        name: [{"id": "g1"}, {"id": "g2"}],
        "about": "x",
    }


def test_a_bare_list_is_a_list_of_cases() -> None:
    content = json.dumps([{"id": "g1"}, {"id": "g2"}], indent=1).encode()
    assert json.loads(content_with_case(content, {"id": "g3"})) == [{"id": "g1"}, {"id": "g2"}, {"id": "g3"}]
    assert json.loads(content_without_case(content, 0)) == [{"id": "g2"}]


def test_a_record_of_a_table_is_taken_out_and_none_is_added() -> None:
    content = b'\xef\xbb\xbfid,text\r\n1,"a\nb"\r\n2,c\r\n'
    assert content_without_case(content, 0) == b"id,text\r\n2,c\r\n"
    assert content_without_case(content, 1) == b'id,text\r\n1,"a\nb"\r\n'
    with pytest.raises(PlanRefused, match="cannot be added to a CSV file"):
        content_with_case(content, {"id": 3})


def test_a_file_without_a_list_of_cases_says_so() -> None:
    content = json.dumps({"things": []}, indent=1).encode()
    with pytest.raises(PlanRefused, match="expected one of golden_questions, questions, items"):
        content_with_case(content, {"id": "x"})


@settings(max_examples=60, deadline=None)
@given(
    numbers=st.lists(st.integers(0, 99), min_size=1, max_size=8, unique=True),
    blank=st.booleans(),
    end=st.sampled_from([b"\n", b"\r\n", b""]),
    data=st.data(),
)
def test_only_the_line_that_is_taken_out_is_missing(
    numbers: list[int], blank: bool, end: bytes, data: st.DataObject
) -> None:
    """Lines of any length and ending; blank ones count for nothing and stay."""
    between = b"\n\n" if blank else b"\n"
    content = between.join(json.dumps(question(number)).encode() for number in numbers) + end
    place = data.draw(st.integers(0, len(numbers) - 1))
    left = [json.loads(line) for line in content_without_case(content, place).splitlines() if line.strip()]
    assert left == [question(number) for number in numbers if number != numbers[place]]
    more = [json.loads(line) for line in content_with_case(content, question(100)).splitlines() if line.strip()]
    assert more == [question(number) for number in (*numbers, 100)]


async def test_a_configuration_that_names_other_files_is_not_taken(tmp_path: Path) -> None:
    config = {"prompts": ["file://*.json"], "providers": ["echo"], "tests": [{"vars": {"v": "file://other.jsonl"}}]}
    content = json.dumps(config).encode()
    async with hosted(tmp_path, BOT) as host:
        with pytest.raises(InputError, match="a promptfoo file is not taken here"):
            await check_upload(host, Upload(content=content, name="promptfooconfig.json", dialect="promptfoo"))
        with pytest.raises((InputError, DatasetInvalid)):
            await check_upload(host, Upload(content=content, name="promptfooconfig.json"))


async def test_a_refusal_names_the_uploaded_file_and_what_to_call_the_column(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        with pytest.raises(InputError) as caught:
            await check_upload(host, Upload(content=b"frage,antwort\nWarum?,Darum\n", name="fragen.csv"))
        told = field_words(str(caught.value))
        assert told.startswith("fragen.csv: not recognised: no column says what the user asks")
        assert "; call it input, question, query, prompt" in told
        assert "map" not in told
        with pytest.raises(DatasetInvalid) as invalid:
            table = "question,expected\nWarum?,D\xe4rum\n".encode("latin-1")
            await check_upload(host, Upload(content=table, name="fragen.csv", dialect="plain"))
        (problem,) = invalid.value.problems
        assert problem.file == "fragen.csv"
        assert "fragen.csv" in problem.hint
