"""Every word of the model can be stored and read back: whatever it holds, and nothing that it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pkgutil import iter_modules
from random import Random
from types import ModuleType
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec import inspect as shape

from howsure import errors, model
from howsure.model import (
    access_scope,
    agent,
    calibration,
    case,
    comparison,
    document,
    expectation,
    job,
    label,
    llm_settings,
    result,
    rubric,
    run,
    run_history,
    score,
    simulation,
    summary,
    transcript,
    triage,
    verdict,
)

MODULES: tuple[ModuleType, ...] = (
    access_scope, agent, calibration, case, comparison, document, errors, expectation, job, label, llm_settings, result,
    rubric, run, run_history, score, simulation, summary, transcript, triage, verdict,
)  # fmt: skip
WORDS: list[type[Struct]] = [
    word
    for module in MODULES
    for word in vars(module).values()
    if isinstance(word, type) and issubclass(word, Struct) and word.__module__ == module.__name__
]
UNIONS: dict[str, Any] = {
    "Input": case.Input,
    "Expectation": expectation.Expectation,
    "Grade": score.Grade,
    "Step": transcript.Step,
    "Recording": transcript.Transcript | transcript.BrokenRecording,
}

TEXTS = ("", "a", "é\n", "\u2028\x00", "\U0001f600", "null", "2024-01-01", '"\\', "\x1f")
NUMBERS = (0.0, -0.0, 1.0, -2.5, 5e-324, 1.7976931348623157e308, 1 / 3, 1e16)
WHOLE = (0, 1, -1, 2**31, 2**53 + 1, -(2**62))
SCALES = (score.UNIT, score.LIKERT, score.OPEN, score.Scale(-3.5, 0))
PLAIN: dict[type[shape.Type], Sequence[Any]] = {
    shape.AnyType: (None, True, 0, 2**70, 0.5, "x", [], {}, [{"a": [None, 1]}], {"$any": True}, {"": ""}),
    shape.StrType: TEXTS,
    shape.IntType: WHOLE,
    shape.FloatType: NUMBERS,
    shape.BoolType: (True, False),
    shape.NoneType: (None,),
    shape.BytesType: (b"", b"\x00\xff", b"{}"),
    shape.DateTimeType: (datetime(2024, 2, 29, 23, 59, 59, 999999, UTC), datetime(1, 1, 1, tzinfo=UTC)),
}


def made(kind: shape.Type, random: Random) -> Any:
    """Something that a field of this type may hold. (Hypothesis needs minutes to build these by its own means.)"""
    match kind:
        case shape.EnumType(cls=cls):
            return random.choice(list(cls))
        case shape.UnionType(types=types):
            return made(random.choice(types), random)
        case shape.VarTupleType(item_type=inner):
            return tuple(made(inner, random) for _ in range(random.randrange(3)))
        case shape.TupleType(item_types=inners):
            return tuple(made(each, random) for each in inners)
        case shape.DictType(key_type=key, value_type=value):
            return {made(key, random): made(value, random) for _ in range(random.randrange(3))}
        case shape.StructType(cls=cls):
            return a_word(cls, random)
        case _:
            return random.choice(PLAIN[type(kind)])


described = cache(shape.type_info)


def a_word(cls: type[Struct], random: Random) -> Any:
    """Something of this class that may be built at all."""
    kind = described(cls)
    assert isinstance(kind, shape.StructType)
    fields = {field.name: made(field.type, random) for field in kind.fields}
    if cls is case.Script:
        fields["turns"] = (*fields["turns"], "at least one")
    if cls is score.Score:
        scale = random.choice(SCALES)
        fields |= {"scale": scale, "value": random.choice((scale.low, scale.high or scale.low + 1))}
    if cls is llm_settings.RateLimits:
        fields = {name: abs(rate) or 1.0 if rate is not None else None for name, rate in fields.items()}
    return cls(**fields)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
def test_what_is_stored_is_what_is_read(word: type[Struct]) -> None:
    for seed in range(25):
        thing = a_word(word, Random(seed))
        stored = msgspec.json.encode(thing)
        back = msgspec.json.decode(stored, type=word)
        assert back == thing, seed


@pytest.mark.parametrize("name", UNIONS)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), pick=st.integers(0, 11))
def test_a_union_is_read_back_as_the_kind_it_was(name: str, seed: int, pick: int) -> None:
    kinds = get_args(UNIONS[name])
    thing = a_word(kinds[pick % len(kinds)], Random(seed))
    back = msgspec.json.decode(msgspec.json.encode(thing), type=UNIONS[name])
    assert type(back) is type(thing)
    assert back == thing


@pytest.mark.parametrize("name", UNIONS)
def test_a_kind_nobody_knows_is_refused_and_so_is_none_at_all(name: str) -> None:
    kind: Any = UNIONS[name]
    strangers: tuple[Any, ...] = ({"kind": "unheard-of", "name": "x"}, {"name": "x"}, {"kind": 1}, [], None)
    for strange in strangers:
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
    thing = a_word(word, Random(1))
    with pytest.raises(AttributeError, match="immutable type"):
        setattr(thing, word.__struct_fields__[0], "changed")


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
def test_a_field_nobody_knows_is_refused_when_it_is_built(word: type[Struct]) -> None:
    with pytest.raises(TypeError):
        word(no_such_field=1)


def test_the_walk_found_the_whole_vocabulary() -> None:
    names = {word.__name__ for word in WORDS}
    assert names >= {"Agent", "Case", "Problem", "Profile", "Result", "Rubric", "Run", "Score", "Summary"}
    assert names >= {"Transcript", "Calibration", "JudgeTest", "Migration", "Decision", "Unscored", "Mishap"}
    assert names >= {"CallSettings", "Compared", "Document", "GateRuling", "History", "HumanLabel", "Job", "Noise"}
    assert names >= {"Simulation", "Sizing", "Triage", "Within"}
    assert len(WORDS) >= 100


def test_no_word_of_the_model_is_left_out() -> None:
    there = {module.name for module in iter_modules(model.__path__)}
    assert {module.__name__.rpartition(".")[2] for module in MODULES} - {"errors"} == there


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
