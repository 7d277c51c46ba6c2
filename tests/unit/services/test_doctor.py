"""The doctor: what is well, what is not, and what to do about it."""

from __future__ import annotations

from pathlib import Path

from assay.config import Settings
from assay.services.doctor import Finding, examine
from assay.services.runs import start
from assay.services.workplace import Workplace
from assay.version import __version__
from unit.services.places import Counting, asking, house, unwatched, workplace


async def findings(work: Workplace) -> dict[str, Finding]:
    return {each.what: each for each in await examine(work)}


async def test_a_healthy_place_is_found_healthy(tmp_path: Path) -> None:
    found = await findings(workplace(tmp_path))
    assert list(found) == ["assay", "python", "sqlite", "database", "settings", "kit", "terminal"]
    assert all(each.well for each in found.values())
    assert found["assay"].found == __version__
    assert found["settings"].found == "no assay.yaml: defaults hold"
    assert found["database"].found == ".assay/assay.db, no runs yet"
    assert found["kit"].found.startswith("5 dialects, 1 targets, ")


async def test_runs_settings_and_plugins_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "assay.yaml").write_text("judge: offline\n", encoding="utf-8")
    work = workplace(tmp_path, Counting())
    await start(work, asking(house(tmp_path)), unwatched)
    found = await findings(work)
    assert found["database"].found == ".assay/assay.db, has runs"
    assert found["settings"].found == "assay.yaml"
    assert ", 2 targets, " in found["kit"].found


async def test_a_database_that_is_none_is_bad_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "not-a-database").write_text("hello " * 100, encoding="utf-8")
    found = await findings(workplace(tmp_path, settings=Settings(database=str(tmp_path / "not-a-database"))))
    assert found["database"].well is False
    assert found["database"].hint == "set ASSAY_DATABASE_URL or --database"
    assert [each.what for each in found.values() if not each.well] == ["database"]
