"""Calibrations are kept line by line, found by their judge, and told apart by its version."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from howsure.config import Settings
from howsure.errors import ConfigInvalid, DatasetInvalid, UnknownName
from howsure.judges.offline.about import MEASURED, NOT_MEASURED
from howsure.judges.prompt_files import prompts_fingerprint
from howsure.kit import Kit
from howsure.model.run import DatasetPin, Pins
from howsure.model.trust import Calibration, JudgePin
from howsure.services.fingerprints import fingerprint
from howsure.services.trust.about import about
from howsure.services.trust.calibrations import heads, keep, kept, named, pin_of_run, whole
from howsure.services.trust.figures import groups
from howsure.services.workspace import Workspace
from howsure.version import __version__
from unit.services.trust.making import ratings, verdicts

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(Settings(), Kit(), tmp_path)


def calibrated(spec: str = "offline", **pin: str) -> Calibration:
    things = [*verdicts((True, True), (False, True)), *ratings((4, 4), (2, 3), mark=3)]
    return Calibration(judge=JudgePin(spec=spec, **pin), at=AT, groups=tuple(groups(things)))


def test_what_is_kept_is_read_back_equal(work: Workspace) -> None:
    first, second = calibrated(), calibrated("openai:gpt-x")
    path = keep(work, first)
    assert keep(work, second) == path == work.folder / ".howsure" / "calibrations.jsonl"
    assert kept(work) == [first, second]


def test_nothing_was_kept_yet(work: Workspace) -> None:
    assert kept(work) == []
    assert not work.data_folder.exists()


def test_heads_say_of_which_judge_each_is_and_lead_to_the_whole(work: Workspace) -> None:
    assert (heads(work), whole(work, [])) == ([], [])
    made = [calibrated(), calibrated("openai:gpt-x"), calibrated(sha256="newer")]
    (path,) = {keep(work, each) for each in made}
    path.write_bytes(b"\n" + path.read_bytes())
    found = heads(work)
    assert [head.judge for head in found] == [each.judge for each in made]
    assert whole(work, [found[2], found[0]]) == [made[2], made[0]]
    keep(work, made[1])
    assert [head.judge.spec for head in heads(work)] == ["offline", "openai:gpt-x", "offline", "openai:gpt-x"]


def test_a_broken_head_is_named(work: Workspace) -> None:
    path = keep(work, calibrated())
    with path.open("ab") as file:
        file.write(b'{"judge": 1}\n')
    with pytest.raises(DatasetInvalid) as caught:
        heads(work)
    assert [(problem.code, problem.line) for problem in caught.value.problems] == [("not-a-calibration", 2)]


def test_a_broken_line_is_named(work: Workspace) -> None:
    path = keep(work, calibrated())
    with path.open("ab") as file:
        file.write(b'{"judge": 1}\n\xff\n')
    with pytest.raises(DatasetInvalid) as caught:
        kept(work)
    assert [(problem.code, problem.line) for problem in caught.value.problems] == [
        ("not-a-calibration", 2),
        ("not-a-calibration", 3),
    ]


async def test_the_offline_judge_comes_with_figures(work: Workspace) -> None:
    found = await about(work, "offline", {})
    assert found.measured == MEASURED
    assert found.not_measured == NOT_MEASURED
    assert found.calibrations == ()


async def test_the_newest_calibration_comes_first_and_other_versions_are_told(work: Workspace) -> None:
    keep(work, calibrated(sha256="of an older version"))
    keep(work, calibrated("openai:gpt-x"))
    keep(work, calibrated(sha256=fingerprint(["offline", __version__])))
    found = await about(work, "offline", {})
    assert [known.current for known in found.calibrations] == [True, False]


async def test_a_model_is_the_same_judge_while_its_prompts_are(work: Workspace) -> None:
    keep(work, calibrated("openai:gpt-x", prompts="of other words"))
    keep(work, calibrated("openai:gpt-x", prompts=prompts_fingerprint()))
    keep(work, calibrated("openai:gpt-x"))
    found = await about(work, "openai:gpt-x", {})
    assert [known.current for known in found.calibrations] == [None, True, False]
    assert found.measured == ()


async def test_a_judge_that_cannot_be_is_refused(work: Workspace) -> None:
    with pytest.raises(UnknownName, match="oracle"):
        await about(work, "oracle:delphi", {})
    with pytest.raises(ConfigInvalid, match="name a judge"):
        await about(work, "none", {})


def pins(judge: str, sha256: str) -> Pins:
    return Pins(datasets=(DatasetPin(path="d", sha256="0"),), target="recorded", judge=judge, judge_sha256=sha256)


@pytest.mark.parametrize("prompts", ["", "of its words"])
def test_the_judge_of_a_run_is_known_with_the_words_that_it_was_asked_in(prompts: str) -> None:
    found = pin_of_run(replace(pins("ollama:llama", "0a"), judge_prompts=prompts))
    assert (found.spec, found.sha256, found.prompts) == ("ollama:llama", "0a", prompts)


def test_a_recording_is_named_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert named("recorded:judge.jsonl") == f"recorded:{tmp_path.resolve() / 'judge.jsonl'}"
    assert named("offline") == "offline"
