"""Gates: what a run is held to. Each kind of question is a class; `gate_reading` makes them from text, and a service
answers them. Limits are in the units of what is asked: shares from 0 to 1, seconds, US dollars, tokens."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct, field


class BoundSign(Enum):
    """How a value is held against its limit."""

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
    """`[criteria, tag:billing, candidate:juno]`: which part of a run. `part` is a rule or criterion; `labels` are
    those of cases, by the keys that `--filter` knows."""

    grader: str = ""
    part: str = ""
    candidate: str | None = None
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)


class PassRate(Struct, frozen=True, kw_only=True):
    """`pass_rate >= 0.9`."""

    bound: GateBound
    which: GateScope = GateScope()


class MeanGrade(Struct, frozen=True, kw_only=True):
    """`mean[response_correctness] >= 4`."""

    bound: GateBound
    which: GateScope


class RepeatedPass(Struct, frozen=True, kw_only=True):
    """`pass^3 >= 0.8` (every one of three tries passes) and `pass@3 >= 0.9` (one of them does)."""

    bound: GateBound
    k: int
    every: bool
    which: GateScope = GateScope()


class Latency(Struct, frozen=True, kw_only=True):
    """`p95_latency <= 3s`; `share` None: the mean."""

    bound: GateBound
    share: float | None
    which: GateScope = GateScope()


class SpendingUnit(Enum):
    """What is spent."""

    COST = "cost"
    TOKENS = "tokens"


class SpendingSource(Enum):
    """What the money or the tokens went to: the answers of the agent under test, the models that the run itself asked
    (judges, simulated users), or both."""

    AGENT = "agent"
    RUN = "run"
    ALL = "all"


class SpendingLimit(Struct, frozen=True, kw_only=True):
    """`cost <= 2 USD`, `tokens <= 500k`: of the whole run. `cost_per_case`: the agent's mean."""

    bound: GateBound
    of: SpendingUnit
    payer: SpendingSource = SpendingSource.ALL
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
    which: GateScope = GateScope()


GateCondition = (
    PassRate | MeanGrade | RepeatedPass | Latency | SpendingLimit | ErrorLimit | AllChecksPass | NoRegression
)


class Gate(Struct, frozen=True, kw_only=True):
    """One gate, with the words it was written in."""

    expression: str
    condition: GateCondition
