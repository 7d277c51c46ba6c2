"""How a simulated conversation ended, what its user's side did wrong, and whose fault a failure is."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Ending(Enum):
    """How a conversation ended. No ending is a failure by itself: the messages are graded."""

    SAID_ALL = "said_all"
    GOAL_REACHED = "goal_reached"
    GAVE_UP = "gave_up"
    HANDED_OFF = "handed_off"
    SILENCE = "silence"
    LOOP = "loop"
    TURN_LIMIT = "turn_limit"


class MistakeKind(Enum):
    """What a simulated user can do wrong."""

    INVENTED_FACT = "invented_fact"
    WRONG_FACT = "wrong_fact"
    UNASKED_FACT = "unasked_fact"
    OUT_OF_PERSONA = "out_of_persona"
    OFF_PLAN = "off_plan"
    STOPPED_EARLY = "stopped_early"
    WENT_ON = "went_on"
    REPEATED = "repeated"


class UserMistake(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One mistake of the simulated user. `turn` counts user messages from 1; `evidence` is quoted from that turn.
    `spoils`: the conversation no longer says anything about the agent."""

    kind: MistakeKind
    turn: int
    reason: str
    evidence: str = ""
    spoils: bool = True


class Simulation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The user's side of one conversation: who played it, how it ended and why, and its mistakes. `discarded` holds the
    mistakes of each earlier try that was discarded and played again."""

    user: str
    ending: Ending
    reason: str = ""
    slips: tuple[UserMistake, ...] = ()
    discarded: tuple[tuple[UserMistake, ...], ...] = ()

    @property
    def spoiling(self) -> UserMistake | None:
        """The first mistake that spoiled the conversation."""
        return next((slip for slip in self.slips if slip.spoils), None)

    @property
    def spoiled(self) -> bool:
        return self.spoiling is not None


class Party(Enum):
    """Who is responsible for a case that did not pass. A run names five of these as it goes; `test_design` and
    `retrieval` need a look at the whole run (services/triage)."""

    AGENT = "agent"
    EVALUATION = "evaluation"
    TEST_DESIGN = "test_design"
    RETRIEVAL = "retrieval"
    SIMULATOR = "simulator"
    ENVIRONMENT = "environment"
    JUDGE = "judge"

    @property
    def words(self) -> str:
        """For people to read: `test design`."""
        return self.value.replace("_", " ")


class Fault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who is responsible for a case that did not pass, and the evidence."""

    party: Party
    reason: str
    evidence: str = ""
