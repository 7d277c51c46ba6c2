"""Gates: what a run is held to. Each kind of question is a class; `gate_reading` makes them from text, and a service
answers them. Limits are in the units of what is asked: shares from 0 to 1, seconds, US dollars, tokens."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct, field


class Sign(Enum):
    """How a value is held against its limit."""

    AT_LEAST = ">="
    AT_MOST = "<="
    MORE = ">"
    LESS = "<"

    @property
    def upward(self) -> bool:
        """Whether more is better."""
        return self in (Sign.AT_LEAST, Sign.MORE)


class Bound(Struct, frozen=True):
    """`>= 0.9`."""

    sign: Sign
    limit: float

    def good(self, value: float) -> bool:
        match self.sign:
            case Sign.AT_LEAST:
                return value >= self.limit
            case Sign.AT_MOST:
                return value <= self.limit
            case Sign.MORE:
                return value > self.limit
            case Sign.LESS:
                return value < self.limit


class Which(Struct, frozen=True, kw_only=True):
    """`[criteria, tag:billing, candidate:juno]`: which part of a run. `part` is a rule or criterion; `labels` are
    those of cases, by the keys that `--filter` knows."""

    grader: str = ""
    part: str = ""
    candidate: str | None = None
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)


class PassRate(Struct, frozen=True, kw_only=True):
    """`pass_rate >= 0.9`."""

    bound: Bound
    which: Which = Which()


class MeanGrade(Struct, frozen=True, kw_only=True):
    """`mean[response_correctness] >= 4`."""

    bound: Bound
    which: Which


class Repeated(Struct, frozen=True, kw_only=True):
    """`pass^3 >= 0.8` (every one of three tries passes) and `pass@3 >= 0.9` (one of them does)."""

    bound: Bound
    k: int
    every: bool
    which: Which = Which()


class Latency(Struct, frozen=True, kw_only=True):
    """`p95_latency <= 3s`; `share` None: the mean."""

    bound: Bound
    share: float | None
    which: Which = Which()


class Amount(Enum):
    """What is spent."""

    COST = "cost"
    TOKENS = "tokens"


class Payer(Enum):
    """What the money or the tokens went to: the answers of the agent under test, the models that the run itself asked
    (judges, simulated users), or both."""

    AGENT = "agent"
    RUN = "run"
    ALL = "all"


class Spending(Struct, frozen=True, kw_only=True):
    """`cost <= 2 USD`, `tokens <= 500k`: of the whole run. `cost_per_case`: the agent's mean."""

    bound: Bound
    of: Amount
    payer: Payer = Payer.ALL
    per_case: bool = False


class Errors(Struct, frozen=True, kw_only=True):
    """`errors <= 1%` of all attempts; or `errors <= 3`, `counted`."""

    bound: Bound
    counted: bool


class AllHold(Struct, frozen=True, kw_only=True):
    """`rule:SAFETY all`: every check of a rule or criterion passed."""

    part: str


class NoRegression(Struct, frozen=True, kw_only=True):
    """`no_regression vs main by 2%`: the pass rate has not fallen by more than that."""

    versus: str
    by: float
    which: Which = Which()


Asked = PassRate | MeanGrade | Repeated | Latency | Spending | Errors | AllHold | NoRegression


class Gate(Struct, frozen=True, kw_only=True):
    """One gate, with the words it was written in."""

    expression: str
    asked: Asked
