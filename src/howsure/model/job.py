"""A Job: a run in the queue of the service, waiting for a worker or taken by one."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import Struct


class JobState(Enum):
    """Where a run is in the queue. `held`: taken out of it, by pausing or cancelling, until someone resumes it."""

    QUEUED = "queued"
    RUNNING = "running"
    HELD = "held"
    DONE = "done"


class Wish(Enum):
    """What somebody asked of a run that is being worked on."""

    NONE = ""
    PAUSE = "pause"
    CANCEL = "cancel"


class Task(Enum):
    """What is to be done with a run: the attempts that are missing, or those that errored."""

    ATTEMPT = "attempt"
    RETRY = "retry"


class Job(Struct, frozen=True, kw_only=True):
    """A run in the queue. `tries` counts how often it was taken up since anything of it was last finished."""

    run_id: str
    organization_id: str
    agent_id: str
    state: JobState
    wish: Wish
    task: Task
    tries: int
    queued_at: datetime
    request: bytes


class Lengths(Struct, frozen=True):
    """How many runs wait, and how many are worked on."""

    queued: int
    running: int
