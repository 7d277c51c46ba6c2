"""Tags and labels of a case, apart from its body: one line each, found by looking for that line."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from howsure.model.score import Part, Score
from howsure.model.verdict import Verdict
from howsure.store.codecs import CaseTags, decode_tags, encode_tags, tag_lines
from howsure.store.result_lists import ResultFilter
from howsure.store.results import ResultGrades
from howsure.store.run_columns import CasePreview
from howsure.store.store import Store
from howsure.testing import a_case
from store.making import RUN, a_result, a_run, asked

HOSTILE = ('"', "a\nb", "=", '="a":"b"', "\\", "ü", "\u2028", "", ": ", "a: b: c", "\t")


def test_a_case_without_any_has_no_face() -> None:
    assert encode_tags(a_case()) == b""
    assert decode_tags(b"") == CaseTags()


def test_each_stands_on_its_own_line() -> None:
    case = a_case(tags=("easy", 'says "hi"'), labels={"area": "money"})
    assert encode_tags(case) == b'\n"easy"\n"says \\"hi\\""\n="area":"money"\n'


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_they_say_is_read_back(text: str) -> None:
    case = a_case(tags=(text, "other"), labels={"name": text, text or "empty": "value"})
    assert decode_tags(encode_tags(case)) == CaseTags(case.tags, case.labels)


@pytest.mark.parametrize(
    ("tag", "lines"),
    [
        ("easy", [b'\n"easy"\n']),
        ("area: money", [b'\n"area: money"\n', b'\n="area":"money"\n']),
        ("a: b: c", [b'\n"a: b: c"\n', b'\n="a":"b: c"\n', b'\n="a: b":"c"\n']),
    ],
)
def test_a_label_is_looked_for_by_its_name_and_value(tag: str, lines: list[bytes]) -> None:
    assert tag_lines(tag) == lines


async def test_a_tag_is_found_whole_and_not_by_a_part_of_it(store: Store) -> None:
    marked: list[dict[str, Any]] = [
        {"tags": ("order",)},
        {"tags": ("orders", "late")},
        {"labels": {"order": "orders"}},
        {"labels": {"x": "order"}, "tags": ("a: b",)},
        {"labels": {"a": "b"}},
        {"tags": HOSTILE[:6]},
        {},
    ]
    await store.create_run(a_run(total=len(marked)))
    cases = [a_case(id=f"c{place}", **fields) for place, fields in enumerate(marked)]
    await store.save(RUN, [replace(a_result(place), case=case) for place, case in enumerate(cases)])
    wanted = ("order", "orders", "a: b", *HOSTILE[:6])
    found = {tag: await store.browse.positions(RUN, ResultFilter(tag=tag)) for tag in wanted}
    assert found == {"order": [0], "orders": [1], "a: b": [3, 4], **{tag: [5] for tag in HOSTILE[:6]}}
    assert await store.browse.positions(RUN, ResultFilter(tag="order: orders")) == [2]
    assert (await store.case_previews(RUN))[1:3] == [
        CasePreview("c1", ("orders", "late")),
        CasePreview("c2", (), {"order": "orders"}),
    ]


async def test_a_case_that_comes_again_keeps_its_tags(store: Store) -> None:
    await store.create_run(a_run(total=2))
    again = [a_result(place, case="same", repeat=place + 1) for place in (1, 0)]
    await store.save(RUN, again[:1])
    await store.save(RUN, again[1:])
    assert await asked(store, "SELECT position, length(face) FROM cases") == [(0, 0)]


async def test_grades_are_read_without_the_talk(store: Store) -> None:
    rule = Score(name="rubric", value=0, pass_mark=1, part=Part(id="R1", text="Be kind"))
    await store.create_run(a_run(total=3))
    await store.save(RUN, [a_result(place, Verdict.FAILED, grades=(rule,)) for place in range(3)])
    assert await store.result_grades(RUN, [2, 0, 9]) == [
        ResultGrades(0, "case-0", "", 1, (rule,)),
        ResultGrades(2, "case-2", "", 1, (rule,)),
    ]


async def test_how_each_rule_ended_is_kept_when_a_run_ends(store: Store) -> None:
    def grades(first: bool, second: bool) -> tuple[Score, ...]:
        held = (("R1", first), ("R2", second))
        rules = [Score(name="rubric", value=float(ok), pass_mark=1, part=Part(id=id, text=id)) for id, ok in held]
        return (*rules, Score(name="criteria", value=0, pass_mark=1, part=Part(id="R1", text="another")))

    await store.create_run(a_run(total=3))
    tried = [(True, True), (True, False), (False, False)]
    await store.save(RUN, [a_result(place, grades=grades(*each)) for place, each in enumerate(tried)])
    # A criterion of a case that has the same id is none of them.
    expected = {"R1": {"passed": 2, "failed": 1}, "R2": {"passed": 1, "failed": 2}}
    assert (await store.count(RUN)).rules == expected


async def test_a_run_without_rules_has_none(store: Store) -> None:
    await store.create_run(a_run())
    await store.save(RUN, [a_result(0)])
    assert (await store.count(RUN)).rules == {}
