"""Round trips: what a format can hold comes back, and what differs in the end stands in the report."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure.dialects.datasets import read_cases
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case, Script, SingleTurn, World, user_turns
from howsure.model.expectation import (
    AgentsInvolved,
    Choice,
    CorrectChoice,
    Criterion,
    ExpectedCall,
    FinalState,
    ReferenceAnswer,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
)
from howsure.policies.verdicts import builtin_profiles
from howsure.services.convert.convert import ENDINGS, ConversionReport, ConversionRequest, convert
from howsure.services.demo import DEMOS, demo_folder
from json_strategies import filled, literals

KIT = builtin_kit(builtin_profiles())
SLOW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
words = st.text("abcdefgh ,.!", min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
names = st.sampled_from(["lookup", "refund", "search"])
calls = st.builds(ExpectedCall, name=names, arguments=st.dictionaries(words, literals, max_size=2))
golden_kinds = st.tuples(
    st.none() | st.lists(calls, max_size=3).map(lambda some: ToolCalls(expected=tuple(some))),
    st.none() | st.lists(words, max_size=2).map(lambda some: Trajectory(steps=tuple(some))),
    st.none() | st.dictionaries(words, literals, min_size=1, max_size=2).map(lambda some: FinalState(variables=some)),
    st.none() | st.lists(words, min_size=1, max_size=2).map(lambda some: AgentsInvolved(names=tuple(some))),
)
goldens = st.builds(
    lambda turns, expected, state: Case(
        id="c1",
        input=Script(turns=tuple(turns)),
        expectations=tuple(one for one in expected if one is not None),
        world=World.GOLDEN,
        state=state,
    ),
    st.lists(filled, min_size=1, max_size=3),
    golden_kinds,
    st.dictionaries(words, literals, max_size=2),
)
criteria = st.lists(
    st.tuples(words, st.none() | st.integers(-3, 5)), min_size=1, max_size=3, unique_by=lambda one: one[0]
)
legals = st.builds(
    lambda prompt, expected: Case(
        id="c1",
        input=SingleTurn(message=prompt),
        expectations=(expected,),
        world=World.LEGAL,
        labels={"dataset": "d", "task_type": "?"},
    ),
    filled,
    st.one_of(
        criteria.map(
            lambda some: WeightedCriteria(
                criteria=tuple(
                    Criterion(id=f"k{at}", text=text, weight=weight) for at, (text, weight) in enumerate(some)
                )
            )
        ),
        st.lists(words, min_size=1, max_size=2).map(lambda some: ReferenceAnswer(answers=tuple(some))),
        st.just(CorrectChoice(choices=(Choice(id="A", text="yes"), Choice(id="B", text="no")), correct=("A",))),
    ),
)


def there_and_back(case: Case, own: str, other: str) -> tuple[Case, Case, Case, ConversionReport]:
    """The case as first read, as it is in the other format, as it came back, and the report of the way there."""
    with tempfile.TemporaryDirectory() as place:
        at = Path(place)
        first, between, last = (
            at / f"{name}{ENDINGS[kind][0]}" for name, kind in (("1", own), ("2", other), ("3", own))
        )
        KIT.dialects[own].write([case], first)
        report = convert(ConversionRequest(paths=(str(first),), to=other, output=between), KIT)
        convert(ConversionRequest(paths=(str(between),), to=own, output=last, source=other), KIT)
        return only(first, own), only(between, other), only(last, own), report


def only(path: Path, dialect: str) -> Case:
    (case,) = read_cases(path, KIT.dialects[dialect])
    return case


def told(report: ConversionReport) -> set[str]:
    """The fields that the report names, by their first words."""
    return {line.field for line in (*report.lost, *report.changed)}


@SLOW
@given(goldens)
def test_golden_to_test_set_and_back_loses_only_what_is_told(case: Case) -> None:
    first, _, last, report = there_and_back(case, "golden", "test-set")
    assert (last.id, user_turns(last.input), last.state) == (first.id, user_turns(first.input), first.state)
    named = {type(one): one for one in last.expectations}
    for expectation in first.expectations:
        if named.get(type(expectation)) != expectation:
            kind = expectation.__struct_config__.tag
            assert any(field.startswith(f"expectations.{kind}") for field in told(report))
        if isinstance(expectation, ToolCalls) and expectation.expected:
            assert named[ToolCalls] == expectation  # with arguments, order and repeats


@SLOW
@given(legals)
def test_legal_to_test_set_and_back_loses_only_what_is_told(case: Case) -> None:
    first, _, last, report = there_and_back(case, "legal", "test-set")
    assert (last.id, last.labels["dataset"]) == (first.id, "d")
    assert last.input == first.input or "expectations.correct_choice" in told(report)
    if last.expectations != first.expectations:
        assert any(field.startswith("expectations.") for field in told(report))
    graded = first.expectations[0]
    if isinstance(graded, ReferenceAnswer):
        assert last.expectations == (ReferenceAnswer(answers=graded.answers[:1]),)


@SLOW
@given(legals)
def test_legal_to_golden_and_back_loses_nothing(case: Case) -> None:
    first, between, last, report = there_and_back(case, "legal", "golden")
    assert last == first
    assert report.lost == ()
    if isinstance(first.expectations[0], CorrectChoice):
        assert user_turns(between.input)[0].endswith("A. yes\nB. no")


@pytest.mark.parametrize("demo", DEMOS, ids=lambda demo: demo.dialect)
def test_every_demo_comes_back_from_a_simulation_file(demo: Any, tmp_path: Path) -> None:
    source = demo_folder() / demo.dataset
    there, back = tmp_path / "there.jsonl", tmp_path / f"back{ENDINGS[demo.dialect][-1]}"
    convert(ConversionRequest(paths=(str(source),), to="simulation", output=there), KIT)
    report = convert(ConversionRequest(paths=(str(there),), to=demo.dialect, output=back, source="simulation"), KIT)
    cases = list(read_cases(source, KIT.dialects[demo.dialect]))
    if demo.dialect == "golden":
        assert "howsure_case" not in there.read_text(encoding="utf-8")  # columns say it all
    else:
        assert list(read_cases(there, KIT.dialects["simulation"])) == cases
    assert (report.lost, report.changed, report.skipped) == ((), (), ())
    if demo.dialect != "legal":
        assert list(read_cases(back, KIT.dialects[demo.dialect])) == cases


@pytest.mark.parametrize("kind", ["golden", "legal"])
def test_a_test_set_comes_back_whole_from_formats_with_free_metadata(kind: str, tmp_path: Path) -> None:
    (demo,) = [one for one in DEMOS if one.dialect == "test-set"]
    there, back = tmp_path / f"there{ENDINGS[kind][0]}", tmp_path / "back.json"
    way = convert(ConversionRequest(paths=(str(demo_folder() / demo.dataset),), to=kind, output=there), KIT)
    convert(ConversionRequest(paths=(str(there),), to="test-set", output=back), KIT)
    before = {case.id: case for case in read_cases(demo_folder() / demo.dataset, KIT.dialects["test-set"])}
    for case in read_cases(back, KIT.dialects["test-set"]):
        first = before[case.id]
        assert (case.name, case.tags, case.state) == (first.name, first.tags, first.state)
        assert case.input == first.input or any(field.startswith("input") for field in told(way))
        missing = [type(one).__name__ for one in first.expectations if one not in case.expectations]
        assert missing == []
