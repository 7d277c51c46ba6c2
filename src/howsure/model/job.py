"""A Job: a run in the queue of the service, waiting for a worker or taken by one."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import Struct


class JobState(Enum):
    """The state of a run in the queue. `held`: paused or cancelled, until someone resumes it."""

    QUEUED = "queued"
    RUNNING = "running"
    HELD = "held"
    DONE = "done"


class RequestedState(Enum):
    """The state that a user requested for a running run."""

    NONE = ""
    PAUSE = "pause"
    CANCEL = "cancel"


class JobTask(Enum):
    """What to do with a run: make the missing attempts, or repeat those that errored."""

    ATTEMPT = "attempt"
    RETRY = "retry"


class Job(Struct, frozen=True, kw_only=True):
    """A run in the queue. `tries` counts how often a worker took it since an attempt of it was last finished."""

    run_id: str
    organization_id: str
    agent_id: str
    state: JobState
    wish: RequestedState
    task: JobTask
    tries: int
    queued_at: datetime
    request: bytes


class QueueLengths(Struct, frozen=True):
    """How many runs wait, and how many are running."""

    queued: int
    running: int
