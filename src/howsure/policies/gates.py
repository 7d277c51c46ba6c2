"""Gates: conditions on a run. Each kind of condition is a class; a service answers them. Limits are in the unit of what
they are about: shares from 0 to 1, seconds, US dollars, tokens. `read_gate` reads a gate from its expression:
`pass_rate[tag:billing] >= 80%` becomes a `Gate`, or an error that names the column, what was expected there and what
was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from enum import Enum
from math import inf
from operator import ge, gt, le, lt

from msgspec import Struct, field

from howsure.errors import ConfigInvalid


class BoundSign(Enum):
    """How a value is compared with its limit."""

    AT_LEAST = ">="
    AT_MOST = "<="
    MORE = ">"
    LESS = "<"

    @property
    def upward(self) -> bool:
        """Whether more is better."""
        return self in (BoundSign.AT_LEAST, BoundSign.MORE)


COMPARISONS = {BoundSign.AT_LEAST: ge, BoundSign.AT_MOST: le, BoundSign.MORE: gt, BoundSign.LESS: lt}


class GateBound(Struct, frozen=True):
    """`>= 0.9`."""

    sign: BoundSign
    limit: float

    def good(self, value: float) -> bool:
        return bool(COMPARISONS[self.sign](value, self.limit))


class GateScope(Struct, frozen=True, kw_only=True):
    """`[criteria, tag:billing, candidate:juno]`: the part of a run that a gate is about. `part` is a rule or criterion;
    `labels` are labels of cases, with the keys of `--filter`."""

    grader: str = ""
    part: str = ""
    candidate: str | None = None
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)


class PassRate(Struct, frozen=True, kw_only=True):
    """`pass_rate >= 0.9`."""

    bound: GateBound
    scope: GateScope = GateScope()


class MeanGrade(Struct, frozen=True, kw_only=True):
    """`mean[response_correctness] >= 4`."""

    bound: GateBound
    scope: GateScope


class RepeatedPass(Struct, frozen=True, kw_only=True):
    """`pass^3 >= 0.8` (every one of three tries passes) and `pass@3 >= 0.9` (one of them does)."""

    bound: GateBound
    k: int
    every: bool
    scope: GateScope = GateScope()


class Latency(Struct, frozen=True, kw_only=True):
    """`p95_latency <= 3s`; `share` None: the mean."""

    bound: GateBound
    share: float | None
    scope: GateScope = GateScope()


class SpendingUnit(Enum):
    """What a spending limit counts."""

    COST = "cost"
    TOKENS = "tokens"


class SpendingSource(Enum):
    """Who spent it: the agent under test, the models of the run itself (judges, simulated users), or both."""

    AGENT = "agent"
    RUN = "run"
    ALL = "all"


class SpendingLimit(Struct, frozen=True, kw_only=True):
    """`cost <= 2 USD`, `tokens <= 500k`: the whole run. `cost_per_case`: the mean of the agent."""

    bound: GateBound
    of: SpendingUnit
    source: SpendingSource = SpendingSource.ALL
    per_case: bool = False


class ErrorLimit(Struct, frozen=True, kw_only=True):
    """`errors <= 1%` of all attempts; or `errors <= 3`, `counted`."""

    bound: GateBound
    counted: bool


class AllChecksPass(Struct, frozen=True, kw_only=True):
    """`rule:SAFETY all`: every check of a rule or criterion passed."""

    part: str


class NoRegression(Struct, frozen=True, kw_only=True):
    """`no_regression vs main by 2%`: the pass rate has not fallen by more than that."""

    versus: str
    by: float
    scope: GateScope = GateScope()


GateCondition = (
    PassRate | MeanGrade | RepeatedPass | Latency | SpendingLimit | ErrorLimit | AllChecksPass | NoRegression
)


class Gate(Struct, frozen=True, kw_only=True):
    """One gate, with the expression it was written as."""

    expression: str
    condition: GateCondition


SPACE = re.compile(r"\s*")
NEXT = re.compile(r"\S+")


class GateScanner:
    """Takes expected pieces from the front of a text. `place` is the current position; leading spaces are skipped."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Takes what the pattern matches here; None if it does not match."""
        found = pattern.match(self.text, self.here)
        if found is not None:
            self.place = found.end()
        return found

    def sees(self, sign: str) -> bool:
        return self.text.startswith(sign, self.here)

    def expect(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        found = self.take(pattern)
        if found is None:
            raise self.error(f"expected {expected}, found {self.rest()}")
        return found

    def rest(self) -> str:
        """The next word, for an error message."""
        found = NEXT.match(self.text, self.here)
        return repr(found[0]) if found else "nothing more"

    def end(self) -> None:
        if self.here < len(self.text):
            raise self.error(f"expected the end, found {self.rest()}")

    def error(self, message: str, at: int | None = None) -> ConfigInvalid:
        """The error to raise, with the column `at` (default: the current one), counted from 1."""
        column = (self.here if at is None else at) + 1
        return ConfigInvalid(f"gate {self.text!r}, column {column}: {message}")

    @property
    def here(self) -> int:
        """Where the next word begins."""
        found = SPACE.match(self.text, self.place)
        return found.end() if found else self.place


NUMBER = re.compile(r"[+-]?(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?!\d)")
PERCENT = re.compile(r"%")
TIME = re.compile(r"(ms|s|m|min)\b")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0}
DOLLAR = re.compile(r"\$")
USD = re.compile(r"USD\b", re.IGNORECASE)
THOUSANDS = re.compile(r"([kKM])\b")
TIMES = {"k": 1e3, "K": 1e3, "M": 1e6}


