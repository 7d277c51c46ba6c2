"""The causes in words, what to do about each, and the results of a run sorted by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from howsure.model.simulation import Party
from howsure.model.triage import PRIORITY, Cause, CauseGroup, Confidence, Finding

WORDS: dict[Cause, tuple[str, str]] = {
    Cause.SIMULATOR_SPOILED: (
        "The simulated user spoiled the conversation",
        "Mend persona, facts or plan, or play it again.",
    ),
    Cause.NOT_REACHED: (
        "The conversation broke or was lost",
        "Mend the connection or the recording, then `howsure retry`.",
    ),
    Cause.TOOL_BROKE: ("A tool did not work", "Mend the tool or its test double, then run the cases again."),
    Cause.AGENT_BROKE: ("The agent broke", "Mend the agent's program, then `howsure retry`."),
    Cause.JUDGE_UNREADABLE: ("The judge could not be read", "Try the judge again, or take another one."),
    Cause.GRADER_BROKE: ("A grader broke", "Mend the grader or what the case gives it."),
    Cause.NO_CHOICE: ("The answer names no choice", "Tell the agent to name one choice, and what to do in doubt."),
    Cause.TOOL_LACKING: ("The case needs what the agent does not have", "Give the agent the tool, or change the case."),
    Cause.PLACEHOLDER: ("The user's message holds a placeholder", "Write what a user would say."),
    Cause.EMPTY_ANSWER: ("The answer is empty", "Look at the way to the agent first, then at the agent."),
    Cause.KEY_DOUBTFUL: ("Everybody disagrees with the key", "Check the key of the question."),
    Cause.CRITERIA_STRICT: ("Criteria look too strict", "Say what is really needed, or move it to a rule."),
    Cause.NEEDS_EARLIER_TALK: ("One message, but earlier talk is needed", "Add history, or make it a scenario."),
    Cause.CUT_OFF: ("The turn limit came first", "Allow about one and a half turns for each step."),
    Cause.NOTHING_FOUND: ("The search found nothing", "Look at the index, its contents and how it is asked."),
    Cause.SEARCH_MISSING: ("The search was not made", "Tell the agent when to search; check that the tool is offered."),
    Cause.SEARCH_WRONG: ("The search was made with the wrong words", "Say how to fill the search's arguments."),
    Cause.POOR_RETRIEVAL: ("What was found does not fit the question", "Look at ranking, chunks and filters."),
    Cause.CONTRACT_BROKEN: ("The answer has the wrong shape", "Hold the agent's output to its schema."),
    Cause.WRONG_AGENT: ("The wrong agent took over", "Mend the routing: who takes what."),
    Cause.TOOL_NOT_CALLED: ("A required tool was not called", "Say in the prompt when the tool must be called."),
    Cause.WRONG_ARGUMENTS: ("A tool was called with wrong arguments", "Describe the tool's arguments better."),
    Cause.FORBIDDEN_TOOL: ("A tool was called that ought not to be", "Say when the tool must not be called."),
    Cause.WRONG_STATE: ("The final state is wrong", "Find out who writes the variable, and from what."),
    Cause.WRONG_PATH: ("The conversation took another path", "Compare the steps with the expected ones."),
    Cause.RULE_BROKEN: ("A standing rule was broken", "Say it in the prompt; if the rule does not apply, narrow it."),
    Cause.POOR_ANSWER: ("The answer is poor as a whole", "Read the answers side by side and change the prompt."),
    Cause.CRITERION_UNMET: ("A criterion was not met", "Read the reasons; change the prompt, or the criterion."),
    Cause.PARTLY_RIGHT: ("Some of several right choices", "Ask for each option to be weighed by itself."),
    Cause.WRONG_CHOICE: ("Another choice than the right one", "Look for what the wrong choices share."),
    Cause.PENALISED: ("Says what costs points", "Find where the wrong statements come from."),
    Cause.POINTS_MISSED: ("Misses required points", "List the points that are missed most."),
    Cause.NOT_THE_REFERENCE: ("Differs from the reference answer", "Read answer and reference side by side."),
    Cause.BELOW_MARK: ("Below the mark", "Read the reasons."),
}


def cause_groups(findings: Sequence[Finding]) -> tuple[CauseGroup, ...]:
    """Every finding in one group: the most urgent first, then the largest."""
    sorted_out: dict[tuple[Party, Cause], list[Finding]] = {}
    for finding in findings:
        sorted_out.setdefault((finding.party, finding.cause), []).append(finding)
    made = [_group(party, cause, found) for (party, cause), found in sorted_out.items()]
    causes = list(Cause)
    return tuple(sorted(made, key=lambda group: (group.priority.value, -len(group.results), causes.index(group.cause))))


def _group(party: Party, cause: Cause, findings: Sequence[Finding]) -> CauseGroup:
    title, advice = WORDS[cause]
    sure = Counter(finding.confidence for finding in findings)
    return CauseGroup(
        cause=cause,
        party=party,
        priority=PRIORITY[party],
        title=title,
        advice=advice,
        confidence={word.value: sure[word] for word in Confidence if sure[word]},
        results=tuple(finding.result for finding in findings),
        cases=tuple(dict.fromkeys(finding.case_id for finding in findings)),
    )
