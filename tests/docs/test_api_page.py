"""docs/api.md: its reference is the one of the code, its examples run, and its numbers are those of the code."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.served import serving
from howsure.api import reference
from howsure.api.middleware import BODY_SECONDS, CHUNK_SECONDS
from howsure.api.openapi import read_meanings
from howsure.api.pages import LARGEST
from howsure.api.published import PUBLISHED_FIELDS
from howsure.client import errors
from howsure.client.blocking_client import BlockingFacade, Client
from howsure.client.connection import Retries
from howsure.config import ServiceSettings
from howsure.services.host.webhooks import sign

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "api.md"
SEEDS = ROOT / "tests" / "fixtures"
PAGE = FILE.read_text(encoding="utf-8")
OWN = PAGE.partition(reference.MARKER)[0]
SHELL = re.findall(r"```sh\n(.+?)```", OWN, re.DOTALL)
BLOCKS = re.findall(r"```python\n(.+?)```", OWN, re.DOTALL)
PYTHON = [block for block in BLOCKS if "howsure" in block]
CONFIGURATION: dict[str, Any] = {"target": "bot", "unknown_bots": False}
"""Every example runs on one service, which has a default target."""
DEFAULT = "http://127.0.0.1:8002/api/v1"


async def test_the_reference_is_up_to_date(tmp_path: Path) -> None:
    description = await reference.describe_service()
    assert reference.update_page(PAGE, description) == PAGE, "run: python -m howsure.api.reference docs/api.md"


def test_every_operation_and_shape_has_its_place() -> None:
    description = asyncio.run(reference.describe_service())
    for path, operations in description["paths"].items():
        for method in operations:
            assert f"| `{method.upper()} {path.removeprefix('/api/v1')}` |" in PAGE
    for name in description["components"]["schemas"]:
        assert f"### {name}\n" in PAGE


def fields_of(block: Any) -> Iterator[frozenset[str]]:
    """The fields of every object in a block of the document; of the free ones there, nothing."""
    for each in block if isinstance(block, list) else (block,):
        if isinstance(each, dict):
            yield frozenset(each)
            yield from (fields for key, value in each.items() if key not in FREE for fields in fields_of(value))


FREE = ("parameters", "severity_definitions", "component_scores", "scores")
SHOWN_BLOCKS = ("run", "result", "rubric", "test_set", "agent")


def test_what_is_not_marked_as_added_is_what_the_first_document_has() -> None:
    shapes = asyncio.run(reference.describe_service())["components"]["schemas"]
    for name, fields in PUBLISHED_FIELDS.items():
        assert fields <= set(shapes[name]["properties"]), name
    blocks = [json.loads((SEEDS / f"seed_003_{name}.json").read_text(encoding="utf-8")) for name in SHOWN_BLOCKS]
    told = {fields for block in blocks for fields in fields_of(block)}
    assert told - set(PUBLISHED_FIELDS.values()) == set()
    told_names = frozenset[str]().union(*told, ("score", "total", "passed", "comment", "message"))
    assert frozenset[str]().union(*PUBLISHED_FIELDS.values()) == told_names
    assert "| `sentence` | text | always | *added*: The result in words |" in PAGE
    assert "| `run_id` | text | always | The run: its id |" in PAGE
    assert "| `GET /stats` | *added*: " in PAGE


def test_every_field_and_parameter_says_what_it_means_and_no_meaning_is_idle() -> None:
    """A field that is a shape of its own is described there."""
    description, kept = asyncio.run(reference.describe_service()), read_meanings()
    fields = {
        (name, key): field
        for name, shape in description["components"]["schemas"].items()
        for key, field in shape.get("properties", {}).items()
    }
    assert [place for place, field in fields.items() if "$ref" not in field and not field.get("description")] == []
    silent = [
        f"{method} {path}: {each['name']}"
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
        for each in operation.get("parameters", ())
        if not each.get("description")
    ]
    assert silent == []
    shown = {f"{place}: {field.get('description')}" for (_, place), field in fields.items()}
    assert {f"{place}: {meaning}" for place, meaning in kept.fields.items()} - shown == set()
    own = {(shape, key) for shape, meanings in kept.shapes.items() for key in meanings}
    assert [each for each in own if fields.get(each, {}).get("description") != kept.shapes[each[0]][each[1]]] == []


def ran(command: list[str], given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=100, check=False, cwd=ROOT)


@pytest.mark.parametrize("number", range(len(SHELL)))
async def test_every_shell_example_works(tmp_path: Path, number: int) -> None:
    async with serving(tmp_path, hosts=("127.0.0.1",), **CONFIGURATION) as ask:
        script = 'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n' + SHELL[number].replace(
            DEFAULT, ask.base
        )
        done = await asyncio.to_thread(ran, ["bash"], script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


async def test_three_lines_lead_to_thirteen_results(tmp_path: Path) -> None:
    assert len(re.findall(r"curl ", SHELL[0])) == 3
    async with serving(tmp_path, **CONFIGURATION) as ask:
        done = await asyncio.to_thread(ran, ["bash"], SHELL[0].replace(DEFAULT, ask.base))
    assert done.stdout.count("event: end") == 1
    assert done.stdout.count('"result_id"') == 13


@pytest.mark.parametrize("number", range(len(PYTHON)))
async def test_every_python_example_works(tmp_path: Path, number: int) -> None:
    async with serving(tmp_path, **CONFIGURATION) as ask:
        script = PYTHON[number].replace("howsure.Client()", f"howsure.Client({ask.base!r})")
        done = await asyncio.to_thread(ran, [sys.executable, "-"], script)
    assert (done.returncode, done.stderr) == (0, "")
    assert ["13 of 13\n", "rules"][number] in done.stdout


def test_a_receiver_that_checks_signatures_as_the_page_shows_takes_ours_and_no_other() -> None:
    (block,) = (each for each in BLOCKS if each not in PYTHON)
    found: dict[str, Any] = {}
    exec(block, found)
    secret, now, body = "whsec_x", str(int(time.time())), b'{"id": "1"}'
    told = {"Howsure-Timestamp": now, "Howsure-Signature": sign(secret, now, body)}
    late = str(int(now) - 400)
    old = {"Howsure-Timestamp": late, "Howsure-Signature": sign(secret, late, body)}
    assert found["is_genuine"](secret, told, body)
    assert not found["is_genuine"](secret, told, body + b" ")
    assert not found["is_genuine"]("whsec_y", told, body)
    assert not found["is_genuine"](secret, {**told, "Howsure-Timestamp": str(int(now) - 1)}, body)
    assert not found["is_genuine"](secret, old, body)


def of_the_readme(language: str, word: str) -> str:
    """The one block of the README that has this word in it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = (each for each in re.findall(rf"```{language}\n(.+?)```", readme, re.DOTALL) if word in each)
    return str(block)


