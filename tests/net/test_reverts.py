"""What `net.revert` takes back is still in the source, once; that rows notice is shown by running it."""

from __future__ import annotations

import pytest

from net.revert import REVERTS, SOURCE, Revert


def test_ten_mends_or_more_can_be_taken_back() -> None:
    assert len(REVERTS) >= 10


@pytest.mark.parametrize("revert", REVERTS, ids=[revert.mend for revert in REVERTS])
def test_the_text_of_the_mend_is_there_once(revert: Revert) -> None:
    assert (SOURCE / "howsure" / revert.file).read_text(encoding="utf-8").count(revert.mended) == 1
