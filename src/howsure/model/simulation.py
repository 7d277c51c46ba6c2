"""How a simulated conversation ended, what its user's side did wrong, and whose fault a failure is."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Ending(Enum):
    """The state a conversation ends in. None of them is a failure by itself: what was said is graded."""

    SAID_ALL = "said_all"
    GOAL_REACHED = "goal_reached"
    GAVE_UP = "gave_up"
    HANDED_OFF = "handed_off"
    SILENCE = "silence"
    LOOP = "loop"
    TURN_LIMIT = "turn_limit"


class SlipKind(Enum):
    """What a simulated user can do wrong."""

    INVENTED_FACT = "invented_fact"
    WRONG_FACT = "wrong_fact"
    UNASKED_FACT = "unasked_fact"
    OUT_OF_PERSONA = "out_of_persona"
    OFF_PLAN = "off_plan"
    STOPPED_EARLY = "stopped_early"
    WENT_ON = "went_on"
    REPEATED = "repeated"


class Slip(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One mistake of the simulated user. `turn` counts user messages from 1; `evidence` is quoted from that turn.
    `spoils`: the conversation no longer tells anything about the agent."""

    kind: SlipKind
    turn: int
    reason: str
    evidence: str = ""
    spoils: bool = True


class Simulation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The user's side of one conversation: who played it, how it ended and why, and what was wrong with it.
    `discarded` holds the slips of each earlier try that was thrown away and played again."""

    user: str
    ending: Ending
    reason: str = ""
    slips: tuple[Slip, ...] = ()
    discarded: tuple[tuple[Slip, ...], ...] = ()

    @property
    def spoiled(self) -> bool:
        return any(slip.spoils for slip in self.slips)


class Party(Enum):
    """Whose fault it is that a case did not pass: the words of the whole product. A run blames five of them as it goes;
    `test_design` and `retrieval` take a look at the whole run (services/triage)."""

    AGENT = "agent"
    EVALUATION = "evaluation"
    TEST_DESIGN = "test_design"
    RETRIEVAL = "retrieval"
    SIMULATOR = "simulator"
    ENVIRONMENT = "environment"
    JUDGE = "judge"

    @property
    def words(self) -> str:
        """As people read it: `test design`."""
        return self.value.replace("_", " ")


class Fault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who is answerable for a case that did not pass, and what shows it."""

    party: Party
    reason: str
    evidence: str = ""
