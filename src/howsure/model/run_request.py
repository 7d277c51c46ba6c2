"""A run request: every option of a run, in one place. Flags, settings, API bodies, pytest marks, Python arguments and
the pins of earlier runs are all read into it, and a run pins it as it is. What it does to cases is not here."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from howsure.model.expectation import AnswerMatch
from howsure.model.verdict import Normalization

RUN_PREFIX = "run:"
"""`run:RUN` in place of a file: the answers, or the conversations, of an earlier run."""
ANCHORS_OF = "anchors of "
"""The prefix of the name of a run that judges anchors again: such a run is never `latest`."""
DEFAULT_CONCURRENCY = 8

OFFLINE = "offline"
"""The judge, and the simulated user, that need no model."""


class RunRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run, as requested. None and "" mean: not given. Several targets are a tuple.

    `prompts` are the names of a dataset's prompts, if it has several: each is a candidate with every target.
    `asks_anew`: no reply of a model is taken from the cache, and the new ones replace it.
    A file is a path, `-` for a pipe, an address, `run:RUN` or a document of the service (`document:KIND/ID@VERSION`).
    `RunRequest(datasets=("cases.jsonl",), judge="offline", repeat=3)`
    """

    datasets: tuple[str, ...] = ()
    dialect: str = ""
    map: dict[str, str] = field(default_factory=dict)
    match: AnswerMatch | None = None
    target: str | tuple[str, ...] = ""
    responses: tuple[str, ...] = ()
    partial: bool = False
    candidates: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    judge: str = ""
    graders: tuple[str, ...] | None = None
    evals: tuple[str, ...] = ()
    batch_criteria: bool = False
    profile: str = ""
    normalization: Normalization | None = None
    rubric: str = ""
    agent: str = ""
    component_scope: str = ""
    component_ids: tuple[str, ...] = ()
    state: dict[str, Any] = field(default_factory=dict)
    criteria_from: str = ""
    simulator: str = ""
    replays: int = 0
    repeat: int = 1
    limit: int | None = None
    filters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    concurrency: int | None = None
    engine: str = ""
    budget: str = ""
    gates: tuple[str, ...] = ()
    until_sure: str = ""
    anchors: str = ""
    cache: bool = True
    asks_anew: bool = False
    trace: str = ""
    record_judge: str = ""
    name: str = ""

    @property
    def changes_graders(self) -> bool:
        """Whether `graders` are `+added` to the usual ones and `-taken` from them; else they are the only ones."""
        return any(name[:1] in ("+", "-") for name in self.graders or ())

    def may_have(self, grader: str) -> bool:
        names = self.graders
        return names is None or grader in names or (self.changes_graders and f"-{grader}" not in names)
