"""A comparison as JSON, for other programs. The names are stable; additions come at the end of an object."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from howsure.model.comparison import Compared, Comparison, Difference, Flaky, Flip, Pairing, Tries, Unlike
from howsure.reports.compare_noise import noise_wire
from howsure.reports.compare_sentence import sentence


def comparison_wire(comparison: Comparison) -> dict[str, Any]:
    """Ready for JSON. `comparisons` has one entry for each side that was held against the first."""
    return {
        "comparisons": [_compared(comparison, each) for each in comparison.pairs],
        "unit": comparison.unit,
        "cluster": comparison.cluster or None,
        "margin": comparison.margin,
        "confidence": comparison.confidence,
        "not_compared": list(comparison.left_out),
    }


def _compared(comparison: Comparison, compared: Compared) -> dict[str, Any]:
    return {
        "first": to_builtins(compared.first),
        "second": to_builtins(compared.second),
        "conclusion": compared.verdict.conclusion.value,
        "sentence": sentence(compared, comparison.unit),
        "alike": not compared.flags,
        "unlike": [_unlike(each) for each in compared.unlike],
        "verdict": _difference(compared.verdict),
        "differences": [_difference(each) for each in compared.differences],
        "got_worse": [_flip(each) for each in compared.flips if not each.gained],
        "got_better": [_flip(each) for each in reversed(compared.flips) if each.gained],
        "flaky": [_flaky(each) for each in compared.flaky],
        "notes": list(compared.notes),
        "noise": [noise_wire(each) for each in compared.noise],
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "name": difference.name,
        "kind": difference.kind.value,
        "text": difference.text or None,
        "direction": difference.direction.value,
        "scale": [difference.scale.low, difference.scale.high],
        "n": difference.n,
        "clusters": difference.clusters,
        "first": difference.first,
        "second": difference.second,
        "difference": difference.difference,
        "interval": list(difference.interval) if difference.interval else None,
        "p_value": difference.p_value,
        "p_adjusted": difference.adjusted,
        "method": difference.method or None,
        "conclusion": difference.conclusion.value,
        "margin": difference.margin,
        "needed_cases": difference.needed,
        "raised": difference.raised,
        "lowered": difference.lowered,
        "same": difference.same,
        "pairing": _pairing(difference.pairing),
    }


def _pairing(pairing: Pairing) -> dict[str, Any]:
    return {
        "total": pairing.total,
        "paired": pairing.paired,
        "only_first": pairing.only_first,
        "only_second": pairing.only_second,
        "without_value": pairing.without,
        "why": [
            {"side": "second" if each.second else "first", "why": each.why, "count": each.count}
            for each in pairing.absences
        ],
        "changed": pairing.changed,
    }


def _flip(flip: Flip) -> dict[str, Any]:
    shape = {"case_id": flip.case_id, "first": _tries(flip.first), "second": _tries(flip.second)}
    other = {"second_case_id": flip.other_id} if flip.other_id else {}
    return {**shape, **other, "graders": list(flip.graders), "case_changed": flip.changed}


def _tries(tried: Tries) -> dict[str, int]:
    return {"passed": tried.passed, "judged": tried.judged}


def _unlike(each: Unlike) -> dict[str, Any]:
    return {
        "what": each.what.value,
        "bearing": each.bearing.value,
        "said": each.said,
        "changes": to_builtins(each.changes),
        "changes_left_out": each.changes_left_out,
    }


def _flaky(each: Flaky) -> dict[str, Any]:
    side = "second" if each.second else "first"
    return {"case_id": each.case_id, "side": side, **_tries(each.tries), "blame": each.blame.value}
