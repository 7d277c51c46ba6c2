"""The JSON Schema of howsure.yaml says of a file what reading it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from msgspec import Struct

from howsure.config import load
from howsure.errors import ConfigInvalid
from howsure.kit.plugins import TARGET_KINDS, builtin_kit
from howsure.kit.settings_schema import settings_schema
from howsure.targets.base import TargetRequest

GOOD = [
    "{}",
    "judge: offline",
    "max_concurrency: 3",
    "attempt_seconds: 7",
    "plugins: [a.py, b.py]",
    "profiles: {p: {extends: prep_default, marks: {criteria: 0.5}, composite_mark: 3, normalization: min_max}}",
    "contracts: {plan: {type: object}, other: plan.json}",
    "prices: {our-model: {prompt: 1, completion: 2.5}}",
    "panel: {members: [offline], rule: unanimous}",
    "panel: null",
    "judge_settings: {temperature: 0, stop: [END], extra: {a: [1, 2]}}",
    "turn_seconds: null",
    "rates: {'*': {requests_per_minute: 60}}",
    "retry: {attempts: 1}",
    "gates: ['pass_rate >= 0.9']",
    "service: {bots: {a: b}, https: true}",
    "engine: ray",
    "cluster: {env: [A], resources: {num_cpus: 1}}",
    "targets: {shop: {kind: http, url: 'http://127.0.0.1:9/'}}",
]
BAD = [
    "colour: red",
    "judge: 3",
    "max_concurrency: many",
    "max_concurrency: 1.5",
    "plugins: a.py",
    "profiles: {p: {mark: {}}}",
    "profiles: {p: {marks: {criteria: high}}}",
    "profiles: {p: {normalization: loud}}",
    "contracts: {plan: [1]}",
    "panel: {rule: mean}",
    "panel: {members: [offline], rule: loudest}",
    "judge_settings: {warmth: 1}",
    "judge_settings: {seed: first}",
    "rates: {'*': {calls: 1}}",
    "gates: pass_rate >= 0.9",
    "service: {runs: some}",
    "service: {https: 'yes'}",
    "engine: abacus",
    "cluster: {shard: 1.5}",
    "targets: [shop]",
    "targets: {shop: http}",
]


SCHEMA = jsonschema_rs.Draft202012Validator(settings_schema(builtin_kit(())))


def complaints(text: str) -> list[str]:
    return [error.message for error in SCHEMA.iter_errors(yaml.safe_load(text))]


@pytest.mark.parametrize("text", GOOD)
def test_what_can_be_read_fits_the_schema(text: str, tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text(text)
    load(tmp_path, {})
    assert complaints(text) == []


@pytest.mark.parametrize("text", BAD)
def test_what_cannot_be_read_does_not_fit_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text(text)
    with pytest.raises(ConfigInvalid):
        load(tmp_path, {})
    assert complaints(text) != []


@pytest.mark.parametrize(
    ("block", "fits"),
    [
        ("{kind: http, url: 'http://127.0.0.1:9/', stream: sse, delta: a}", True),
        ("{kind: http, adress: 'http://127.0.0.1:9/'}", False),
        ("{kind: http, url: 'http://127.0.0.1:9/', stream: loud}", False),
        ("{kind: http, url: 'http://127.0.0.1:9/', session: {open: {}}}", False),
        ("{kind: command, command: [python3, bot.py], mode: server}", True),
        ("{kind: command, command: python3 bot.py, mode: often}", False),
        ("{kind: adk, url: 'http://127.0.0.1:9/', app_name: shop}", True),
        ("{kind: adk, url: 'http://127.0.0.1:9/', app_name: shop, app: x}", False),
    ],
)
def test_the_block_of_a_target_is_held_to_its_kind(block: str, fits: bool, tmp_path: Path) -> None:
    given: dict[str, Any] = yaml.safe_load(block)
    kind = next(each for each in TARGET_KINDS if each.name == given["kind"])
    request = TargetRequest(name="shop", settings=given, folder=tmp_path, environ={"PATH": "/usr/bin:/bin"})
    read = given if kind.name in ("http", "command") else {key: given[key] for key in given if key != "kind"}
    request = TargetRequest(name="shop", settings=read, folder=tmp_path, environ=request.environ)
    assert (complaints(f"targets: {{shop: {block}}}") == []) is fits
    if fits:
        kind.make(request)
    else:
        with pytest.raises(ConfigInvalid):
            kind.make(request)


def test_a_kind_that_nobody_has_does_not_fit() -> None:
    assert complaints("targets: {shop: {kind: telepathy}}") != []
    assert complaints("targets: {shop: {url: x}}") != []


def test_a_plug_in_s_kind_brings_its_settings() -> None:
    class CourierSettings(Struct):
        """How the courier is reached."""

        street: str
        """Where it lives."""

    class Courier:
        name = "courier"
        settings = CourierSettings

    kit = builtin_kit(())
    kit.kinds.add(Courier())  # type: ignore[arg-type]
    schema = jsonschema_rs.Draft202012Validator(settings_schema(kit))
    assert schema.is_valid({"targets": {"c": {"kind": "courier", "street": "Elm"}}})
    assert not schema.is_valid({"targets": {"c": {"kind": "courier", "road": "Elm"}}})
    part = settings_schema(kit)["$defs"]["CourierSettings"]["properties"]["street"]
    assert part["description"] == "Where it lives."
