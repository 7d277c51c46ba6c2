"""Gates: conditions on a run. Each kind of condition is a class; gate_expressions.py reads them from text, and a
service answers them. Limits are in the unit of what they are about: shares from 0 to 1, seconds, US dollars, tokens."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct, field


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


class GateBound(Struct, frozen=True):
    """`>= 0.9`."""

    sign: BoundSign
    limit: float

    def good(self, value: float) -> bool:
        match self.sign:
            case BoundSign.AT_LEAST:
                return value >= self.limit
            case BoundSign.AT_MOST:
                return value <= self.limit
            case BoundSign.MORE:
                return value > self.limit
            case BoundSign.LESS:
                return value < self.limit


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
