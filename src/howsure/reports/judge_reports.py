"""How far a judge can be trusted, as a terminal shows it: calibrations, judge tests, migrations and corrected pass
rates. What could be compared comes first, then the figures with intervals and counts, bad news at the top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from howsure.model.calibration import (
    AgreementGroup,
    Calibration,
    Figure,
    GradesByBand,
    JudgeMigration,
    JudgePin,
    JudgeShift,
    JudgeTest,
    LabelCoverage,
    RaterFigures,
    RatingFigures,
    VerdictFigures,
    VerdictFlip,
)
from howsure.reports.document import (
    BLANK,
    Block,
    Heading,
    Paragraph,
    Parts,
    ReportDocument,
    Table,
    TextSpan,
    line,
    more_note,
)
from howsure.reports.figures import NOTHING, format_percent, pluralize, short_time
from howsure.reports.run_facts import unreadable_text

SHOWN_CRITERIA = 20
SHOWN_FLIPS = 10
NAME_LENGTH = 34
CORRECTION_METHODS = {
    "prediction_powered": "labels on some of this run's cases",
    "sensitivity_specificity": "how often the judge erred on labelled cases",
}


def figure_percent(figure: Figure) -> str:
    """`84.9 % [83-87] n 1480`: a rate with its interval and what it rests on."""
    if figure.value is None:
        return NOTHING
    bounds = f" [{100 * figure.interval[0]:.0f}–{100 * figure.interval[1]:.0f}]" if figure.interval else ""
    return f"{format_percent(figure.value)}{bounds} n {figure.n:,}"


def figure_text(figure: Figure) -> str:
    """`0.696 [0.66-0.73]`."""
    if figure.value is None:
        return NOTHING
    bounds = f" [{figure.interval[0]:.2f}–{figure.interval[1]:.2f}]" if figure.interval else ""
    return f"{figure.value:.3f}{bounds}"


def kappa_text(verdicts: VerdictFigures) -> str:
    """`0.696 [0.66-0.73]`, or why chance leaves nothing to measure: then the agreement and its interval say it all."""
    undefined = verdicts.kappa.value is None and verdicts.agreement.n
    return "undefined: both always say the same" if undefined else figure_text(verdicts.kappa)


def _value_text(figure: Figure) -> str:
    return NOTHING if figure.value is None else f"{figure.value:.3f}"


def _judge_line(word: str, pin: JudgePin) -> Paragraph:
    version = f"  version {pin.sha256[:8]}" if pin.sha256 else ""
    return Paragraph(f"{word}  {pin.spec}{version}", "bold")


def calibration_report(calibration: Calibration) -> ReportDocument:
    sentences = [Paragraph(text, "bold") for text in calibration_sentences(calibration)]
    blocks: list[Block] = [*sentences, *([BLANK] if sentences else []), _judge_line("judge", calibration.judge)]
    if labels := calibration.labels:
        shown = f"labels {labels.path}  ({pluralize(labels.labels, 'label')}, {labels.sha256[:8]})"
        blocks += [Paragraph(shown), _coverage(calibration.coverage), *_groups(calibration.groups)]
    for bands in calibration.bands:
        blocks += _bands(bands)
    return ReportDocument(blocks)


def calibration_sentences(calibration: Calibration) -> list[str]:
    """The most important figures: how much of what people fail passes by the judge, and the other way round. One
    sentence for each grader; the criteria of a grader are pooled."""
    several = len({group.grader for group in calibration.groups}) > 1
    found: list[str] = []
    for group in calibration.groups:
        if group.level == "criterion" or group.where or group.verdicts is None:
            continue
        failed, passed = (group.verdicts.classes[word].recall for word in ("fail", "pass"))
        name = f"On {group.grader}, the judge" if several else "The judge"
        if failed.value is None or passed.value is None:
            word = "fail" if failed.value is None else "pass"
            found.append(f"{name} cannot be measured on what people {word}: the labels have none.")
            continue
        missed = f"{name} misses {_share_text(failed)} of what people fail"
        found.append(f"{missed}, and fails {_share_text(passed)} of what they pass.")
    return found


def _share_text(recall: Figure) -> str:
    """`42 % (30-55, n 40)`: one minus a recall."""
    value = f"{100 * (1 - (recall.value or 0.0)):.0f} %"
    if recall.interval is None:
        return f"{value} (n {recall.n:,})"
    low, high = (100 * (1 - end) for end in reversed(recall.interval))
    return f"{value} ({low:.0f}–{high:.0f}, n {recall.n:,})"


def not_compared_parts(coverage: LabelCoverage) -> list[str]:
    """`3 cannot tell or unreadable`: why labels were not compared; parts that are zero are left out."""
    kinds = unreadable_text(coverage.kinds)
    words = (
        (coverage.unreadable, f"cannot tell or unreadable{kinds and f' ({kinds})'}"),
        (coverage.not_applicable, "not applicable"),
        (coverage.no_judge, "without a judge"),
        (coverage.missing, "without a grade"),
        (coverage.split, "where people are split"),
        (coverage.unmarked, "without a pass mark"),
    )
    return [f"{count:,} {word}" for count, word in words if count]


def _coverage(coverage: LabelCoverage) -> Paragraph:
    """`12 labelled = 9 compared + 3 cannot tell or unreadable`."""
    parts = [f"{coverage.compared:,} compared", *not_compared_parts(coverage)]
    style = "yellow" if coverage.compared < coverage.things else ""
    return Paragraph(f"covered {coverage.things:,} labelled grades = {' + '.join(parts)}", style)


def _groups(groups: Sequence[AgreementGroup]) -> Iterator[Block]:
    for group in groups:
        if group.level != "criterion" and not group.where:
            yield from _group(group)
            alike = [each for each in groups if (each.grader, each.level) == (group.grader, group.level)]
            yield from _agreement_table("where", [(each.where, each) for each in alike if each.where])
    criteria = [each for each in groups if each.level == "criterion"]
    named = [(each.text or f"{each.grader} {each.criterion}", each) for each in criteria]
    yield from _agreement_table("criterion", named)


def _group(group: AgreementGroup) -> Iterator[Block]:
    yield Heading(f"{group.grader}{'' if group.level == 'case' else ', all criteria'}")
    yield _coverage(group.coverage)
    rows = [
        *(_verdict_rows(group.verdicts) if group.verdicts else ()),
        *(_rating_rows(group.ratings) if group.ratings else ()),
        *(_rater_rows(group.raters) if group.raters else ()),
    ]
    if rows:
        yield Table(("figure", "value"), rows, header=False)
    if group.verdicts:
        counts = [
            (f"  {word}", *(f"{count:,}" for count in row.values())) for word, row in group.verdicts.confusion.items()
        ]
        yield Table(("people / judge", "pass:", "fail:", "none:"), counts)


def _verdict_rows(verdicts: VerdictFigures) -> Iterator[tuple[str, str]]:
    yield "agreement with people", figure_percent(verdicts.agreement)
    if verdicts.with_silence.n > verdicts.agreement.n:
        yield "  silence counted as disagreement", figure_percent(verdicts.with_silence)
    yield "Cohen's kappa", kappa_text(verdicts)
    for word, of in verdicts.classes.items():
        yield f"{word}: precision", figure_text(of.precision)
        yield "  recall", figure_text(of.recall)
        yield "  F1", figure_text(of.f1)


def _rating_rows(ratings: RatingFigures) -> Iterator[tuple[str, str]]:
    yield "same number", figure_percent(ratings.exact)
    yield "Cohen's kappa", figure_text(ratings.kappa)
    if ratings.weighted_kappa.value is not None:
        yield "kappa, quadratic weights", figure_text(ratings.weighted_kappa)
    yield "Pearson", figure_text(ratings.pearson)
    yield "Spearman", figure_text(ratings.spearman)
    yield "Kendall", figure_text(ratings.kendall)
    yield "mean absolute error", figure_text(ratings.mae)
    yield "judge less people", figure_text(ratings.bias)


def _rater_rows(raters: RaterFigures) -> Iterator[tuple[str, str]]:
    names = [name or "unnamed" for name in raters.annotators]
    yield f"{len(names)} people", f"{', '.join(names)}; {pluralize(raters.things, 'grade')} with several labels"
    yield "  Fleiss' kappa", f"{figure_text(raters.fleiss)}; with the judge {figure_text(raters.fleiss_with_judge)}"
    for level, figure in raters.alpha.items():
        both = f"{figure_text(figure)}; with the judge {figure_text(raters.alpha_with_judge[level])}"
        yield f"  Krippendorff's alpha, {level}", both


def _agreement_table(heading: str, named: Sequence[tuple[str, AgreementGroup]]) -> Iterator[Block]:
    """Where people and the judge differ most comes first; what cannot be compared, last."""
    if not named:
        return

    def agreement(pair: tuple[str, AgreementGroup]) -> float:
        group = pair[1]
        figure = group.ratings.exact if group.ratings else group.verdicts.agreement if group.verdicts else None
        return 2.0 if figure is None or figure.value is None else figure.value

    rows = [
        (line(name, NAME_LENGTH), f"{group.coverage.things:,}", *_agreement(group))
        for name, group in sorted(named, key=agreement)[:SHOWN_CRITERIA]
    ]
    yield BLANK
    yield Table((heading, "of:", "agreement", "kappa or rho"), rows)
    yield from more_note(len(named), SHOWN_CRITERIA)


def _agreement(group: AgreementGroup) -> tuple[str, str]:
    """Agreement and kappa of verdicts; of numbers, how many are the same, and Spearman's rho."""
    if group.ratings:
        return figure_percent(group.ratings.exact), _value_text(group.ratings.spearman)
    if group.verdicts:
        return figure_percent(group.verdicts.agreement), _value_text(group.verdicts.kappa)
    return NOTHING, NOTHING