def read_share(scanner: GateScanner) -> float:
    """`0.9` or `90%`."""
    begin = scanner.here
    number = _expect_number(scanner, "a share, such as 0.9 or 90%")
    value = number / 100 if scanner.take(PERCENT) else number
    if not 0 <= value <= 1:
        hint = f"; did you mean {number:g}%?" if 1 < number <= 100 and value == number else ""
        raise scanner.error(f"expected a share from 0 to 1 or from 0% to 100%, found {number:g}{hint}", at=begin)
    return value


def read_seconds(scanner: GateScanner) -> float:
    number = _expect_positive(scanner, "a time, such as 3s or 800ms")
    return number * SECONDS[scanner.expect(TIME, "a unit of time after the number: ms, s or m")[1]]


def read_dollars(scanner: GateScanner) -> float:
    """`2 USD` or `$2`."""
    if scanner.take(DOLLAR):
        return _expect_positive(scanner, "an amount after the $")
    number = _expect_positive(scanner, "an amount of money, such as 2 USD")
    scanner.expect(USD, "USD after the number")
    return number


def read_count(scanner: GateScanner) -> float:
    """`500000`, `500k`, `1.5M`."""
    number = _expect_positive(scanner, "a count, such as 500k")
    found = scanner.take(THOUSANDS)
    return number * TIMES[found[1]] if found else number


def read_error_limit(scanner: GateScanner) -> tuple[float, bool]:
    """`1%` as (0.01, False), or `3` as (3, True): a count."""
    begin = scanner.here
    number = _expect_positive(scanner, "a share such as 1%, or a number of cases such as 3")
    if scanner.take(PERCENT):
        if number > 100:
            raise scanner.error(f"expected a share up to 100%, found {number:g}%", at=begin)
        return number / 100, False
    if number != int(number):
        message = f"expected a share such as 1%, or a whole number of cases, found {number:g}"
        raise scanner.error(f"{message}; did you mean {100 * number:g}%?", at=begin)
    return number, True


def _expect_positive(scanner: GateScanner, expected: str) -> float:
    begin = scanner.here
    number = _expect_number(scanner, expected)
    if number < 0:
        raise scanner.error(f"expected {expected}, found the negative {number:g}", at=begin)
    if number == inf:
        raise scanner.error(f"expected {expected}, found a number that is too large", at=begin)
    return number


def _expect_number(scanner: GateScanner, expected: str) -> float:
    return float(scanner.expect(NUMBER, expected)[0].replace("_", ""))


EXAMPLES = (
    "pass_rate >= 0.9", "pass_rate[tag:billing] >= 80%", "mean[response_correctness] >= 4",
    "no_regression vs main by 2%", "rule:SAFETY all", "p95_latency <= 3s", "mean_latency <= 800ms", "cost <= 2 USD",
    "cost_per_case <= 0.01 USD", "tokens <= 500k", "tokens_per_case <= 2k", "errors <= 1%", "pass^3 >= 0.8",
    "pass@3 >= 0.9",
)  # fmt: skip
"""One gate of each kind, for help texts and messages."""

