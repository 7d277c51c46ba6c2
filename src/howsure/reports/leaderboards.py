"""Leaderboards, pairs, raters and drift, as a terminal shows them: a sentence first, then the table, then what to keep
in mind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp

from howsure.model.comparison import Difference
from howsure.model.leaderboard import (
    JudgeDrift,
    Leaderboard,
    PairsReport,
    RaterGroup,
    RatersReport,
    SettledRating,
    ShrunkenSlice,
)
from howsure.model.score import Interval
from howsure.reports.comparisons import CONCLUSION_WORDS, change_text
from howsure.reports.document import (
    BLANK,
    Block,
    Heading,
    Notice,
    Paragraph,
    Parts,
    ReportDocument,
    Table,
    line,
    more_note,
)
from howsure.reports.figures import format_dollars, format_percent, pluralize
from howsure.reports.run_facts import DRIFT

SHOWN_FAILURES = 5
NAME_LENGTH = 30
SURE = 0.9


def rank_text(ranks: tuple[int, int]) -> str:
    """`1st`, or `2nd–4th`."""
    best, worst = (f"{rank}{_ending(rank)}" for rank in ranks)
    return best if best == worst else f"{best}–{worst}"


def _ending(rank: int) -> str:
    return "th" if 10 < rank % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")


def _signed(value: float, interval: Interval | None) -> str:
    return f"{value:+.2f}" + (f" [{interval[0]:+.2f} {interval[1]:+.2f}]" if interval else "")


def leaderboard_report(board: Leaderboard) -> ReportDocument:
    by_length = any(each.ranks_at_equal_length for each in board.candidates)
    columns = ("rank", "candidate", f"strength [{board.confidence:.0%}]:", "won:", "tied:", "lost:")
    rows = [
        (
            rank_text(each.ranks),
            line(each.name, NAME_LENGTH),
            _signed(each.strength, each.interval),
            *(f"{count:,}" for count in (each.won, each.tied, each.lost)),
            *((rank_text(each.ranks_at_equal_length),) if each.ranks_at_equal_length else ()),
        )
        for each in board.candidates
    ]
    return ReportDocument(
        [
            Paragraph(leader_sentence(board), "bold"),
            Paragraph(_basis(board)),
            BLANK,
            Table((*columns, "at equal length") if by_length else columns, rows, title="Leaderboard"),
            BLANK,
            *(Paragraph(text, "dim") for text in _keep_in_mind(board)),
        ]
    )


def leader_sentence(board: Leaderboard) -> str:
    """Who leads, or who may."""
    best, *others = board.candidates
    if best.ranks == (1, 1):
        return f"{best.name} is first."
    rivals = [each.name for each in others if each.ranks[0] == 1]
    return f"Cannot tell who is first: {best.name} leads, and {_named(rivals)} may be as good or better."


def _named(names: list[str]) -> str:
    if len(names) < 4:
        return " and ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))
    return f"{', '.join(names[:2])} and {len(names) - 2} more"


def _basis(board: Leaderboard) -> str:
    source = {"pairs": f"pairs compared by {board.judge}", "verdict": "verdicts case by case"}.get(
        board.by, f"values of {board.by} case by case"
    )
    compared = f"{pluralize(board.comparisons, 'comparison')} over {pluralize(board.cases, 'case')}"
    return f"From {source}: {compared}; {format_percent(board.tie_share)} of them ties."


def _keep_in_mind(board: Leaderboard) -> Iterator[str]:
    yield "Strengths are log-odds around the average candidate: 1.00 more wins 2.7 times for each loss."
    if board.first_effect is not None:
        yield f"Being shown first: {_odds(board.first_effect, board.first_interval)}; the ranks are free of it."
    if board.length_effect is not None:
        yield f"Being 2.7 times as long: {_odds(board.length_effect, board.length_interval)}."
    yield from (f"{note}." for note in board.notes)


def _odds(effect: float, interval: Interval | None) -> str:
    if interval is None:
        return f"odds × {odds_factor(effect)}"
    unsure = " (may be none)" if interval[0] <= 0 <= interval[1] else ""
    return f"odds × {odds_factor(effect)} [{odds_factor(interval[0])}–{odds_factor(interval[1])}]{unsure}"


def odds_factor(effect: float) -> str:
    """`1.25`, `0.0034`, `2,981`: of two digits, none is lost."""
    value = exp(effect)
    return f"{value:.2f}" if 0.1 <= value < 100 else f"{value:,.0f}" if 100 <= value < 1e6 else f"{value:.2g}"


def pairs_report(done: PairsReport) -> ReportDocument:
    blocks: list[Block] = [
        Paragraph(
            f"{done.judge} compared {done.judged:,} of {pluralize(done.pairs, 'pair')}, each in both orders.", "bold"
        )
    ]
    if done.judged:
        kept = f"{done.consistent:,} of {done.judged:,} pairs have the same outcome in both orders"
        lean = f"; of the {done.flipped_picks:,} picks that flipped, {done.first_picks:,} fell on what was shown first"
        blocks.append(Paragraph(f"{kept}{lean if done.flipped_picks else ''}."))
    if done.without_judge:
        blocks.append(Paragraph(f"{pluralize(done.without_judge, 'pair')} needed no judge: equal or empty answers."))
    if done.failures:
        blocks.append(Paragraph(f"{pluralize(sum(done.failures.values()), 'pair')} have no judgement:"))
        reasons = list(done.failures.items())
        blocks += [Paragraph((f"{count:,} × ", line(why, 200)), indent=2) for why, count in reasons[:SHOWN_FAILURES]]
    cost = "" if done.cost_usd is None else f"cost {format_dollars(done.cost_usd)}; "
    return ReportDocument([*blocks, Paragraph(f"{cost}kept in {done.path}", "dim")])


def raters_report(found: RatersReport, shown: int) -> ReportDocument:
    blocks: list[Block] = []
    for group in found.groups:
        blocks += _rater_group(group, shown)
    return ReportDocument([*blocks, *(Paragraph(f"Left out: {text}.", "dim") for text in found.left_out)])


def _rater_group(group: RaterGroup, shown: int) -> Iterator[Block]:
    best, disputed = group.raters[0], [each for each in group.settled if each.is_disputed]
    sentence = f"{group.grader}: {best.name} is right most often, {_percent_range(best.accuracy, best.interval)}"
    yield Paragraph(f"{sentence}, if errors are independent.", "bold")
    yield from (Notice(f"{note}.") for note in group.notes)
    yield Paragraph(
        f"{pluralize(len(group.settled), 'answer')}, {len(disputed):,} disputed; "
        f"{sum(each.chance < SURE for each in group.settled):,} of all less sure than {SURE:.0%}."
    )
    yield BLANK
    classes = [] if group.ordered else list(best.by_class)
    columns = ("rater", "right [95%]:", *(f"of {word}:" for word in classes), *(["leans:"] * group.ordered), "ratings:")
    yield Table(
        columns,
        [
            (
                line(each.name, NAME_LENGTH),
                _percent_range(each.accuracy, each.interval),
                *(format_percent(each.by_class[word]) for word in classes),
                *([f"{each.lean:+.1f}"] if each.lean is not None else []),
                f"{each.ratings:,}",
            )
            for each in group.raters
        ],
        title="Raters",
    )
    if disputed:
        yield Heading("Look at these first")
        yield Table(("case", "answer", "sure:", "ratings"), [_dispute(each) for each in disputed[:shown]])
        yield from more_note(len(disputed), shown)
    yield BLANK


def _dispute(each: SettledRating) -> tuple[Parts, ...]:
    about = "/".join(filter(None, (each.case_id, each.candidate, each.criterion)))
    said = ", ".join(f"{name} {word}" for name, word in each.ratings.items())
    return line(about, NAME_LENGTH), each.answer, f"{each.chance:.0%}", line(said, 60)


def _percent_range(value: float, interval: Interval) -> str:
    return f"{format_percent(value)} [{100 * interval[0]:.0f}–{100 * interval[1]:.0f}]"


def slices_report(slices: Sequence[ShrunkenSlice]) -> ReportDocument:
    several = len({each.candidate for each in slices}) > 1
    columns = ("slice", *(["candidate"] * several), "n:", "as it is [95%]:", "drawn to the whole [95%]:")
    rows: list[tuple[Parts, ...]] = [
        (
            line(each.value, NAME_LENGTH),
            *([line(each.candidate or "-", NAME_LENGTH)] * several),
            f"{each.judged:,}",
            _percent_range(each.rate, each.interval),
            _percent_range(each.shrunken, each.shrunken_interval),
        )
        for each in slices
    ]
    return ReportDocument([Heading("Slices, drawn towards the whole"), Table(columns, rows)])


STRANGERS = "The run shares no case with the anchors: what of its change is the agent's cannot be told."


def drift_report(drift: JudgeDrift) -> ReportDocument:
    rows: list[tuple[Parts, ...]] = []
    for each in drift.candidates:
        named: list[tuple[str, Difference | None]] = [
            ("the judge, on the same answers", each.judge),
            *((f"the judge's {other.name}", other) for other in each.graders),
            ("the agent, by today's judge", each.agent),
            ("both, as runs compare", each.whole),
        ]
        rows += [
            (line(each.candidate or "-", NAME_LENGTH), what, change_text(found), CONCLUSION_WORDS[found.conclusion])
            for what, found in named
            if found is not None
        ]
    judges = dict.fromkeys((drift.judge_before, drift.judge_now))
    return ReportDocument(
        [
            Paragraph(DRIFT[drift.has_changed], "bold"),
            Paragraph(f"judge {' → '.join(judges)}; anchors judged again in run {drift.judged_again[:8]}"),
            BLANK,
            Table(("candidate", "what changed", "by", "conclusion"), rows),
            *(
                [Paragraph(STRANGERS, "yellow")]
                if drift.run and not any(each.agent for each in drift.candidates)
                else []
            ),
        ]
    )
