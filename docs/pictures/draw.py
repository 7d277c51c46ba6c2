"""The drawings of docs/statistics.md, made anew from the numbers that Howsure itself computes: `make drawings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.special import expit

from howsure.services.few_cases import CaseVerdicts, SampleRequest, choose_cases
from howsure.stats.confidence_sequences import anytime_interval, first_decision
from howsure.stats.intervals import Interval, wilson
from howsure.stats.items import shrink_rates
from howsure.stats.paired_differences import paired_rates
from howsure.stats.rankings import Comparisons, bradley_terry, rank_intervals, value_interval
from howsure.stats.rate_correction import JudgedAnswers, correct_rate
from howsure.stats.raters import accuracies, dawid_skene

HERE = Path(__file__).parent
LEFT, RIGHT, WIDTH = 190.0, 600.0, 640
BLUE, GREY, RED = "#2563eb", "#9ca3af", "#dc2626"
Row = tuple[str, float, Interval | None, str]
"""Its words, the value, the interval, and the colour."""


def framed(name: str, title: str, height: float, marks: Sequence[str]) -> None:
    """One drawing, with the same head as the others."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" font-family="sans-serif"'
    head += f' font-size="13" fill="#222" role="img" aria-label="{title}">'
    ground = f'<rect width="{WIDTH}" height="{height:g}" fill="#fff"/>'
    (HERE / f"{name}.svg").write_text("\n".join([head, ground, *marks, "</svg>\n"]), encoding="utf-8")


