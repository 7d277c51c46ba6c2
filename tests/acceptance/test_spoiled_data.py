"""Real files with something wrong in them, as files come: a field gone, a value of another kind, the end cut off.
Whatever it is, reading gives cases and problems, converting gives a file that can be read or a refusal, and nothing
breaks. `HOWSURE_SPOILED=200` tries harder."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from howsure.dialects.base import Importer
from howsure.dialects.importers.base import ImportOptions
from howsure.errors import HowsureError, Level, Problem
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case
from howsure.policies.verdicts import builtin_profiles
from howsure.services.convert.convert import ENDINGS, ConversionRequest, convert

pytestmark = [pytest.mark.shared, pytest.mark.slow, pytest.mark.thorough]

KIT = builtin_kit(builtin_profiles())
READERS: list[Importer] = [*KIT.dialects, *KIT.importers]
LARGEST = {".json": 200_000, ".jsonl": 3_000_000, ".csv": 3_000_000}
LINES = 20
TRIES = int(os.environ.get("HOWSURE_SPOILED", "3"))
ODD: list[Any] = [None, "", 0, -1, [], {}, "x", True, 1.5, [None], {"a": None}, ["x"], [[]], "{}", "[1]", 10**30, "  "]
CELLS = ["", "x", "{", "[1]", "null", "-1", "nan"]
Place = tuple[str | int, ...]


def places(value: Any, before: Place = ()) -> Iterator[Place]:
    """Every place in a value; of long lists, the first few."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:6]) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*before, key)
        yield from places(each, (*before, key))


def spoil(value: Any, random: Random) -> Any:
    """One to three things about it are no longer as they were."""
    for _ in range(random.choice([1, 1, 2, 3])):
        found = list(places(value))
        if not found:
            return random.choice(ODD)
        *way, last = random.choice(found)
        holder = value
        for step in way:
            holder = holder[step]
        if random.random() < 0.3:
            del holder[last]
        else:
            holder[last] = random.choice(ODD)
    return value


def spoiled_cell(cell: str, random: Random) -> str:
    try:
        return json.dumps(spoil(json.loads(cell), random))
    except ValueError:
        return random.choice([*CELLS, cell[: len(cell) // 2]])


def spoiled(path: Path, random: Random) -> bytes:
    """The file with one record, one cell or one place changed, or its end cut off."""
    whole = path.read_bytes()
    if random.random() < 0.1:
        return whole[: random.randrange(len(whole))]
    match path.suffix:
        case ".json":
            return json.dumps(spoil(json.loads(whole), random)).encode()
        case ".jsonl":
            lines = [line for line in whole.splitlines() if line.strip()][:LINES]
            chosen = random.randrange(len(lines))
            lines[chosen] = json.dumps(spoil(json.loads(lines[chosen]), random)).encode()
            return b"\n".join(lines) + b"\n"
        case _:
            rows = list(csv.reader(io.StringIO(whole.decode("utf-8-sig"))))[:LINES]
            row = random.choice(rows)
            chosen = random.randrange(len(row))
            row[chosen] = spoiled_cell(row[chosen], random)
            written = io.StringIO()
            csv.writer(written).writerows(rows)
            return written.getvalue().encode()


def readers_of(path: Path) -> list[Importer]:
    head = path.read_bytes()[:65_536]
    return [reader for reader in READERS if reader.detect(path, head)]


@pytest.mark.parametrize(
    "folder",
    ["ace_rubrics", "adk_evalsets", "azure_agent_eval", "langfuse_traces", "lexam", "mmlu_law", "tau2_bench", "demo"],
)
def test_whatever_is_wrong_with_a_file_it_is_read_or_refused(
    folder: str, shared_data: Callable[..., Path], tmp_path: Path
) -> None:
    demo = Path(__file__).parents[2] / "src" / "howsure" / "demo"
    base = demo if folder == "demo" else shared_data(folder)
    random, tried = Random(7), 0
    for path in (each for each in sorted(base.rglob("*")) if each.stat().st_size < LARGEST.get(each.suffix, 0)):
        for reader in readers_of(path):
            for _ in range(TRIES):
                (tmp_path / path.name).write_bytes(spoiled(path, random))
                read_and_convert(tmp_path / path.name, reader, random)
                tried += 1
    assert tried > 0


def read_and_convert(path: Path, reader: Importer, random: Random) -> None:
    try:
        found = list(reader.read(path))
    except HowsureError as refused:
        assert str(refused)
        return
    assert all(isinstance(each, Case | Problem) for each in found)
    to = random.choice(["golden", "test-set", "simulation", "explain", "legal"])
    output = path.with_name(f"converted{random.choice(ENDINGS[to])}")
    order = ConversionRequest(
        paths=(str(path),),
        to=to,
        output=output,
        source=reader.name,
        force=True,
        options=ImportOptions(per_turn=random.random() < 0.5),
    )
    try:
        convert(order, KIT)
    except HowsureError as refused:
        assert str(refused)
        return
    again = [each for each in KIT.dialects[to].read(output) if isinstance(each, Problem)]
    assert [each for each in again if each.level is Level.ERROR] == [], order
