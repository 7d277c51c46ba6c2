"""Break 13: a check that says ok of damaged rows. Seeded alterations of a store, every one of which `howsure db check`
names, on both databases; and the audit log, whose cut end shows against an exported head."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from databases import IN_TURN, a_database
from hardening.alterations import Vandal, execute, unnamed
from howsure.main import program
from howsure.model.result import Result
from howsure.model.run import RunState
from howsure.model.score import Part, Score
from howsure.model.verdict import Verdict
from howsure.store import maintenance
from howsure.store.audit import AuditEntry, AuditHead, AuditReport
from howsure.store.integrity import RowProblem
from howsure.store.store import Store
from store.making import NOON, RUN, a_result, a_run

DEMO = Path(__file__).parents[2] / "src" / "howsure" / "demo" / "legal"
STORES = Path(__file__).parents[1] / "fixtures" / "stores"


@pytest.fixture(params=IN_TURN)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with a_database(request.param, tmp_path) as where:
        yield where


async def store_run(location: str, total: int, key: str = "") -> None:
    async with await Store.open(location, clock=lambda: NOON, integrity_key=key) as store:
        await store.create_run(a_run(total=total))
        verdicts = (Verdict.PASSED, Verdict.FAILED, Verdict.PASSED, Verdict.ERRORED, Verdict.SKIPPED)
        for start in range(0, total, 500):
            positions = range(start, min(start + 500, total))
            await store.save(RUN, [tagged_result(place, verdicts[place % 5]) for place in positions])
        await store.set_state(RUN, RunState.COMPLETED, completed_at=NOON)


def tagged_result(position: int, verdict: Verdict) -> Result:
    """With tags, and a rule whose value is a whole number."""
    rule = Score(name="rubric", value=1, pass_mark=1, part=Part(id="r1", text="be kind", scope="general"))
    plain = a_result(position, verdict)
    case = replace(plain.case, tags=("x", f"t{position % 3}"))
    return replace(plain, case=case, grades=(*plain.grades, rule))


async def check_alterations(location: str, total: int, number: int, seed: int) -> None:
    await store_run(location, total)
    sound = await maintenance.check(location)
    assert sound.rows == ()
    assert sound.unchecked == 0
    vandal = Vandal(location, RUN, total, seed)
    done = list(vandal.some(number))
    vandal.apply(done)
    found = await maintenance.check(location)
    assert not found.healthy
    assert unnamed(done, found) == []
    touched = {each.position for each in done}
    strangers = {row.position for row in found.rows if row.kind == "missing" and row.table == "results"} - touched
    assert not strangers


async def test_every_alteration_of_a_small_store_is_named(location: str) -> None:
    await check_alterations(location, total=300, number=91, seed=7)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 2])
async def test_a_thousand_alterations_of_ten_thousand_results_are_named(location: str, seed: int) -> None:
    await check_alterations(location, total=10_000, number=1_000, seed=seed)


RUN_ALTERATIONS = {
    "name": "name = 'other'",
    "total": "total = total + 1",
    "count": "passed = passed + 1, failed = failed - 1",
    "state": "state = 'failed'",
    "error": "error = 'x'",
    "end": "completed_at = '2020-01-01T00:00:00.000000+00:00'",
    "organisation": "organization_id = 'other'",
}


@pytest.mark.parametrize("change", RUN_ALTERATIONS.values(), ids=RUN_ALTERATIONS)
async def test_a_changed_run_is_named(location: str, change: str) -> None:
    await store_run(location, 5)
    execute(location, [f"UPDATE runs SET {change}"])
    found = await maintenance.check(location)
    named = [(row.kind, row.run_id) for row in found.rows if row.table == "runs"]
    assert named[:1] == [("altered", RUN)]


async def test_deleted_results_whose_counts_were_mended_are_found_by_the_seal(location: str) -> None:
    await store_run(location, 5)
    execute(location, ["DELETE FROM results WHERE position = 0", "UPDATE runs SET passed = passed - 1"])
    found = await maintenance.check(location)
    assert any(row.table == "runs" and "counts" in row.detail for row in found.rows)


async def test_with_a_key_rows_with_new_plain_checksums_are_found(location: str) -> None:
    await store_run(location, 5, key="secret")
    assert (await maintenance.check(location, integrity_key="secret")).healthy
    execute(location, ["UPDATE results SET duration_ms = 5.0 WHERE position = 2",
                       "UPDATE results SET checksum = NULL WHERE position = 2",
                       "UPDATE runs SET checksum = NULL"])  # fmt: skip
    assert await maintenance.seal(location) == 2
    named = {(row.kind, row.table, row.position) for row in await problems(location, "secret")}
    assert named == {("altered", "runs", None), ("altered", "results", 2)}
    assert len(await problems(location, "another")) > 5


async def problems(location: str, key: str) -> tuple[RowProblem, ...]:
    return (await maintenance.check(location, integrity_key=key)).rows


def test_the_key_of_the_environment_reaches_runs_and_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOWSURE_INTEGRITY_KEY", "secret")
    words = ["run", str(DEMO / "compliance.jsonl"), "--responses", str(DEMO / "responses.jsonl"), "--quiet"]
    assert CliRunner().invoke(program, words).exit_code == 3  # without a judge some cases err
    assert CliRunner().invoke(program, ["db", "check"]).exit_code == 0
    monkeypatch.delenv("HOWSURE_INTEGRITY_KEY")
    assert "altered in results" in CliRunner().invoke(program, ["db", "check"]).stdout


async def filled_log(location: str, entries: int) -> AuditHead:
    async with await Store.open(location) as store:
        for number in range(entries):
            entry = AuditEntry(id=f"e{number}", at=NOON, action="POST /x", subject=f"s{number}", actor="k1")
            await store.audit.add(entry)
        return await store.audit.head()


async def verified(location: str, head: AuditHead | None = None) -> AuditReport:
    async with await Store.open(location, read_only=True) as store:
        return await store.audit.verify(head)


CHANGES = {
    "actor": "actor = 'k2'",
    "subject": "subject = 'other'",
    "status": "status = 403",
    "time": "at = '2020-01-01T00:00:00.000000+00:00'",
    "address": "address = '10.0.0.1'",
    "hash": "hash = 'ab'",
    "previous": "previous = 'ab'",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_changed_entry_of_the_audit_log_is_named(location: str, change: str) -> None:
    await filled_log(location, 6)
    assert (await verified(location)).problems == ()
    execute(location, [f"UPDATE audit SET {change} WHERE sequence = 3"])
    assert any("entry 3 was changed" in problem for problem in (await verified(location)).problems)


async def test_deleted_added_and_swapped_entries_are_named(location: str) -> None:
    await filled_log(location, 12)
    execute(
        location,
        [
            "DELETE FROM audit WHERE sequence = 3",
            "UPDATE audit SET sequence = 99 WHERE sequence = 6",
            "UPDATE audit SET sequence = 6 WHERE sequence = 9",
            "UPDATE audit SET sequence = 9 WHERE sequence = 99",
            "INSERT INTO audit (id, organization_id, at, actor, action, subject, status, request_id, sequence) "
            "SELECT 'added', organization_id, at, actor, action, subject, status, request_id, 13 FROM audit "
            "WHERE sequence = 12",
        ],
    )
    told = "\n".join((await verified(location)).problems)
    for sentence in ("entry 3 is missing", "entry 6 was changed", "entry 9 was changed", "entry 13 was changed"):
        assert sentence in told


async def test_a_cut_end_shows_against_an_exported_head_only(location: str) -> None:
    head = await filled_log(location, 5)
    execute(location, ["DELETE FROM audit WHERE sequence > 3"])
    assert (await verified(location)).problems == ()
    assert (await verified(location, head)).problems == (
        "the log ends with entry 3 and the exported head is 5: its end was cut off",
    )
    await filled_log_again(location)
    assert (await verified(location, head)).problems == (
        "entry 5 is not the one of the exported head: the log was written anew",
    )


async def filled_log_again(location: str) -> None:
    async with await Store.open(location) as store:
        for number in range(3):
            await store.audit.add(AuditEntry(id=f"again{number}", at=NOON, action="POST /x"))


@pytest.mark.thorough
async def test_a_thousand_changed_entries_are_named(location: str) -> None:
    await filled_log(location, 3_000)
    chosen = Random(3).sample(range(1, 3_001), 1_000)
    execute(location, [f"UPDATE audit SET actor = actor || 'x' WHERE sequence = {number}" for number in chosen])
    told = (await verified(location)).problems
    assert {f"entry {number} was changed: its hash does not fit" for number in chosen} <= set(told)


async def test_many_processes_make_one_chain(location: str) -> None:
    async with await Store.open(location) as one, await Store.open(location) as other:
        adding = [
            store.audit.add(AuditEntry(id=f"{name}{number}", at=NOON, action="x"))
            for number in range(15)
            for name, store in (("a", one), ("b", other))
        ]
        await asyncio.gather(*adding)
    found = await verified(location)
    assert (found.entries, found.last, found.problems) == (30, 30, ())


async def test_the_chain_of_an_older_store_is_made_by_the_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    path.write_bytes(gzip.decompress((STORES / "schema_0006.db.gz").read_bytes()))
    columns = "id, organization_id, at, actor, action, subject, status, request_id"
    execute(
        str(path),
        [
            f"INSERT INTO audit ({columns}) VALUES ('{id}', 'é', '2026-01-0{day}T00:00:00.000000+00:00', 'me', 'PUT',"
            " '/x', 200, 'r')"
            for id, day in (("b", 2), ("a", 1), ("c", 3))
        ],
    )
    async with await Store.open(path) as store:
        before = len([entry async for entry in store.audit.entries()])
        await store.audit.add(AuditEntry(id="new", at=NOON, action="POST /x"))
    found = await verified(str(path))
    assert (found.entries, found.problems) == (before + 1, ())


async def test_rows_of_older_versions_are_counted_as_unchecked_until_they_are_sealed(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    path.write_bytes(gzip.decompress((STORES / "schema_0006.db.gz").read_bytes()))
    await maintenance.upgrade(path)
    found = await maintenance.check(path)
    assert found.healthy
    assert found.unchecked > 0
    assert await maintenance.seal(path) == found.unchecked
    again = await maintenance.check(path)
    assert (again.healthy, again.unchecked) == (True, 0)
    execute(str(path), ["UPDATE results SET verdict = 'passed' WHERE verdict = 'failed'"])
    assert not (await maintenance.check(path)).healthy