def _bands(bands: GradesByBand) -> Iterator[Block]:
    rows = [
        (line(band.value, NAME_LENGTH), f"{band.mean.n:,}", figure_text(band.mean), f"{band.unscored:,}")
        for band in bands.bands
    ]
    yield Heading(f"{bands.grader} by {bands.key}")
    yield Table((bands.key, "n:", "mean", "no value:"), rows)
    if bands.spearman is not None and bands.ordered is not None:
        pairs = " pairs" if bands.ordered.n else ""
        ordered = f"ordered rightly {figure_percent(bands.ordered)}{pairs}"
        yield Paragraph(f"Spearman {figure_text(bands.spearman)}; {ordered}")
    else:
        yield Paragraph("The values have no order that is known: none is compared with another.", "dim")


def calibration_line(calibration: Calibration, current: bool | None) -> ReportDocument:
    """One calibration in the history of a judge, on a few lines. `current` None: nobody knows whether it is."""
    version = {True: "this version", False: "another version of it", None: "version not known"}[current]
    labels = f"  {calibration.labels.path}" if calibration.labels else ""
    rows: list[tuple[Parts, ...]] = []
    for group in calibration.groups:
        if group.level != "criterion" and not group.where:
            agreed, other = _agreement(group)
            rows.append((line(group.grader, NAME_LENGTH), agreed, f"{'rho' if group.ratings else 'kappa'} {other}"))
    for bands in calibration.bands:
        if bands.spearman and bands.ordered:
            ordered = f"ordered {figure_percent(bands.ordered)}"
            rows.append((line(bands.grader, NAME_LENGTH), ordered, f"rho {_value_text(bands.spearman)}"))
    return ReportDocument(
        [
            Paragraph(f"{short_time(calibration.at)} UTC  {version}{labels}", "bold"),
            *([_coverage(calibration.coverage)] if calibration.labels else []),
            Table(("", "", ""), rows, header=False),
        ]
    )


