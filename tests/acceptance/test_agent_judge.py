"""366 requirements of 55 programming tasks: a judge that is itself an agent, against people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from howsure.stats.agreement import agreement, cohen_kappa

pytestmark = pytest.mark.shared


def verdicts(folder: Path) -> list[tuple[str, bool]]:
    """Every requirement with its verdict, task by task."""
    found: list[tuple[str, bool]] = []
    for path in sorted(folder.glob("*.json")):
        task: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found += [(requirement["criteria"], requirement["satisfied"]) for requirement in task["requirements"]]
    return found


def test_the_agent_judge_agrees_with_people_on_92_08_percent_of_criteria(shared_data: Callable[..., Path]) -> None:
    people = verdicts(shared_data("agent_as_a_judge", "judgment", "MetaGPT", "human_as_a_judge"))
    judged = verdicts(shared_data("agent_as_a_judge", "judgment", "MetaGPT", "agent_as_a_judge", "gray_box"))
    assert [text for text, _ in people] == [text for text, _ in judged]
    truth, said = [met for _, met in people], [met for _, met in judged]
    found, kappa = agreement(said, truth), cohen_kappa(said, truth)
    assert found.rate is not None
    assert kappa is not None
    assert (found.n, round(100 * found.rate, 2)) == (366, 92.08)
    assert round(kappa, 2) == 0.78, "raw agreement flatters where most criteria are unmet"
    assert Counter(zip(truth, said, strict=True)) == {
        (True, True): 69,
        (True, False): 12,
        (False, True): 17,
        (False, False): 268,
    }
