"""Every canonical export of an edition, to be compared byte for byte with those of another: the demo, and each file of
the shared data as it is validated, converted to every dialect, and run with the offline judge on what it brings, or on
the answers of a bot that repeats the question.

    python bench/canonical_exports.py make FOLDER --shared ../shared    with the edition of this environment
    python bench/canonical_exports.py compare FIRST SECOND
    python bench/canonical_exports.py verdicts FIRST SECOND             every verdict that is another

`--package NAME` makes those of an edition that has another name; `compare --rename OLD=NEW` reads its outputs with the
new name.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from hashlib import sha256
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

DIALECTS = ("golden", "test-set", "simulation", "explain", "legal")
SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".yaml", ".eval")
BOT = "def answer(text):\n    return f'You said: {text}'\n"
CASES = "25"
"""Of each file that are run."""


class Edition:
    """The commands of one edition, called in this process."""

    def __init__(self, package: str) -> None:
        self._program = import_module(f"{package}.main").program

    def __call__(self, *words: str) -> tuple[int, bytes]:
        """The exit code, and what was printed."""
        printed = BytesIO()
        stream, errors = TextIOWrapper(printed, write_through=True), TextIOWrapper(BytesIO(), write_through=True)
        with redirect_stdout(stream), redirect_stderr(errors):
            try:
                self._program.main([*words], standalone_mode=True)
            except SystemExit as ended:
                return ended.code if isinstance(ended.code, int) else 0, printed.getvalue()
        return 0, printed.getvalue()


def exports(edition: Edition, shared: Path | None) -> Iterator[tuple[str, bytes]]:
    """The name of each export, and its bytes."""
    _, printed = edition("demo", "--json")
    for run in json.loads(printed):
        name = run.get("name") or run["run_id"]
        yield f"demo/{name}", edition("results", run["run_id"], "--canonical")[1]
    files = sorted(shared.rglob("*")) if shared else []
    for path in files:
        if path.is_file() and path.suffix in SUFFIXES:
            name = str(path.relative_to(shared or path))
            for kind, content in of_file(edition, path):
                yield f"data/{name}/{kind}", content.replace(str(path).encode(), name.encode())


def of_file(edition: Edition, path: Path) -> Iterator[tuple[str, bytes]]:
    code, printed = edition("validate", str(path), "--json")
    yield "validate.json", b"%d\n" % code + printed
    if code == 0:
        yield from of_run(edition, path, "run.jsonl")
    for dialect in DIALECTS:
        output = Path(f"{dialect}.{'jsonl' if dialect in ('simulation', 'explain', 'legal') else 'json'}")
        code, printed = edition("convert", str(path), "--to", dialect, "-o", str(output), "--json", "--force")
        yield f"to-{dialect}.said.json", b"%d\n" % code + printed
        if output.exists():
            yield f"to-{dialect}", output.read_bytes()
            yield from of_run(edition, output, f"to-{dialect}.run.jsonl")
            output.unlink()


def of_run(edition: Edition, path: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """With the answers that the file brings; where it brings none, with those of the bot."""
    words = ("run", str(path), "--judge", "offline", "--limit", CASES, "--quiet")
    code, _ = edition(*words)
    if code not in (0, 3):
        code, _ = edition(*words, "--target", "function:echo_bot:answer", "--no-cache")
    if code in (0, 3):
        yield name, edition("results", "latest", "--canonical")[1]
        edition("runs", "--json")
    else:
        yield name, b"exit %d\n" % code


def make(folder: Path, package: str, shared: Path | None) -> None:
    folder, shared = folder.resolve(), shared.resolve() if shared else None
    folder.mkdir(parents=True, exist_ok=True)
    index: dict[str, str] = {}
    with TemporaryDirectory() as place:
        os.chdir(place)
        sys.path.insert(0, place)
        Path("echo_bot.py").write_text(BOT)
        for name, content in exports(Edition(package), shared / "data" if shared else None):
            digest = sha256(content).hexdigest()
            (folder / digest).write_bytes(content)
            index[name] = digest
        os.chdir(folder)
    (folder / "index.json").write_text(json.dumps(index, indent=1))
    print(f"{len(index):,} exports in {folder}")


def compare(first: Path, second: Path, rename: str) -> int:
    old, _, new = rename.partition("=")
    indexes: list[dict[str, Any]] = [json.loads((each / "index.json").read_text()) for each in (first, second)]
    unlike: list[str] = []
    for name in sorted({*indexes[0], *indexes[1]}):
        both = [
            (folder / index[name]).read_bytes() if name in index else b""
            for folder, index in zip((first, second), indexes, strict=True)
        ]
        if old:
            for form in (str.lower, str.capitalize, str.upper):
                both = [each.replace(form(old).encode(), form(new).encode()) for each in both]
        if both[0] != both[1]:
            unlike.append(name)
    print(f"{len(indexes[0]):,} and {len(indexes[1]):,} exports; {len(unlike):,} differ")
    print("\n".join(unlike))
    return bool(unlike)


def verdicts(first: Path, second: Path) -> int:
    indexes: list[dict[str, Any]] = [json.loads((each / "index.json").read_text()) for each in (first, second)]
    results = changed = 0
    for name in sorted({*indexes[0]} & {*indexes[1]}):
        before, after = (
            _results((folder / index[name]).read_bytes())
            for folder, index in zip((first, second), indexes, strict=True)
        )
        for attempt in before.keys() & after.keys():
            results += 1
            old, new = before[attempt], after[attempt]
            if old["verdict"] != new["verdict"]:
                changed += 1
                print(f"{name} {attempt[0]}: {old['verdict']} → {new['verdict']}: {'; '.join(new['reasons'][:1])}")
    print(f"{results:,} results in both; {changed:,} have another verdict")
    return bool(changed)


def _results(content: bytes) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The results of an export by case, candidate and repeat; none where it is not the export of a run."""
    try:
        lines = [json.loads(line) for line in content.splitlines()]
    except ValueError:
        return {}
    own = [line for line in lines if isinstance(line, dict) and "verdict" in line and "case_id" in line]
    return {(line["case_id"], line.get("candidate"), line.get("repeat")): line for line in own}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("make")
    making.add_argument("folder", type=Path)
    making.add_argument("--package", default="howsure")
    making.add_argument("--shared", type=Path)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    comparing.add_argument("--rename", default="", metavar="OLD=NEW")
    looking = verbs.add_parser("verdicts")
    looking.add_argument("first", type=Path)
    looking.add_argument("second", type=Path)
    given = parser.parse_args()
    if given.verb == "make":
        make(given.folder, given.package, given.shared)
    elif given.verb == "verdicts":
        sys.exit(verdicts(given.first, given.second))
    else:
        sys.exit(compare(given.first, given.second, given.rename))