def measurements_report(
    measured: Sequence[tuple[str, str, str, str, str]], not_measured: Sequence[str] = ()
) -> ReportDocument:
    """What the makers of a judge measured: what, data, decided, value, which kind; and what they did not measure."""
    blocks: list[Block] = []
    for kind in dict.fromkeys(each[4] for each in measured):
        rows = [(value, decided, f"{what} ({data})") for what, data, decided, value, own in measured if own == kind]
        blocks += [Paragraph(kind, "bold"), Table(("value:", "decided:", "judged"), rows, header=False)]
    return ReportDocument([*blocks, *(Paragraph(f"not measured: {text}") for text in not_measured)])


def judge_test_report(test: JudgeTest) -> ReportDocument:
    """How steady a judge is, and how it withstands attacks."""
    tested = f"tested on {pluralize(test.cases, 'answer')}, {pluralize(test.grades, 'judged grade')}"
    return ReportDocument([_judge_line("judge", test.judge), Paragraph(tested), *_stability(test), *_attacks(test)])


def _stability(test: JudgeTest) -> Iterator[Block]:
    rows: list[tuple[Parts, ...]] = []
    for each in test.stability:
        left = ((each.not_compared, "not compared"), (each.not_applied, "not changed"))
        rest = ", ".join(f"{count:,} {word}" for count, word in left if count)
        shift = NOTHING if each.shift.value is None else f"{100 * each.shift.value:.1f} %"
        rows.append((each.name, figure_percent(each.unchanged), shift, TextSpan(rest, "dim")))
    yield BLANK
    yield Table(("harmless change", "unchanged verdicts", "shift", ""), rows)
    yield from _flips([flip for each in test.stability for flip in each.flips])


