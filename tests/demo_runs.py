"""The runs of the demo, made once for all tests of a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from howsure.services.demo import DEMOS, demo_request
from howsure.services.run.start import start
from howsure.services.workspace import Workspace


def demo_runs(place: Path, *dialects: str) -> Workspace:
    """The workplace of a folder where these demos have run, as `demo DIALECT`."""
    with pytest.MonkeyPatch.context() as here:
        here.chdir(place)
        work = Workspace.here(environ={})
        for demo in DEMOS:
            if demo.dialect in dialects:
                asyncio.run(start(work, demo_request(demo), lambda _: lambda __: None))
    return work
