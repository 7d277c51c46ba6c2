"""Two engines over the same table: hypothesis, which changes valid inputs and shrinks what it finds, and atheris, which
follows the lines that an input reaches. Both stop when their time is over, and neither stops at a find."""

from __future__ import annotations

import mmap
import os
import resource
import struct
import sys
from hashlib import sha256
from importlib import import_module
from itertools import count
from pathlib import Path
from random import Random
from time import monotonic

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from fuzz.mutations import LARGEST, mutate
from fuzz.target import Find, Target, attempt, folder

MEMORY = 1 << 30
"""How much more memory a process may take than it has at its start, in bytes."""
ROUND = 300
CHANGES = 4
_HEAD = struct.Struct("<QQI")


class Board:
    """What a process does, to be seen by the one that started it: how many inputs were tried, how many finds there are,
    and the input that is being tried now, which would else be lost if the process hangs or is killed."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _HEAD.size + LARGEST)
        self.tried = self.found = 0

    def write(self, data: bytes) -> None:
        shown = data[:LARGEST]
        _HEAD.pack_into(self._memory, 0, self.tried, self.found, len(shown))
        self._memory[_HEAD.size : _HEAD.size + len(shown)] = shown

    def read(self) -> tuple[int, int, bytes]:
        tried, found, length = _HEAD.unpack_from(self._memory, 0)
        return tried, found, self._memory[_HEAD.size : _HEAD.size + length]


class Finds:
    """Writes every find once: its input, and how it broke."""

    def __init__(self, folder: Path, board: Board) -> None:
        self.known: set[str] = set()
        self._folder = folder
        self._board = board

    def attempt(self, target: Target, data: bytes) -> Find | None:
        """A find that is not known yet."""
        self._board.tried += 1
        self._board.write(data)
        find = attempt(target, data)
        return None if find is None or find.key in self.known else find

    def keep(self, find: Find) -> None:
        self.known.add(find.key)
        self._board.found += 1
        self._board.write(find.data)
        write_find(self._folder, find)


def write_find(folder: Path, find: Find) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{find.file_name}.input").write_bytes(find.data)
    (folder / f"{find.file_name}.txt").write_text(f"{find.key}\n\n{find.trace}", errors="backslashreplace")


class Broken(Exception):
    """Tells hypothesis that an input is a find."""


@st.composite
def inputs(draw: st.DrawFn, target: Target) -> bytes:
    """A valid input of the target after some changes. The random numbers are drawn too, so that finds shrink."""
    data = draw(st.sampled_from(target.seeds))
    random = draw(st.randoms(use_true_random=False))
    for _ in range(draw(st.integers(0, CHANGES))):
        data = mutate(data, random)
    return data


def run_hypothesis(target: Target, finds: Finds, seconds: float, seed: int, most: int | None = None) -> None:
    """Rounds of examples until the time is over, or `most` examples."""
    end = monotonic() + seconds
    usual = settings(
        max_examples=most or ROUND,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        print_blob=False,
    )
    for turn in count():
        find = _round(target, finds, usual, end, f"{seed}:{target.name}:{turn}")
        if find is not None:
            finds.keep(find)
        elif most or monotonic() > end:
            return


def warm_up() -> None:
    """Hypothesis reads all source files once: before the processes part, or each of them does."""
    settings(max_examples=1, database=None)(given(st.booleans())(lambda value: None))()


def _round(target: Target, finds: Finds, usual: settings, end: float, seed: str) -> Find | None:
    """The first find of some examples, made as small as it can be."""
    last: list[Find] = []

    @seeded(seed)
    @usual
    @given(inputs(target))
    def check(data: bytes) -> None:
        if monotonic() > end and not last:
            return
        find = finds.attempt(target, data)
        # While a find shrinks it must stay the same one.
        if find is not None and (not last or find.key == last[0].key):
            last[:] = [find]
            raise Broken(find.key)

    try:
        check()
    except Broken:
        return last[0]
    return None


def run_atheris(target: Target, finds: Finds, seconds: float, seed: int) -> None:
    """Never returns: libFuzzer ends the process."""
    atheris = import_module("atheris")

    def one_input(data: bytes) -> None:
        find = finds.attempt(target, bytes(data))
        if find is not None:
            finds.keep(find)

    def change(data: bytes, largest: int, number: int) -> bytes:
        """By structure, or as libFuzzer does: bytes, and words that the code compared them with."""
        random = Random(number)
        changed = mutate(bytes(data), random, largest) if random.random() < 0.5 else atheris.Mutate(data, largest)
        return bytes(changed)[:largest]

    corpus = folder() / "corpus"
    corpus.mkdir()
    for content in target.seeds:
        (corpus / sha256(content).hexdigest()).write_bytes(content[:LARGEST])
    options = [
        f"-max_total_time={max(1, int(seconds))}",
        f"-max_len={LARGEST}",
        f"-seed={seed % (1 << 31) or 1}",
        "-timeout=600",
        "-rss_limit_mb=0",
        "-verbosity=0",
        f"-artifact_prefix={corpus}/",
    ]
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    os.dup2(silence, sys.stderr.fileno())
    atheris.Setup(["fuzz", *options, str(corpus)], one_input, custom_mutator=change)
    atheris.Fuzz()


def limit_memory() -> None:
    """More memory than this is a MemoryError, and so a find."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))
