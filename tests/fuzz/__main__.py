"""The command behind `make fuzz`. Loads nothing of Howsure by itself: atheris must see it being loaded.

python -m fuzz --minutes 60                      all targets, 60 minutes together
python -m fuzz --minutes 5 --only dialect        those whose name has this word
python -m fuzz --repeat fuzz-finds/x.input       one find again, with its trace
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


def main(words: Sequence[str]) -> int:
    options = ArgumentParser(prog="python -m fuzz", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    options.add_argument("--minutes", type=float, default=60.0)
    options.add_argument("--engine", choices=("hypothesis", "atheris"), default="hypothesis")
    options.add_argument("--only", default="")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--finds", type=Path, default=Path("fuzz-finds"))
    options.add_argument("--repeat", type=Path)
    given = options.parse_args(words)
    if given.engine == "atheris" and find_spec("atheris") is None:
        print("atheris is not installed here: hypothesis alone")
        return 0
    with ExitStack() as around:
        if given.engine == "atheris":
            # It says of every module that it is being instrumented.
            around.enter_context(redirect_stderr(around.enter_context(open(os.devnull, "w"))))
            around.enter_context(import_module("atheris").instrument_imports(include=["howsure"]))
        fuzz = import_module("fuzz.runner").fuzz
    return int(fuzz(given))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
