"""Bands: a judge that is worth something gives the better answer the higher value."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.config import Settings
from howsure.errors import ConfigInvalid, DatasetInvalid, PlanRefused, UnknownName
from howsure.judges.judge_prompts import prompts_fingerprint
from howsure.judges.offline.opinions import MEASURED, NOT_MEASURED
from howsure.kit.plugins import builtin_kit
from howsure.model.calibration import Calibration, GradesByBand, JudgePin
from howsure.model.run import DatasetPin, Pins
from howsure.model.run_request import RunRequest
from howsure.model.score import Direction, Score
from howsure.services.compare.comparability import mismatch_texts
from howsure.services.files import fingerprint
from howsure.services.judge.agreement import agreement_groups
from howsure.services.judge.calibrate import grades_by_band, read_banded_grades
from howsure.services.judge.judge_records import (
    CALIBRATIONS,
    about_judge,
    full_spec,
    is_same_judge,
    load_calibrations,
    read_heads,
    run_judge_pin,
)
from howsure.services.workspace import Workspace
from howsure.stats.agreement_intervals import band_agreement
from howsure.version import __version__
from unit.services.judge.labelled_grades import a_result, checked, rated, ratings, stream, verdicts


async def bands(*given: tuple[str, float | None], key: str = "quality_band") -> GradesByBand:
    labels: list[dict[str, Any]] = [{key: band} for band, _ in given]
    results = [a_result(f"c{n}", rated(value), **labels[n]) for n, (_, value) in enumerate(given)]
    (found,) = grades_by_band(await read_banded_grades(stream(results), key), key)
    return found


async def test_bands_stand_worst_first_with_the_mean_of_each() -> None:
    found = await bands(("excellent", 5), ("poor", 1), ("poor", 2), ("good", 4), ("mixed", None))
    assert [(band.value, band.mean.value, band.mean.n, band.unscored) for band in found.bands] == [
        ("poor", 1.5, 2, 0),
        ("mixed", None, 0, 1),
        ("good", 4.0, 1, 0),
        ("excellent", 5.0, 1, 0),
    ]
    assert found.spearman is not None
    assert found.spearman.value == pytest.approx(0.9487, abs=1e-4)
    assert found.ordered is not None
    assert (found.ordered.value, found.ordered.n) == (1.0, 5)


@pytest.mark.parametrize(
    ("known", "share"),
    [
        ([(0, 1), (1, 2)], 1.0),
        ([(0, 2), (1, 1)], 0.0),
        ([(0, 1), (1, 1)], 0.5),
        ([(0, 1), (0, 5)], None),
        ([(0, 1), (1, 2), (2, 1.5)], pytest.approx(2 / 3)),
    ],
)
def test_the_share_of_pairs_in_the_right_order(known: list[tuple[float, float]], share: float | None) -> None:
    found = band_agreement([place for place, _ in known], [value for _, value in known], range(len(known)))
    assert found.ordered == share


async def test_a_key_with_numbers_has_their_order_and_one_with_words_has_none() -> None:
    numbers = await bands(("10", 5), ("9", 4), ("2", 1), key="level")
    assert [band.value for band in numbers.bands] == ["2", "9", "10"]
    assert numbers.ordered is not None
    assert numbers.ordered.value == 1.0
    words = await bands(("easy", 5), ("hard", 1), key="difficulty")
    assert (words.spearman, words.ordered) == (None, None)
    assert [band.value for band in words.bands] == ["easy", "hard"]


async def test_where_low_is_good_the_order_is_turned() -> None:
    def toxic(value: float) -> Score:
        return Score(name="Toxicity", value=value, direction=Direction.LOWER, judge="j")

    results = [a_result("a", toxic(0.9), quality_band="poor"), a_result("b", toxic(0.1), quality_band="good")]
    (found,) = grades_by_band(await read_banded_grades(stream(results), "quality_band"), "quality_band")
    assert found.ordered is not None
    assert found.ordered.value == 1.0
    assert [band.mean.value for band in found.bands] == [0.9, 0.1]


async def test_criteria_and_grades_that_no_judge_gave_are_left_out() -> None:
    by_program = Score(name="tool_calls", value=1.0)
    results = [a_result("a", by_program, checked(True, "k"), rated(4), quality_band="good")]
    assert [each.grader for each in await read_banded_grades(stream(results), "quality_band")] == ["RelevanceExplain"]


async def test_without_the_key_there_is_nothing_to_compare() -> None:
    with pytest.raises(PlanRefused, match="none of 1 results has both `quality_band`"):
        await read_banded_grades(stream([a_result("a", rated(4))]), "quality_band")


async def test_an_interval_stays_on_the_scale_and_needs_two_values() -> None:
    found = await bands(("good", 5), ("good", 5), ("good", 3), ("poor", 1))
    poor, good = found.bands
    assert poor.mean.interval is None
    assert good.mean.interval is not None
    assert good.mean.interval[0] > 1.0 and 4.8 < good.mean.interval[1] <= 5.0


async def test_tries_of_one_case_are_not_cases_of_their_own() -> None:
    """Three cases, tried four times each, say as much as three cases."""
    tries = [a_result(f"c{case}", rated(case + 2), quality_band="good") for case in range(3) for _ in range(4)]
    (found,) = grades_by_band(await read_banded_grades(stream(tries), "quality_band"), "quality_band")
    alone = await bands(("good", 2), ("good", 3), ("good", 4))
    assert found.bands[0].mean.n == 12
    assert found.bands[0].mean.interval == pytest.approx(alone.bands[0].mean.interval)


AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(Settings(), builtin_kit(()), tmp_path)


def calibrated(spec: str = "offline", **pin: Any) -> Calibration:
    things = [*verdicts((True, True), (False, True)), *ratings((4, 4), (2, 3), mark=3)]
    return Calibration(judge=JudgePin(spec=spec, **pin), at=AT, groups=tuple(agreement_groups(things)))


def test_what_is_kept_is_read_back_equal(work: Workspace) -> None:
    first, second = calibrated(), calibrated("openai:gpt-x")
    path = CALIBRATIONS.append(work, first)
    assert CALIBRATIONS.append(work, second) == path == work.folder / ".howsure" / "calibrations.jsonl"
    assert CALIBRATIONS.read_all(work) == [first, second]


def test_nothing_was_kept_yet(work: Workspace) -> None:
    assert CALIBRATIONS.read_all(work) == []
    assert not work.data_folder.exists()


def test_heads_say_of_which_judge_each_is_and_lead_to_the_whole(work: Workspace) -> None:
    assert (read_heads(work), load_calibrations(work, [])) == ([], [])
    made = [calibrated(), calibrated("openai:gpt-x"), calibrated(sha256="newer")]
    (path,) = {CALIBRATIONS.append(work, each) for each in made}
    path.write_bytes(b"\n" + path.read_bytes())
    found = read_heads(work)
    assert [head.judge for head in found] == [each.judge for each in made]
    assert load_calibrations(work, [found[2], found[0]]) == [made[2], made[0]]
    CALIBRATIONS.append(work, made[1])
    assert [head.judge.spec for head in read_heads(work)] == ["offline", "openai:gpt-x", "offline", "openai:gpt-x"]


def test_a_broken_head_is_named(work: Workspace) -> None:
    path = CALIBRATIONS.append(work, calibrated())
    with path.open("ab") as file:
        file.write(b'{"judge": 1}\n')
    with pytest.raises(DatasetInvalid) as caught:
        read_heads(work)
    assert [(problem.code, problem.line) for problem in caught.value.problems] == [("not-a-calibration", 2)]


def test_a_broken_line_is_named(work: Workspace) -> None:
    path = CALIBRATIONS.append(work, calibrated())
    with path.open("ab") as file:
        file.write(b'{"judge": 1}\n\xff\n')
    with pytest.raises(DatasetInvalid) as caught:
        CALIBRATIONS.read_all(work)
    assert [(problem.code, problem.line) for problem in caught.value.problems] == [
        ("not-a-calibration", 2),
        ("not-a-calibration", 3),
    ]


async def test_the_offline_judge_comes_with_figures(work: Workspace) -> None:
    found = await about_judge(work, "offline", {})
    assert found.measured == MEASURED
    assert found.not_measured == NOT_MEASURED
    assert found.calibrations == ()


async def test_the_newest_calibration_comes_first_and_other_versions_are_told(work: Workspace) -> None:
    CALIBRATIONS.append(work, calibrated(sha256="of an older version"))
    CALIBRATIONS.append(work, calibrated("openai:gpt-x"))
    CALIBRATIONS.append(work, calibrated(sha256=fingerprint(["offline", __version__])))
    found = await about_judge(work, "offline", {})
    assert [known.current for known in found.calibrations] == [True, False]


async def test_a_model_is_the_same_judge_while_its_prompts_are(work: Workspace) -> None:
    CALIBRATIONS.append(work, calibrated("openai:gpt-x", prompts="of other words"))
    CALIBRATIONS.append(work, calibrated("openai:gpt-x", prompts=prompts_fingerprint()))
    CALIBRATIONS.append(work, calibrated("openai:gpt-x"))
    found = await about_judge(work, "openai:gpt-x", {})
    assert [known.current for known in found.calibrations] == [None, True, False]
    assert found.measured == ()


async def test_a_judge_that_cannot_be_is_refused(work: Workspace) -> None:
    with pytest.raises(UnknownName, match="oracle"):
        await about_judge(work, "oracle:delphi", {})
    with pytest.raises(ConfigInvalid, match="name a judge"):
        await about_judge(work, "none", {})


def pins(judge: str, sha256: str) -> Pins:
    return Pins(
        request=RunRequest(target="recorded", judge=judge),
        datasets=(DatasetPin(path="d", sha256="0"),),
        judge_sha256=sha256,
    )


@pytest.mark.parametrize("prompts", ["", "of its words"])
def test_the_judge_of_a_run_is_known_with_the_words_that_it_was_asked_in(prompts: str) -> None:
    found = run_judge_pin(replace(pins("ollama:llama", "0a"), judge_prompts=prompts))
    assert (found.spec, found.sha256, found.prompts) == ("ollama:llama", "0a", prompts)


def test_a_recording_is_named_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert full_spec("recorded:judge.jsonl") == f"recorded:{tmp_path.resolve() / 'judge.jsonl'}"
    assert full_spec("offline") == "offline"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (("recorded:a", "1", ("openai:x",)), ("recorded:b", "2", ("openai:x",)), True),
        (("recorded:a", "1", ("openai:x",)), ("recorded:b", "2", ("openai:y",)), False),
        (("recorded:a", "1", ()), ("recorded:b", "2", ()), False),
        (("recorded:a", "1", ()), ("recorded:b", "1", ()), True),
        (("openai:x", "1", ()), ("openai:x", "2", ()), False),
    ],
    ids=["one judge in two files", "two judges", "nobody is named", "a copy", "other settings"],
)
def test_recordings_of_one_judge_are_one_judge(
    first: tuple[str, str, tuple[str, ...]], second: tuple[str, str, tuple[str, ...]], same: bool
) -> None:
    pins = [JudgePin(spec=spec, sha256=sha256, recorded=names) for spec, sha256, names in (first, second)]
    assert is_same_judge(pins[0], pins[1]) is same
    runs = [
        Pins(request=RunRequest(judge=spec), judge_sha256=sha256, recorded_judges=names)
        for spec, sha256, names in (first, second)
    ]
    warned = [each for each in mismatch_texts(runs[0], runs[1], []) if each.startswith("judge:")]
    # Recordings that name nobody are taken for one where runs are compared.
    assert (not warned) is (same or not (first[2] or first[0] == second[0]))