def _attacks(test: JudgeTest) -> Iterator[Block]:
    yield BLANK
    if not test.failing:
        yield Paragraph("No grade fails an off-topic answer: there is nothing that an attack could turn.", "yellow")
        return
    passed = sum(each.cases_passed for each in test.attacks)
    style = "bold red" if test.attack_success.value else "bold green"
    turned = f"turned by some attack {figure_percent(test.turned)} grades; {pluralize(passed, 'case')} passed"
    yield Paragraph(f"attack success {figure_percent(test.attack_success)} tries", style)
    yield Paragraph(turned, style)
    yield Paragraph(f"{test.not_failing:,} more grades pass the off-topic answer itself, or have no value", "dim")
    rows: list[tuple[Parts, ...]] = []
    for each in sorted(test.attacks, key=lambda outcome: (-(outcome.success.value or 0.0), outcome.kind)):
        style = "red" if each.success.value else ""
        success = TextSpan(figure_percent(each.success), style)
        rows.append((line(each.name, NAME_LENGTH, style), each.kind, success, f"{each.unreadable:,}"))
    yield Table(("attack", "kind", "success", "unreadable:"), rows)
    yield from _flips([flip for each in test.attacks for flip in each.flips])


def _flips(flips: Sequence[VerdictFlip]) -> Iterator[Block]:
    for flip in flips[:SHOWN_FLIPS]:
        about = " ".join(part for part in (flip.case_id, flip.candidate, flip.grader, flip.criterion) if part)
        yield Paragraph(TextSpan(f"  {about}: {flip.before} -> {flip.after}", lines=1))
    yield from more_note(len(flips), SHOWN_FLIPS, indent=2)


def migration_report(migration: JudgeMigration) -> ReportDocument:
    """One judge in the place of another."""
    style = {True: "bold green", False: "bold red", None: "bold yellow"}[migration.may_replace]
    blocks: list[Block] = [Paragraph(migration.sentence, style)]
    for word, pin, agreement, coverage in (
        ("old", migration.old, migration.old_agreement, migration.old_coverage),
        ("new", migration.new, migration.new_agreement, migration.new_coverage),
    ):
        agreed = Paragraph(f"agreement with people {figure_percent(agreement)}")
        blocks += [BLANK, _judge_line(word, pin), agreed, _coverage(coverage)]
    flips = [flip for shift in migration.shifts if shift.level != "criteria" for flip in shift.flips]
    return ReportDocument([*blocks, BLANK, *_shifts(migration.shifts), *_flips(flips)])


def _shifts(shifts: Sequence[JudgeShift]) -> Iterator[Block]:
    """Each grader, and under it the criteria that shift most."""

    def most_shifted(shift: JudgeShift) -> tuple[int, float, int]:
        return -len(shift.flips), -abs(shift.difference.value or 0.0), -shift.only_old - shift.only_new

    rows: list[tuple[Parts, ...]] = []
    for shift in shifts:
        if shift.level == "criterion":
            continue
        own = [each for each in shifts if each.level == "criterion" and each.grader == shift.grader]
        under = sorted(own, key=most_shifted)[:SHOWN_CRITERIA] if shift.level == "criteria" else []
        rows += [_shift_row(each) for each in (shift, *under)]
    yield Table(("grader or criterion", "new less old", "flips:", "only old:", "only new:"), rows)
    if sum(each.level == "criterion" for each in shifts) > SHOWN_CRITERIA:
        yield Paragraph("--json shows every criterion", "dim")