NAME = re.compile(r"[^\s\[\]<>=≤≥:]+")
REPEATED = re.compile(r"pass([\^@])(\d{1,9})$")
PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)_latency$")
SIGN = re.compile(r">=|<=|≥|≤|>(?!=)|<(?!=)")
SIGNS = {"≥": BoundSign.AT_LEAST, "≤": BoundSign.AT_MOST, **{sign.value: sign for sign in BoundSign}}
SELECTION = re.compile(r"\[([^\]]*)\]")
RUN_NAME = re.compile(r'"([^"]+)"|(\S+)')
PART = re.compile(r'"([^"]+)"|(\S+(?:\s+\S+)*?)(?=\s+all\s*$|\s*$)')


def read_gate(text: str) -> Gate:
    """The gate of one expression."""
    scanner = GateScanner(text.strip())
    name = scanner.expect(NAME, f"what to look at, such as `{EXAMPLES[0]}`")[0]
    condition = _read_condition(name, scanner)
    scanner.end()
    return Gate(expression=" ".join(text.split()), condition=condition)


def read_gates(texts: Sequence[str]) -> tuple[Gate, ...]:
    """Each expression once. The error names every expression that cannot be read, not only the first."""
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


SURE_BY_LOOKS = "a rate or a mean on a known scale (pass_rate, mean[grader], pass^k, pass@k, no_regression)"


def read_anytime_gate(text: str, *, finished: bool = False) -> Gate:
    """A gate that can be decided by looking after every case; others are refused with the reason. `finished`: the
    number of checks of each case is known."""
    gate = read_gate(text)
    condition = gate.condition
    match condition:
        case Latency():
            found = "a latency, which has no upper end"
        case SpendingLimit():
            found = "spending, which has no upper end"
        case ErrorLimit() | AllChecksPass():
            found = "something that is counted over all cases"
        case PassRate() if condition.scope.part and not finished:
            found = (
                "the checks of a rule or criterion, of which a case may have several: how many is known when all are"
                " graded, and `howsure gate RUN --anytime` decides it then"
            )
        case MeanGrade() | RepeatedPass() | NoRegression() if condition.scope.part:
            found = "the checks of a rule or criterion, of which a case may have several"
        case PassRate(bound=bound) | RepeatedPass(bound=bound) if bound.limit in (0, 1):
            found = f"the limit {bound.limit:g}: no number of cases shows that it always holds"
        case _:
            return gate
    raise ConfigInvalid(f"until sure {gate.expression!r}: expected {SURE_BY_LOOKS}, found {found}")


def _read_condition(name: str, scanner: GateScanner) -> GateCondition:
    if found := REPEATED.match(name):
        k = int(found[2])
        if k < 1:
            raise scanner.error(f"expected a number of tries from 1 after pass{found[1]}, found {k}", at=5)
        scope = _read_scope(scanner, "grader", "candidate", "labels")
        return RepeatedPass(k=k, every=found[1] == "^", scope=scope, bound=_read_bound(scanner, read_share))
    if found := PERCENTILE.match(name):
        percent = float(found[1])
        if not 0 < percent < 100:
            raise scanner.error(f"expected a percentile between 0 and 100, found {percent:g}", at=1)
        return _read_latency(scanner, percent / 100)
    if name not in CONDITION_READERS:
        near = get_close_matches(
            name, [*CONDITION_READERS, "p95_latency", "p50_latency", "pass^3", "pass@3"], n=2, cutoff=0.5
        )
        known = ", ".join([*CONDITION_READERS, "p95_latency", "pass^3", "pass@3"])
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {known}"
        raise scanner.error(f"{name!r} is nothing a gate can look at; {hint}", at=0)
    return CONDITION_READERS[name](scanner)


def _read_pass_rate(scanner: GateScanner) -> GateCondition:
    scope = _read_scope(scanner, "grader", "part", "candidate", "labels")
    return PassRate(scope=scope, bound=_read_bound(scanner, read_share))


def _read_mean(scanner: GateScanner) -> GateCondition:
    begin = scanner.here
    scope = _read_scope(scanner, "grader", "candidate", "labels")
    if not scope.grader:
        raise scanner.error("a mean is that of a grader: expected its name, as in mean[response_correctness]", at=begin)
    bound = GateBound(_read_sign(scanner), _expect_number(scanner, "a number"))
    return MeanGrade(scope=scope, bound=bound)


def _read_latency(scanner: GateScanner, share: float | None = None) -> GateCondition:
    scope = _read_scope(scanner, "candidate", "labels")
    return Latency(share=share, scope=scope, bound=_read_bound(scanner, read_seconds))


def _spending_reader(of: SpendingUnit, *, per_case: bool = False) -> Callable[[GateScanner], GateCondition]:
    read = read_dollars if of is SpendingUnit.COST else read_count

    def read_limit(scanner: GateScanner) -> GateCondition:
        source = SpendingSource.AGENT if per_case else _read_source(scanner)
        return SpendingLimit(of=of, source=source, per_case=per_case, bound=_read_bound(scanner, read))

    return read_limit


