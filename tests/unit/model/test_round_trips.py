"""Every word of the model can be stored and read back: whatever it holds, and nothing that it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from types import ModuleType
from typing import Any, Union, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec import inspect as shape

from assay import errors
from assay.model import (
    agent,
    case,
    expectation,
    profile,
    result,
    rubric,
    run,
    score,
    summary,
    transcript,
    trust,
    verdict,
)

MODULES: tuple[ModuleType, ...] = (
    agent, case, errors, expectation, profile, result, rubric, run, score, summary, transcript, trust, verdict,
)  # fmt: skip
WORDS: list[type[Struct]] = [
    word
    for module in MODULES
    for word in vars(module).values()
    if isinstance(word, type) and issubclass(word, Struct) and word.__module__ == module.__name__
]
UNIONS = {
    "Input": case.Input,
    "Expectation": expectation.Expectation,
    "Grade": score.Grade,
    "Step": transcript.Step,
    "Recording": transcript.Transcript | transcript.Mishap,
}

TEXT = st.text(max_size=6)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-(2**62), 2**62)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | WHOLE | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=3,
)
PLAIN: dict[type[shape.Type], st.SearchStrategy[Any]] = {
    shape.AnyType: ANYTHING,
    shape.StrType: TEXT,
    shape.IntType: WHOLE,
    shape.FloatType: NUMBERS,
    shape.BoolType: st.booleans(),
    shape.NoneType: st.none(),
    shape.DateTimeType: st.datetimes(timezones=st.just(UTC)),
}
SCALES = st.sampled_from([score.UNIT, score.LIKERT, score.OPEN, score.Scale(-3.5, 0)])


def values(kind: shape.Type) -> st.SearchStrategy[Any]:
    """Anything that a field of this type may hold."""
    match kind:
        case shape.EnumType(cls=cls):
            return st.sampled_from(list(cls))
        case shape.UnionType(types=types):
            return st.one_of([values(each) for each in types])
        case shape.VarTupleType(item_type=inner):
            return st.lists(values(inner), max_size=2).map(tuple)
        case shape.TupleType(item_types=inners):
            return st.tuples(*(values(each) for each in inners))
        case shape.DictType(key_type=key, value_type=value):
            return st.dictionaries(values(key), values(value), max_size=2)
        case shape.StructType(cls=cls):
            return words(cls)
        case _:
            return PLAIN[type(kind)]


def words(cls: type[Struct]) -> st.SearchStrategy[Any]:
    """Anything of this class that may be built at all."""
    described = shape.type_info(cls)
    assert isinstance(described, shape.StructType)
    fields = {field.name: values(field.type) for field in described.fields}
    if cls is case.Script:
        return st.builds(case.Script, turns=st.lists(TEXT, min_size=1, max_size=3).map(tuple))
    if cls is score.Score:
        return SCALES.flatmap(lambda scale: st.builds(score.Score, **_on(scale, fields)))
    return st.builds(cls, **fields)


def _on(scale: score.Scale, fields: Mapping[str, st.SearchStrategy[Any]]) -> dict[str, st.SearchStrategy[Any]]:
    inside = st.floats(scale.low, scale.high, allow_nan=False, allow_infinity=False)
    return {**fields, "scale": st.just(scale), "value": inside}


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_is_stored_is_what_is_read(word: type[Struct], data: st.DataObject) -> None:
    thing = data.draw(words(word))
    stored = msgspec.json.encode(thing)
    back = msgspec.json.decode(stored, type=word)
    assert back == thing
    assert msgspec.json.encode(back) == stored


@pytest.mark.parametrize("name", UNIONS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_union_is_read_back_as_the_kind_it_was(name: str, data: st.DataObject) -> None:
    union = UNIONS[name]
    thing = data.draw(st.sampled_from(get_args(union)).flatmap(words))
    back = msgspec.json.decode(msgspec.json.encode(thing), type=union)
    assert type(back) is type(thing)
    assert back == thing


@pytest.mark.parametrize("name", UNIONS)
def test_a_kind_nobody_knows_is_refused_and_so_is_none_at_all(name: str) -> None:
    kind: Any = Union[UNIONS[name]]  # noqa: UP007
    for strange in ({"kind": "unheard-of", "name": "x"}, {"name": "x"}, {"kind": 1}, [], None):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(strange, type=kind)


@pytest.mark.parametrize("name", UNIONS)
def test_the_kind_is_written_in_a_field_called_kind(name: str) -> None:
    tags = [kind.__struct_config__.tag for kind in get_args(UNIONS[name])]
    assert len(set(tags)) == len(tags)
    assert {kind.__struct_config__.tag_field for kind in get_args(UNIONS[name])} == {"kind"}


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
def test_nothing_in_the_model_can_be_changed(word: type[Struct]) -> None:
    assert word.__struct_config__.frozen
    blank = word.__new__(word)
    with pytest.raises(AttributeError, match="immutable type"):
        setattr(blank, word.__struct_fields__[0], "changed")


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
def test_a_field_nobody_knows_is_refused_when_it_is_built(word: type[Struct]) -> None:
    with pytest.raises(TypeError):
        word(no_such_field=1)


def test_the_walk_found_the_whole_vocabulary() -> None:
    names = {word.__name__ for word in WORDS}
    assert names >= {"Agent", "Case", "Problem", "Profile", "Result", "Rubric", "Run", "Score", "Summary"}
    assert names >= {"Transcript", "Calibration", "JudgeTest", "Migration", "Decision", "Unscored", "Mishap"}
    assert len(WORDS) >= 60


@pytest.mark.parametrize(
    "metadata",
    [
        {"big": 2**70, "negative": -(2**70)},
        {"text": "line\u2028break \x00 \U0001f600 \u202e"},
        {"": {"": [[], {}, None, False, 0, 0.0, ""]}},
        {"deep": [[[[[[[[[[1]]]]]]]]]]},
        {"$any": True},
        {"tiny": 5e-324, "large": 1.7976931348623157e308, "third": 1 / 3},
    ],
    ids=["beyond 64 bits", "odd characters", "empty things", "deep", "dollar keys", "every bit of a float"],
)
def test_metadata_is_kept_as_it_was(metadata: dict[str, Any]) -> None:
    kept = case.Case(id="1", input=case.SingleTurn(message="Hi"), metadata=metadata)
    back = msgspec.json.decode(msgspec.json.encode(kept), type=case.Case).metadata
    assert back == metadata
    assert repr(back) == repr(metadata)
