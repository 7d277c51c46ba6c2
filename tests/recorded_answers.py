"""Recordings for tests, from a plain map of case id to answer."""

from __future__ import annotations

from collections.abc import Mapping

from howsure.model.transcript import Transcript
from howsure.targets.recordings import Recordings


def plain_recordings(answers: Mapping[str, str], candidate: str = "") -> Recordings:
    return Recordings({(case, candidate, 1): Transcript(answer=text) for case, text in answers.items()})
