"""The Explain pass rule: no hard fail, every eval at its own mark, and the weighted composite at the profile's. A
contract violation is a hard fail under every profile; `tool_calls` by program is shown and does not gate."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from msgspec.structs import replace

from howsure.model.case import Case
from howsure.model.score import LIKERT, Grade, Score, Unscored, UnscoredReason
from howsure.model.verdict import Decision, Profile, Verdict
from howsure.policies.profiles import CONTRACT, DEFAULT_PROFILE, EXPLAIN_EVALS, builtin_profiles
from howsure.policies.verdicts import COMPOSITE, decide

_BUILTIN = {profile.name: profile for profile in builtin_profiles()}
_NOT_GATING = frozenset({*EXPLAIN_EVALS, "tool_calls"})


def explain(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on an Explain case; `profile` overrides the case's own."""
    chosen = profile if profile is not None and profile.name else _BUILTIN.get(case.profile or DEFAULT_PROFILE)
    if chosen is None:
        reason = f"the profile {case.profile!r} is not known; known: {', '.join(_BUILTIN)}"
        return Decision(verdict=Verdict.ERRORED, reasons=(reason,), grades=tuple(grades))
    if CONTRACT not in chosen.hard_fails:
        chosen = replace(chosen, hard_fails={**chosen.hard_fails, CONTRACT: 1.0})
    total = composite(grades, chosen)
    return decide(grades if total is None else (*grades, total), chosen, _NOT_GATING)


def composite(grades: Sequence[Grade], profile: Profile) -> Grade | None:
    """Σ(score · weight) / Σ(weight) over the evals present; None when there are none. One that is missing its value
    leaves the sum without one too."""
    weighed = [grade for grade in grades if grade.name in profile.weights and grade.part is None]
    scores = [grade for grade in weighed if isinstance(grade, Score)]
    for why in (UnscoredReason.ERROR, UnscoredReason.NO_JUDGE):
        lacking = [grade.name for grade in weighed if isinstance(grade, Unscored) and grade.why is why]
        if lacking:
            reason = f"no value for {', '.join(lacking)}"
            return Unscored(name=COMPOSITE, why=why, reason=reason, scale=LIKERT, pass_mark=profile.composite_mark)
    weight = fsum(profile.weights[score.name] for score in scores)
    if weight <= 0:
        return None
    # Rounded where only binary fractions differ, so that a sum of exactly 3.65 reaches 3.65.
    value = round(fsum(score.value * profile.weights[score.name] for score in scores) / weight, 9)
    return Score(
        name=COMPOSITE,
        value=value,
        scale=LIKERT,
        pass_mark=profile.composite_mark,
        reason=f"{len(scores)} evals under {profile.name}",
        details={"profile": profile.name, "weights": {score.name: profile.weights[score.name] for score in scores}},
    )