def words(x: float, y: float, text: str, anchor: str = "end", colour: str = "#222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{text}</text>'


def stroke(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def intervals(
    name: str, title: str, rows: Sequence[Row], ticks: Mapping[float, str], marked: float | None = None
) -> None:
    """A dot and a bar for each row; `marked`: a dashed line, such as the truth."""
    low, high = min(ticks), max(ticks)

    def at(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (min(max(value, low), high) - low) / (high - low)

    bottom = 24 + 30 * len(rows)
    marks = [stroke(at(tick), 14, at(tick), bottom, 'stroke="#ddd"') for tick in ticks]
    marks += [words(at(tick), bottom + 18, text, "middle") for tick, text in ticks.items()]
    if marked is not None:
        marks.append(stroke(at(marked), 14, at(marked), bottom, f'stroke="{RED}" stroke-dasharray="4 3"'))
    for place, (text, value, interval, colour) in enumerate(rows):
        y = 34 + 30 * place
        marks.append(words(LEFT - 12, y + 4, text))
        if interval is not None:
            ends = f'stroke="{colour}" stroke-width="7" stroke-linecap="round"'
            marks.append(stroke(at(interval[0]), y, at(interval[1]), y, ends))
        marks.append(f'<circle cx="{at(value):.1f}" cy="{y}" r="5" fill="#111"/>')
    framed(name, title, bottom + 30, marks)


PERCENT = {each / 100: f"{each} %" for each in (0, 20, 40, 60, 80, 100)}


def until_sure() -> None:
    """One run that stops: what is still plausible after every case, and the gate."""
    cases, gate = 200, 0.8
    passed = (np.random.default_rng(7).random(cases) < 0.9).astype(np.float64)
    found = first_decision(passed, passed, gate)
    assert found is not None
    looks = [(look, *anytime_interval(passed[:look], passed[:look])) for look in range(1, found.look + 1)]

    def at(look: float, share: float) -> str:
        return f"{60 + 540 * look / cases:.1f},{190 - 170 * share:.1f}"

    band = " ".join([at(look, high) for look, _, high in looks] + [at(look, low) for look, low, _ in looks[::-1]])
    means = " ".join(at(look, float(passed[:look].mean())) for look, _, _ in looks)
    stop, y = 60 + 540 * found.look / cases, 190 - 170 * gate
    framed(
        "until-sure",
        "What is plausible after every case narrows until it leaves the gate behind; there the run stops",
        230,
        [
            *(words(52, 194 - 170 * share, f"{share:.0%}") for share in (0.0, 0.5, 1.0)),
            stroke(60, 190, 600, 190, 'stroke="#ddd"'),
            f'<polygon points="{band}" fill="{BLUE}" fill-opacity=".25" stroke="{BLUE}"/>',
            f'<polyline points="{means}" fill="none" stroke="#111" stroke-width="1.5"/>',
            stroke(60, y, 600, y, f'stroke="{RED}" stroke-dasharray="4 3"'),
            words(598, y + 16, "gate 80 %", "end", RED),
            stroke(stop, 20, stop, 190, 'stroke="#111" stroke-dasharray="2 2"'),
            words(stop + 6, 180, f"sure after {found.look} of {cases} cases", "start"),
            *(words(60 + 540 * look / cases, 210, str(look), "middle") for look in (0, 50, 100, 150, 200)),
        ],
    )


def labels() -> None:
    """The judge alone, a hundred labels alone, and both; people would pass six of ten."""
    random, truth = np.random.default_rng(5), 0.6
    people = np.repeat([1.0, 0.0], [660, 440])
    judge = np.where(random.random(1100) < np.where(people == 1, 0.95, 0.68), people, 1 - people)
    said = np.full(1100, np.nan)
    drawn = random.permutation(1100)[:100]
    said[drawn] = people[drawn]
    found = correct_rate(JudgedAnswers(judge=judge, people=said, drawn=np.ones(1100), cases=np.arange(1100)))
    assert found is not None
    by_hand, by_judge = int(people[drawn].sum()), int(judge.sum())
    rows: list[Row] = [
        ("the judge, 1,100 answers", by_judge / 1100, wilson(by_judge, 1100), GREY),
        ("people, 100 of them", by_hand / 100, wilson(by_hand, 100), GREY),
        ("both together", found.value, found.interval, BLUE),
    ]
    ticks = {each / 100: f"{each} %" for each in (40, 50, 60, 70, 80)}
    intervals(
        "labels", "The judge alone is sure and wrong, people alone vague; both together are right", rows, ticks, truth
    )


def ranking() -> None:
    """Five candidates over 160 cases, by their verdicts."""
    random, rates = np.random.default_rng(1), np.array([0.9, 0.75, 0.72, 0.7, 0.45])
    passed = np.where(random.random((160, 5)) < 0.5, random.random((160, 1)), random.random((160, 5))) < rates
    one, other = np.triu_indices(5, 1)
    model = bradley_terry(
        5,
        Comparisons(
            first=np.repeat(one, 160),
            second=np.repeat(other, 160),
            outcome=(passed[:, one].astype(float) - passed[:, other] + 1).T.ravel() / 2,
            cluster=np.tile(np.arange(160), len(one)),
            controls=np.zeros((160 * len(one), 0)),
        ),
    )
    assert model is not None
    ranks = rank_intervals(model)
    rows: list[Row] = [
        (
            f"{name}: rank {low}" + ("" if low == high else f"–{high}"),
            float(model.strengths[at]),
            value_interval(model, at),
            BLUE,
        )
        for at, (name, (low, high)) in enumerate(zip(("ada", "bob", "cy", "dan", "eve"), ranks, strict=True))
    ]
    rows.sort(key=lambda row: -row[1])
    ticks = {float(each): f"{each:+d}" if each else "0" for each in (-3, -2, -1, 0, 1, 2, 3)}
    intervals("ranking", "Strengths with intervals: three in the middle cannot be told apart", rows, ticks)


def raters() -> None:
    """Three raters of 120 answers: how often each is right, as the model finds out without the truth."""
    random, rates = np.random.default_rng(9), (0.95, 0.85, 0.65)
    truth = random.random((120, 1)) < 0.6
    table = np.where(random.random((120, 3)) < np.array(rates), truth, ~truth).astype(np.int64)
    found = accuracies(dawid_skene(table, 2), table)
    rows: list[Row] = []
    for place, (name, (value, interval)) in enumerate(zip(("ana", "ben", "cleo"), found, strict=True)):
        rows.append((f"{name}, by the model", value, interval, BLUE))
        rows.append((f"{name}, by the truth", float((table[:, [place]] == truth).mean()), None, GREY))
    ticks = {each / 100: f"{each} %" for each in (40, 60, 80, 100)}
    intervals("raters", "How often three raters are right, found without the truth, and as it is", rows, ticks)


def fewer_cases() -> None:
    """By how much the rate over 200 cases is missed, by forty stored candidates that the choice has not seen."""
    random = np.random.default_rng(2)
    slopes, difficulties = np.exp(random.normal(0.1, 0.4, 200)), random.normal(-0.4, 1.2, 200)
    chances = expit(slopes * (random.normal(0, 1, (40, 1)) - difficulties))
    ids = [str(place) for place in range(200)]
    every = (random.random(chances.shape) < chances).astype(float).tolist()
    earlier = CaseVerdicts([f"c{place}" for place in range(40)], [dict(zip(ids, row, strict=True)) for row in every])
    rows: list[Row] = []
    for count in (10, 20, 40, 80):
        found, _ = choose_cases(ids, earlier, CaseVerdicts([], []), SampleRequest(count=count))
        rows.append((f"{count} cases by chance", 100 * found.random_error, (0.0, 100 * found.random_error), GREY))
        rows.append((f"{count} chosen cases", 100 * found.error, (0.0, 100 * found.error), BLUE))
    ticks = {float(each): f"{each} points" for each in (0, 5, 10, 15)}
    intervals("fewer-cases", "By how much the rate over 200 cases is missed: chosen cases miss it by less", rows, ticks)


def slices() -> None:
    """Six slices, as they are and drawn to the whole."""
    passed, judged = [4, 9, 30, 12, 1, 80], [4, 12, 40, 20, 5, 100]
    drawn = shrink_rates(np.array(passed, float), np.array(judged, float))
    rows: list[Row] = []
    for good, of, (value, interval) in zip(passed, judged, drawn, strict=True):
        rows += [(f"{good} of {of}", good / of, wilson(good, of), GREY), ("drawn to the whole", value, interval, BLUE)]
    intervals("slices", "Small slices are drawn to the whole, large ones stay", rows, PERCENT)


def drift() -> None:
    """Eighty anchors: a judge that passes twenty fewer, and an agent that is better by as much."""

    def change(before: int, after: int) -> tuple[float, Interval | None]:
        found = paired_rates([1.0] * before + [0.0] * (80 - before), [1.0] * after + [0.0] * (80 - after))
        assert found is not None and found.interval is not None
        return 100 * found.difference, (100 * found.interval[0], 100 * found.interval[1])

    rows: list[Row] = [
        ("the judge, same answers", *change(60, 40), RED),
        ("the agent, today's judge", *change(40, 60), BLUE),
        ("both, as runs compare", *change(60, 60), GREY),
    ]
    ticks = {float(each): f"{each:+d}" if each else "0" for each in (-40, -20, 0, 20, 40)}
    intervals("drift", "A stricter judge and a better agent look like no change at all", rows, ticks)


if __name__ == "__main__":
    for draw in (until_sure, labels, ranking, raters, fewer_cases, slices, drift):
        draw()
