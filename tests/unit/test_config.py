"""Settings: strict, all problems at once, later sources win."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.config import Settings, load, profiles
from howsure.errors import ConfigInvalid
from howsure.model.llm_settings import CallSettings
from howsure.model.verdict import Normalization, Profile


def written(folder: Path, text: str) -> Path:
    (folder / "howsure.yaml").write_text(text, encoding="utf-8")
    return folder


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load(tmp_path, {}) == Settings()


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    folder = written(tmp_path, "database: one.db\njudge: recorded:a.jsonl\n")
    settings = load(folder, {"HOWSURE_DATABASE_URL": "two.db"})
    assert (settings.database, settings.judge) == ("two.db", "recorded:a.jsonl")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("databse: x\n", "`databse` is not a setting"),
        ("max_concurrency: many\n", "`max_concurrency`: Expected `int`, got `str`"),
        ("max_concurrency: 0\n", "expected 1 or more, found 0"),
        ("document_characters: 0\n", "`document_characters`: expected 1 or more, found 0"),
        ("candidates: {x: {temperature: 1}}\n", "`candidates`: Object missing required field `model`"),
        ("candidates: {x: {model: gpt}}\n", "`candidates.x.model`: expected provider:model under a short name"),
        (
            "candidates: {x: {model: 'openai:a', temperature: 3}}\n",
            "`candidates.x`: `temperature`: expected a number from 0 to 2",
        ),
        ("- a\n- b\n", "expected settings by name, found list"),
        ("a: [1\n", "not readable as YAML"),
        ("profiles: {x: {mark: {}}}\n", "Object contains unknown field `mark`"),
        ("profiles: {x: {marks: {criteria: .nan}}}\n", "`profiles.x.marks.criteria`: expected a finite number"),
        ("profiles: {x: {composite_mark: .inf}}\n", "`profiles.x.composite_mark`: expected a finite number"),
        ("attempt_seconds: 0\n", "expected more than 0, found 0.0"),
        ("turn_seconds: 0\n", "`turn_seconds`: expected more than 0, found 0.0"),
        ("case_seconds: -1.5\n", "`case_seconds`: expected more than 0, found -1.5"),
        ("turn_seconds: .nan\n", "`turn_seconds`: expected more than 0, found nan"),
        ("targets: [shop]\n", "`targets`: Expected `object`, got `array`"),
        ("targets: {shop: http}\n", "`targets`: Expected `object`, got `str`"),
        ("targets: {recorded: {kind: http}}\n", "`targets.recorded`: the name has a meaning of its own in --target"),
        ("targets: {replay: {kind: http}}\n", "`targets.replay`: the name has a meaning of its own in --target"),
        (
            "simulator_settings: {temperature: 3}\n",
            "`simulator_settings`: `temperature`: expected a number from 0 to 2",
        ),
        ("simulator_settings: {warmth: 3}\n", "Object contains unknown field `warmth`"),
    ],
    ids=[
        "unknown key",
        "wrong type",
        "out of range",
        "no character",
        "no model",
        "no provider",
        "a candidate too warm",
        "not a mapping",
        "broken yaml",
        "unknown key inside",
        "a mark that is no number",
        "an endless mark",
        "no time at all",
        "no time for a turn",
        "less than no time",
        "time that is no number",
        "targets without names",
        "a target that is no block",
        "the name of recorded answers",
        "the name of a replay",
        "a simulator too warm",
        "a setting that no model has",
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"howsure\.yaml") as caught:
        load(written(tmp_path, text), {})
    assert told in str(caught.value)


def test_targets_and_simulators_are_read_as_they_stand(tmp_path: Path) -> None:
    text = """
targets:
  shop: {kind: http, url: "http://127.0.0.1:9/chat", headers: {x-key: $SHOP_KEY}}
  chat: {kind: chat, model: "openai:x"}
simulator: openai:gpt-5
simulator_settings: {temperature: 0.7, seed: 3}
turn_seconds: 20
case_seconds: 90.5
"""
    settings = load(written(tmp_path, text), {})
    assert settings.targets == {
        "shop": {"kind": "http", "url": "http://127.0.0.1:9/chat", "headers": {"x-key": "$SHOP_KEY"}},
        "chat": {"kind": "chat", "model": "openai:x"},
    }
    assert (settings.simulator, settings.simulator_settings) == ("openai:gpt-5", CallSettings(temperature=0.7, seed=3))
    assert (settings.turn_seconds, settings.case_seconds) == (20.0, 90.5)


def test_every_wrong_setting_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        load(written(tmp_path, "colour: red\njudge: 3\nplugins: x\n"), {})
    assert all(name in str(caught.value) for name in ("`colour`", "`judge`", "`plugins`"))


def test_an_explicit_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="no such configuration file"):
        load(tmp_path, {}, tmp_path / "other.yaml")


def test_a_byte_order_mark_and_an_empty_file_are_fine(tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_bytes(b"\xef\xbb\xbf")
    assert load(tmp_path, {}) == Settings()


def test_a_profile_takes_over_what_it_does_not_set(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        "profiles:\n  lenient:\n    extends: base\n    marks: {b: 2}\n    normalization: min_max\n",
    )
    base = Profile(name="base", marks={"a": 1, "b": 3}, weights={"a": 0.5}, composite_mark=3.5)
    known = profiles(load(folder, {}), {"base": base})
    assert known["lenient"] == Profile(
        name="lenient",
        marks={"a": 1, "b": 2},
        weights={"a": 0.5},
        composite_mark=3.5,
        normalization=Normalization.MIN_MAX,
    )


def test_extending_a_profile_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="extends `nobody`"):
        profiles(load(written(tmp_path, "profiles: {x: {extends: nobody}}\n"), {}), {})