def _read_source(scanner: GateScanner) -> SpendingSource:
    begin = scanner.here
    found = scanner.take(SELECTION)
    if found is None:
        return SpendingSource.ALL
    known = {source.value: source for source in SpendingSource}
    if found[1].strip() not in known:
        raise scanner.error(f"expected one of {', '.join(f'[{name}]' for name in known)}, found {found[0]!r}", at=begin)
    return known[found[1].strip()]


def _read_errors(scanner: GateScanner) -> GateCondition:
    sign = _read_sign(scanner)
    limit, counted = read_error_limit(scanner)
    return ErrorLimit(bound=GateBound(sign, limit), counted=counted)


def _read_all_checks(scanner: GateScanner) -> GateCondition:
    scanner.expect(re.compile(":"), "`:` and the id or name of a rule or criterion, as in `rule:SAFETY all`")
    found = scanner.expect(PART, "the id or name of a rule or criterion, as in `rule:SAFETY all`")
    scanner.expect(re.compile(r"all\b"), "`all`, as in `rule:SAFETY all` (for a share: pass_rate[rule:SAFETY] >= 0.95)")
    return AllChecksPass(part=(found[1] or found[2]).strip())


def _read_no_regression(scanner: GateScanner) -> GateCondition:
    scope = _read_scope(scanner, "grader", "candidate", "labels")
    scanner.expect(re.compile(r"vs\b\.?"), "`vs` and an earlier run, as in `no_regression vs main by 2%`")
    found = scanner.expect(RUN_NAME, "an earlier run: its name, its id or `latest`")
    scanner.expect(re.compile(r"by\b"), "`by` and the largest drop that is acceptable, as in `by 2%`")
    return NoRegression(versus=found[1] or found[2], by=read_share(scanner), scope=scope)


CONDITION_READERS: dict[str, Callable[[GateScanner], GateCondition]] = {
    "pass_rate": _read_pass_rate,
    "mean": _read_mean,
    "no_regression": _read_no_regression,
    "rule": _read_all_checks,
    "criterion": _read_all_checks,
    "mean_latency": _read_latency,
    "cost": _spending_reader(SpendingUnit.COST),
    "cost_per_case": _spending_reader(SpendingUnit.COST, per_case=True),
    "tokens": _spending_reader(SpendingUnit.TOKENS),
    "tokens_per_case": _spending_reader(SpendingUnit.TOKENS, per_case=True),
    "errors": _read_errors,
}


def _read_bound(scanner: GateScanner, read: Callable[[GateScanner], float]) -> GateBound:
    return GateBound(_read_sign(scanner), read(scanner))


def _read_sign(scanner: GateScanner) -> BoundSign:
    return SIGNS[scanner.expect(SIGN, "one of >=, <=, > and <")[0]]


SELECTORS = {"grader": "grader", "rule": "part", "criterion": "part", "candidate": "candidate"}
"""The keys in brackets with a fixed meaning; any other key is a label of cases."""
EXPECTED_SELECTORS = {
    "grader": "the name of a grader",
    "part": "rule:ID",
    "candidate": "candidate:NAME",
    "labels": "a label of cases such as tag:billing",
}


def _read_scope(scanner: GateScanner, *takes: str) -> GateScope:
    """The part of the run in brackets; without brackets the whole run."""
    begin = scanner.here
    found = scanner.take(SELECTION)
    if found is None:
        if scanner.sees("["):
            raise scanner.error("expected `]` after the selection that begins here")
        return GateScope()
    selected: dict[str, str] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for text in found[1].split(","):
        key, colon, value = (part.strip() for part in text.partition(":"))
        if not colon:
            key, value = "grader", key
        kind = SELECTORS.get(key, "labels")
        if not value or kind not in takes:
            *first, last = (EXPECTED_SELECTORS[each] for each in takes)
            expected = f"{', '.join(first)} or {last}"
            raise scanner.error(f"expected {expected} in the brackets, found {text.strip()!r}", at=begin)
        if kind == "labels":
            labels[key] = (*labels.get(key, ()), value)
        elif kind in selected:
            message = f"expected one {key or kind} in the brackets, found {selected[kind]!r} and {value!r}"
            raise scanner.error(message, at=begin)
        else:
            selected[kind] = value
    return GateScope(**selected, labels=labels)
