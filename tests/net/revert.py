"""Takes mends of issue 17 back, one at a time, in a copy of the source, and shows which rows of the net notice:
`PYTHONPATH=tests python -m net.revert [WORD]`, for all or for those that have the word in them. Ends with 1 where one
is taken back and no row turns red."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec import Struct

SOURCE = Path(__file__).parents[2] / "src"


class Revert(Struct, frozen=True):
    """One mend, and the text in one file that stands for it."""

    mend: str
    file: str
    mended: str
    broken: str


REVERTS = [
    Revert(
        "min_max: criteria are not taken for the whole",
        "policies/verdicts.py",
        "grade.name == WEIGHTED and grade.part is None",
        "grade.name == WEIGHTED",
    ),
    Revert(
        "an answer that names no choice fails",
        "graders/choice.py",
        "        return Score(name=self.name, value=float(right)",
        "        if isinstance(reading, UnclearChoice):\n            raise ValueError(reading.reason)\n"
        "        return Score(name=self.name, value=float(right)",
    ),
    Revert(
        "n/a is read only where it is offered",
        "graders/judged_grader.py",
        "if isinstance(ruling, NotApplicable) and not self.may_not_apply:",
        "if False:",
    ),
    Revert(
        "every target gets choices, context and documents",
        "targets/conversations.py",
        "message = self._prompt.first_message(text, self._placed) if self.turn == 1 else text",
        "message = text",
    ),
    Revert(
        "a candidate that was not asked gets no result",
        "services/run/participants.py",
        "if target.kind == CHAT and not target.replay and named not in ((), (model,)):",
        "if False:",
    ),
    Revert(
        "documents that are cut are named",
        "judges/documents.py",
        "            elif len(document.text) > self.characters:",
        "            elif False:",
    ),
    Revert(
        "an unknown policy_id is a problem",
        "dialects/legal.py",
        "    if isinstance(policy, str) and policy not in policies:",
        "    if False:",
    ),
    Revert(
        "prbench_v1 is binary",
        "judges/dataset_policies.py",
        '"prbench_v1": DatasetPolicy(criteria=CriterionStyle.BINARY)',
        '"prbench_v1": DatasetPolicy()',
    ),
    Revert(
        "the judge sees the answer as it is",
        "config.py",
        "answer_rendering: AnswerRendering = AnswerRendering.AS_IS",
        "answer_rendering: AnswerRendering = AnswerRendering.READABLE",
    ),
    Revert("contracts check formats", "graders/output_contract.py", "validate_formats=True", "validate_formats=False"),
    Revert(
        "a key that stands twice breaks a contract",
        "graders/output_contract.py",
        "json.loads(body, object_pairs_hook=_refuse_equal_keys)",
        "json.loads(body)",
    ),
    Revert("a profile names what is there, on its scale", "services/run/plan.py", "    work.check_profiles()\n", ""),
    Revert(
        "exact without `message` ignores how calls were grouped",
        "matching/calls.py",
        "self.by_message = match.mode is MatchMode.EXACT and any(call.message is not None for call in required)",
        "self.by_message = match.mode is MatchMode.EXACT",
    ),
    Revert(
        "a conversation that the simulator spoiled is errored",
        "engine/attempt.py",
        "if transcript.simulation and (spoiled := spoiled_fault(transcript)):",
        "if spoiled := None:",
    ),
    Revert(
        "a placeholder span is no call of a model",
        "traces/read.py",
        "return [] if _is_placeholder(own, tree.spans[place].attributes) else [own]",
        "return [own]",
    ),
    Revert(
        "lexam_oq_v1: the score wins over the judge's own pass",
        "judges/dataset_policies.py",
        "quantised=True, pass_wins=PassWinner.SCORE",
        "quantised=True",
    ),
    Revert(
        "`compare --by nonsense` is an error",
        "services/compare/compare.py",
        "    _check_labels(runs[0], request)\n",
        "",
    ),
    Revert(
        "`--graders -name` takes away",
        "services/run/plan.py",
        "return [each for each in (*usual, *(one for one in added if one not in usual)) if each not in taken]",
        "return [*usual, *(one for one in added if one not in usual)]",
    ),
    Revert(
        "a judge that is never asked is said",
        "reports/run_facts.py",
        'if request.judge not in ("", OFFLINE) and not asked_judge(summary):',
        "if False:",
    ),
]


def red_rows(source: Path) -> list[str]:
    """The rows that turn red with this source; in a process of its own, because the package is loaded once."""
    paths = os.pathsep.join([str(source), str(Path(__file__).parents[1])])
    command = [sys.executable, "-m", "net.red_rows"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True, timeout=900
    )
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(word: str = "") -> int:
    chosen = [revert for revert in REVERTS if word in revert.mend]
    unnoticed = 0
    with tempfile.TemporaryDirectory() as place:
        for number, revert in enumerate([None, *chosen]):
            source = Path(place) / str(number) / "src"
            shutil.copytree(SOURCE, source)
            if revert is not None:
                path = source / "howsure" / revert.file
                text = path.read_text(encoding="utf-8")
                assert text.count(revert.mended) == 1, f"{revert.file} has no longer one {revert.mended!r}"
                path.write_text(text.replace(revert.mended, revert.broken), encoding="utf-8")
            red = red_rows(source)
            print(f"{len(red):3} red  {revert.mend if revert else 'as it is'}", flush=True)
            for row in red:
                print(f"         {row}")
            unnoticed += (not red) if revert else bool(red)
    print(f"{len(chosen)} mends were taken back, {unnoticed} without notice")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