async def test_three_lines_of_the_readme_lead_to_a_finished_run_with_its_results(tmp_path: Path) -> None:
    script = of_the_readme("sh", "curl ")
    assert len(re.findall(r"curl ", script)) == 3
    async with serving(tmp_path, target="") as ask:
        done = await asyncio.to_thread(ran, ["bash", "-euo", "pipefail"], script.replace(DEFAULT, ask.base))
        (run,) = (await ask("GET", "/runs")).body
    assert done.returncode == 0, done.stdout + done.stderr
    assert (run["status"], run["total"], done.stdout.count("event: end")) == ("completed", 13, 1)
    assert done.stdout.count('"result_id"') == 13


async def test_the_client_of_the_readme_prints_what_failed(tmp_path: Path) -> None:
    script = of_the_readme("python", "howsure.Client")
    async with serving(tmp_path, target="") as ask:
        script = script.replace("howsure.Client()", f"howsure.Client({ask.base!r})")
        done = await asyncio.to_thread(ran, [sys.executable, "-"], script)
        (run,) = (await ask("GET", "/runs")).body
    assert (done.returncode, done.stderr) == (0, "")
    sentence, *failed = done.stdout.splitlines()
    assert (sentence, len(failed)) == (run["sentence"], run["failed"])


def test_the_readme_shows_lines_of_this_page() -> None:
    shown = [line.strip() for line in of_the_readme("sh", "curl ").splitlines() if "curl " in line]
    assert [line for line in shown if line not in OWN] == []


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"at most {LARGEST}." in OWN
    assert f"at most {ServiceSettings().largest_body // 2**20} MiB" in OWN
    assert f"pause for {CHUNK_SECONDS:.0f} seconds and take {BODY_SECONDS:.0f} in all" in OWN
    assert Retries().tries == 5
    assert "up to five times" in OWN


def test_every_method_and_error_of_the_client_is_named() -> None:
    def named(kind: type[Any]) -> list[str]:
        return [name for name in vars(kind) if not name.startswith("_") and callable(getattr(kind, name))]

    client = Client()
    parts = [type(part) for part in vars(client).values() if isinstance(part, BlockingFacade)]
    assert len(parts) == 11
    methods = {name for part in (*parts, Client) for name in named(part)} - {"close"}
    assert [name for name in sorted(methods) if f"`{name}" not in OWN] == []
    kinds = {kind.__name__ for kind in errors.KINDS.values()} | {"WaitedTooLong"}
    assert [name for name in sorted(kinds) if f"`{name}`" not in OWN] == []