def _shift_row(shift: JudgeShift) -> tuple[Parts, ...]:
    lead = "  " if shift.level == "criterion" else ""
    name = line(shift.text or shift.criterion or shift.grader, NAME_LENGTH - len(lead))
    flips = f"{len(shift.flips):,} of {shift.same_verdict.n:,}"
    return (lead, name), figure_text(shift.difference), flips, f"{shift.only_old:,}", f"{shift.only_new:,}"


def corrected_report(corrected: Any) -> ReportDocument:
    """The pass rates of a CorrectedRun, as people would have given them."""
    rows: list[tuple[Parts, ...]] = []
    refused: dict[str, list[str]] = {}
    several = len({each.candidate for each in corrected.rates}) > 1
    for each in corrected.rates:
        text = each.text or each.criterion or each.grader
        name = f"{each.candidate}: {text}" if several else text
        if each.rate is None:
            refused.setdefault(each.reason, []).append(name)
            continue
        low, high = each.rate.interval
        people = f"{format_percent(each.rate.value)} [{100 * low:.0f}–{100 * high:.0f}]"
        rows.append((line(name, 36), format_percent(each.rate.judge_rate), people, str(each.rate.labels)))
    method = CORRECTION_METHODS[corrected.method.value]
    return ReportDocument(
        [
            Paragraph(f"Corrected for the errors of {corrected.judge}, by {method}.", "bold"),
            Paragraph(f"calibrated {corrected.calibrated[:16].replace('T', ' ')}", "dim"),
            BLANK,
            *([Table(("", "judge:", "people would say", "labels:"), rows)] if rows else []),
            *more_labels_notes([each.rate for each in corrected.rates if each.rate is not None]),
            *(
                Paragraph(
                    f"Not corrected ({', '.join(names[:3])}{', …' if len(names) > 3 else ''}): {reason}.", "yellow"
                )
                for reason, names in refused.items()
            ),
        ]
    )


def more_labels_notes(rates: Sequence[Any]) -> list[Block]:
    """What twenty more labels would gain, for the widest interval."""
    known = [each for each in rates if each.with_more is not None]
    if not known:
        return []
    widest = max(known, key=lambda each: each.interval[1] - each.interval[0])
    now, then = (100 * width / 2 for width in (widest.interval[1] - widest.interval[0], widest.with_more))
    return [Paragraph(f"Twenty more labels would narrow ±{now:.1f} points to about ±{then:.1f}.", "dim")]


def corrected_differences_report(differences: Sequence[Any]) -> ReportDocument:
    """The differences by people's labels, beside those by the judge."""
    blocks: list[Block] = [BLANK]
    for each in differences:
        what = each.criterion or each.grader
        if each.rate is None:
            blocks.append(Paragraph(f"Not corrected ({what}): {each.reason}.", "yellow"))
            continue
        word = {"better": "is better than", "worse": "is worse than", "equal": "is as good as"}.get(
            each.conclusion.value
        )
        heading = (
            f"People would say that {each.second} {word} {each.first}" if word else "People's labels cannot tell yet"
        )
        judge = f"{_points(each.rate.judge_rate)}{_between(each.judge_interval)}"
        text = f"{heading} ({what}): {_points(each.rate.value)} points{_between(each.rate.interval)}"
        blocks.append(Paragraph(f"{text}, by {each.labels[0]} and {each.labels[1]} labels.", "bold"))
        blocks.append(Paragraph(f"The judge says {judge}."))
    return ReportDocument([*blocks, *more_labels_notes([each.rate for each in differences if each.rate is not None])])


def _points(share: float) -> str:
    return f"{100 * share:+.1f}".replace("-", "−")


def _between(interval: tuple[float, float] | None) -> str:
    return f" ({_points(interval[0])} to {_points(interval[1])})" if interval else ""
