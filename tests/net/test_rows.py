"""Every row of the net: its effect is there with the option, and is not there without it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from net.observe import differences
from net.rows import Row
from net.runner import INSTALLED, Runner
from net.servers import loopback
from net.table import ROWS


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with loopback() as address:
        places = {"MODEL": address, "BOT": address, "PORT": address.rpartition(":")[2]}
        yield Runner(tmp_path_factory.mktemp("net"), places)


FIRST = {row.of: row for row in reversed(ROWS) if not row.slow}
SHOWN = ROWS if INSTALLED else list(FIRST.values())
"""One for each option in `make test`; all of them in `make test-net`."""


@pytest.mark.parametrize("row", SHOWN, ids=[f"{row.of}: {row.shows}" for row in SHOWN])
def test_the_effect_is_there_with_it_and_not_without(row: Row, runner: Runner) -> None:
    with_it, without = runner.sides(row)
    assert differences(row.expect, with_it) == []
    assert differences(row.absent, without) == [], "on the other side"
    assert differences(row.expect, without) != [], "the effect is there without it, too"
