"""Reading a gate: `pass_rate[tag:billing] >= 80%` becomes a `Gate`, or an error that names the column, what was found
there and what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches

from howsure.errors import ConfigInvalid
from howsure.policies.gate_amounts import count, dollars, errors_limit, plain, seconds, share
from howsure.policies.gate_scanning import Scanner
from howsure.policies.gates import (
    AllHold,
    Amount,
    Asked,
    Bound,
    Errors,
    Gate,
    Latency,
    MeanGrade,
    NoRegression,
    PassRate,
    Payer,
    Repeated,
    Sign,
    Spending,
    Which,
)

SHAPES = (
    "pass_rate >= 0.9",
    "pass_rate[tag:billing] >= 80%",
    "mean[response_correctness] >= 4",
    "no_regression vs main by 2%",
    "rule:SAFETY all",
    "p95_latency <= 3s",
    "mean_latency <= 800ms",
    "cost <= 2 USD",
    "cost_per_case <= 0.01 USD",
    "tokens <= 500k",
    "tokens_per_case <= 2k",
    "errors <= 1%",
    "pass^3 >= 0.8",
    "pass@3 >= 0.9",
)
"""One gate of each kind, for help and for messages."""

NAME = re.compile(r"[^\s\[\]<>=≤≥:]+")
REPEATED = re.compile(r"pass([\^@])(\d+)$")
PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)_latency$")
SIGN = re.compile(r">=|<=|≥|≤|>(?!=)|<(?!=)")
SIGNS = {"≥": Sign.AT_LEAST, "≤": Sign.AT_MOST, **{sign.value: sign for sign in Sign}}
SELECTION = re.compile(r"\[([^\]]*)\]")
RUN_NAME = re.compile(r'"([^"]+)"|(\S+)')
PART = re.compile(r'"([^"]+)"|(.+?)(?=\s+all\s*$|\s*$)')


def read_gate(text: str) -> Gate:
    """The gate that the text says."""
    scanner = Scanner(text.strip())
    name = scanner.expect(NAME, f"what to look at, such as `{SHAPES[0]}`")[0]
    asked = _asked(name, scanner)
    scanner.end()
    return Gate(expression=" ".join(text.split()), asked=asked)


def read_gates(texts: Sequence[str]) -> tuple[Gate, ...]:
    """Each expression once; every one that cannot be read is told, not the first only."""
    gates: dict[str, Gate] = {}
    wrong: list[str] = []
    for text in texts:
        try:
            gate = read_gate(text)
        except ConfigInvalid as error:
            wrong.append(str(error))
        else:
            gates[gate.expression] = gate
    if wrong:
        raise ConfigInvalid("; ".join(wrong))
    return tuple(gates.values())


def _asked(name: str, scanner: Scanner) -> Asked:
    if found := REPEATED.match(name):
        return _repeated(scanner, found)
    if found := PERCENTILE.match(name):
        return _percentile(scanner, float(found[1]))
    if name not in KINDS:
        near = get_close_matches(name, [*KINDS, "p95_latency", "p50_latency", "pass^3", "pass@3"], n=2, cutoff=0.5)
        known = ", ".join([*KINDS, "p95_latency", "pass^3", "pass@3"])
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {known}"
        raise scanner.wrong(f"{name!r} is nothing a gate can look at; {hint}", at=0)
    return KINDS[name](scanner)


def _pass_rate(scanner: Scanner) -> Asked:
    which = _which(scanner, "grader", "part", "candidate", "labels")
    return PassRate(which=which, bound=_bound(scanner, share))


def _mean(scanner: Scanner) -> Asked:
    begin = scanner.here
    which = _which(scanner, "grader", "candidate", "labels")
    if not which.grader:
        raise scanner.wrong("a mean is that of a grader: expected its name, as in mean[response_correctness]", at=begin)
    return MeanGrade(which=which, bound=_bound(scanner, plain))


def _repeated(scanner: Scanner, found: re.Match[str]) -> Asked:
    k = int(found[2])
    if k < 1:
        raise scanner.wrong(f"expected a number of tries from 1 after pass{found[1]}, found {k}", at=5)
    which = _which(scanner, "grader", "candidate", "labels")
    return Repeated(k=k, every=found[1] == "^", which=which, bound=_bound(scanner, share))


def _percentile(scanner: Scanner, percent: float) -> Asked:
    if not 0 < percent < 100:
        raise scanner.wrong(f"expected a percentile between 0 and 100, found {percent:g}", at=1)
    return Latency(share=percent / 100, which=_which(scanner, "candidate", "labels"), bound=_bound(scanner, seconds))


def _mean_latency(scanner: Scanner) -> Asked:
    return Latency(share=None, which=_which(scanner, "candidate", "labels"), bound=_bound(scanner, seconds))


def _spending(of: Amount, *, per_case: bool = False) -> Callable[[Scanner], Asked]:
    read = dollars if of is Amount.COST else count

    def asked(scanner: Scanner) -> Asked:
        payer = Payer.AGENT if per_case else _payer(scanner)
        return Spending(of=of, payer=payer, per_case=per_case, bound=_bound(scanner, read))

    return asked


def _payer(scanner: Scanner) -> Payer:
    begin = scanner.here
    found = scanner.take(SELECTION)
    if found is None:
        return Payer.ALL
    known = {payer.value: payer for payer in Payer}
    if found[1].strip() not in known:
        raise scanner.wrong(f"expected one of {', '.join(f'[{name}]' for name in known)}, found {found[0]!r}", at=begin)
    return known[found[1].strip()]


def _errors(scanner: Scanner) -> Asked:
    sign = _sign(scanner)
    limit, counted = errors_limit(scanner)
    return Errors(bound=Bound(sign, limit), counted=counted)


def _all_hold(scanner: Scanner) -> Asked:
    scanner.expect(re.compile(":"), "`:` and the id or name of a rule or criterion, as in `rule:SAFETY all`")
    found = scanner.expect(PART, "the id or name of a rule or criterion, as in `rule:SAFETY all`")
    scanner.expect(re.compile(r"all\b"), "`all`, as in `rule:SAFETY all` (for a share: pass_rate[rule:SAFETY] >= 0.95)")
    return AllHold(part=(found[1] or found[2]).strip())


def _no_regression(scanner: Scanner) -> Asked:
    which = _which(scanner, "grader", "candidate", "labels")
    scanner.expect(re.compile(r"vs\b\.?"), "`vs` and an earlier run, as in `no_regression vs main by 2%`")
    found = scanner.expect(RUN_NAME, "an earlier run: its name, its id or `latest`")
    scanner.expect(re.compile(r"by\b"), "`by` and the largest drop that is acceptable, as in `by 2%`")
    return NoRegression(versus=found[1] or found[2], by=share(scanner), which=which)


KINDS: dict[str, Callable[[Scanner], Asked]] = {
    "pass_rate": _pass_rate,
    "mean": _mean,
    "no_regression": _no_regression,
    "rule": _all_hold,
    "criterion": _all_hold,
    "mean_latency": _mean_latency,
    "cost": _spending(Amount.COST),
    "cost_per_case": _spending(Amount.COST, per_case=True),
    "tokens": _spending(Amount.TOKENS),
    "tokens_per_case": _spending(Amount.TOKENS, per_case=True),
    "errors": _errors,
}


def _bound(scanner: Scanner, read: Callable[[Scanner], float]) -> Bound:
    return Bound(_sign(scanner), read(scanner))


def _sign(scanner: Scanner) -> Sign:
    return SIGNS[scanner.expect(SIGN, "one of >=, <=, > and <")[0]]


def _which(scanner: Scanner, *takes: str) -> Which:
    """The part of the run in brackets; all of it without."""
    begin = scanner.here
    found = scanner.take(SELECTION)
    if found is None:
        if scanner.sees("["):
            raise scanner.wrong("expected `]` after the selection that begins here")
        return Which()
    said: dict[str, str] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for text in found[1].split(","):
        kind, key, value = _selector(text)
        if not value or kind not in takes:
            raise scanner.wrong(f"expected {_expected(takes)} in the brackets, found {text.strip()!r}", at=begin)
        if kind == "labels":
            labels[key] = (*labels.get(key, ()), value)
        elif kind in said:
            raise scanner.wrong(
                f"expected one {key or kind} in the brackets, found {said[kind]!r} and {value!r}", begin
            )
        else:
            said[kind] = value
    return Which(**said, labels=labels)


def _selector(text: str) -> tuple[str, str, str]:
    key, colon, value = (part.strip() for part in text.partition(":"))
    if not colon:
        return "grader", "grader", key
    kinds = {"grader": "grader", "rule": "part", "criterion": "part", "candidate": "candidate"}
    return kinds.get(key, "labels"), key, value


def _expected(takes: Sequence[str]) -> str:
    named = {
        "grader": "the name of a grader",
        "part": "rule:ID",
        "candidate": "candidate:NAME",
        "labels": "a label of cases such as tag:billing",
    }
    told = [named[each] for each in takes]
    return f"{', '.join(told[:-1])} or {told[-1]}"
