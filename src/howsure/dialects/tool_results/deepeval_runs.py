"""Test runs of DeepEval (Confident AI): the JSON that `deepeval test run` and `evaluate` leave (in `.deepeval`,
`.latest_test_run.json` and `.latest_run_full.json`, or a file in DEEPEVAL_RESULTS_FOLDER), with single and
conversational test cases. The verdict is DeepEval's own `success`, unless a metric broke and none failed: the case is
then errored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from howsure.dialects.strict_json import Json, head_keys
from howsure.dialects.tool_results import samples
from howsure.dialects.tool_results.base import ResultsRecord
from howsure.dialects.tool_results.samples import SampleRecord, read_records, show_value
from howsure.dialects.tool_results.streams import container_fault, json_document, read_head
from howsure.model.case import Script, SingleTurn
from howsure.model.expectation import Expectation, ExpectedCall, Goal, ReferenceAnswer, ToolCalls
from howsure.model.score import Grade
from howsure.model.tool_runs import Statistic, ToolAggregate, ToolRun, one_model
from howsure.model.transcript import Message, Role, ToolCall, ToolResult

TOOL = "deepeval"
SINGLE, TALKS, WRAPPED = "testCases", "conversationalTestCases", "testRunData"
METADATA = ("context", "retrievalContext", "scenario", "userDescription", "comments", "tags", "metadata")
BROKEN = "DeepEval counts a case whose metric broke as failed; here it is errored."


class DeepEvalRunReader:
    """Test runs."""

    name = TOOL

    def detect(self, path: Path, head: bytes) -> bool:
        keys = set(head_keys(head))
        # The list of cases may be longer than the head: then its first case shows what it is.
        if WRAPPED in keys:
            return b'"testCases"' in head
        return SINGLE in keys and (TALKS in keys or b'"metricsData"' in head or "testFile" in keys)

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        tests = DeepEvalTests()
        at = (WRAPPED, SINGLE) if WRAPPED in head_keys(read_head(path)) else (SINGLE,)
        with json_document(path, *at) as stream:
            yield from read_records(stream.rows(), tests.sample)
            if not stream.found:
                raise container_fault(path, "wrong-kind", f"a DeepEval test run has a list `{SINGLE}`")
        run = stream.rest.get(WRAPPED, stream.rest)
        talks = ((f"{TALKS}[{place}]", each) for place, each in enumerate(run.get(TALKS) or ()))
        yield from read_records(talks, tests.sample)
        counts = {Statistic.PASSED: run.get("testPassed"), Statistic.FAILED: run.get("testFailed")}
        known = {kind: number for kind, number in counts.items() if isinstance(number, int)}
        settings = {key.lower(): value for key, value in (run.get("hyperparameters") or {}).items()}
        yield ToolRun(
            tool=TOOL,
            name=str(run.get("identifier") or run.get("testFile") or ""),
            samples=sum(known.values()) or None if len(known) == len(counts) else None,
            models=one_model(settings.get("model")),
            aggregates=tuple(
                ToolAggregate(name=f"tests {kind.value}", value=number, statistic=kind)
                for kind, number in known.items()
            ),
            notes=(BROKEN,) if tests.broken else (),
        )


class DeepEvalTests:
    """Test cases as they are met. Names may repeat; the second gets a hash of what is asked."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self.broken = False

    def sample(self, case: Json) -> SampleRecord:
        measured = case.get("metricsData") or ()
        broken = [f"{each['name']}: {each['error']}" for each in measured if each.get("error")]
        if any(each.get("success") is False and not each.get("error") for each in measured):
            broken = []
        self.broken = self.broken or bool(broken)
        turns, used, success = case.get("turns"), case.get, case.get("success")
        name = str(case.get("name") or "")
        asked = turns if isinstance(turns, list) else case["input"]
        id = name if name and name not in self._names else f"{name} {samples.content_id(asked)}".strip()
        self._names.add(name)
        record = SampleRecord(
            id=id,
            asked=SingleTurn(message=show_value(asked)),
            expected=_expectations(case),
            grades=[_grade(each) for each in measured],
            passed=success if isinstance(success, bool) else None,
            error="; ".join(broken),
            seconds=case.get("completionTime"),
            usage=samples.token_usage(
                used("inputTokenCount"), used("outputTokenCount"), cost_usd=used("tokenCost") or None
            ),
            metadata={name: case[name] for name in METADATA if case.get(name)},
        )
        if isinstance(turns, list):
            spoken = tuple(str(turn["content"]) for turn in turns if turn["role"] == "user")
            record.asked = Script(turns=spoken) if spoken else SingleTurn(message=str(case.get("scenario") or ""))
            record.messages = tuple(message for turn in turns for message in _turn(turn))
        else:
            # Tools that were called stand in the case, or else in its trace.
            called = case.get("toolsCalled") or (case.get("trace") or {}).get("toolSpans") or ()
            record.said = show_value(case.get("actualOutput"))
            record.messages = samples.call_messages(show_value(asked), _calls(called), record.said)
        return record


def _expectations(case: Json) -> tuple[Expectation, ...]:
    wanted: list[Expectation] = []
    if answer := case.get("expectedOutput"):
        wanted.append(ReferenceAnswer(answers=(str(answer),)))
    if goal := case.get("expectedOutcome"):
        wanted.append(Goal(text=str(goal)))
    if (tools := case.get("expectedTools")) is not None:
        calls = [ExpectedCall(name=each["name"], arguments=each.get("inputParameters") or {}) for each in tools]
        wanted.append(ToolCalls(expected=tuple(calls)))
    return tuple(wanted)


def _calls(called: Sequence[Json]) -> Iterator[ToolCall]:
    for each in called:
        given, made = each.get("inputParameters"), each.get("output")
        given = each["input"] if given is None and isinstance(each.get("input"), dict) else given
        result = None if made is None else ToolResult(content=made, failed=each.get("status") == "ERRORED")
        yield ToolCall(name=str(each["name"]), arguments=samples.read_arguments(given), result=result)


def _turn(turn: Json) -> Iterator[Message]:
    if called := turn.get("toolsCalled"):
        yield Message(role=Role.ASSISTANT, tool_calls=tuple(_calls(called)))
    yield from samples.read_messages([{"role": turn["role"], "content": str(turn["content"])}])


def _grade(metric: Json) -> Grade:
    name, score, mark = str(metric["name"]), metric.get("score"), metric.get("threshold")
    giver, success, error = str(metric.get("evaluationModel") or TOOL), metric.get("success"), metric.get("error")
    if score is None or error:
        return samples.unscored(name, str(error or "DeepEval gave no score"), giver=giver, error=bool(error), mark=mark)
    # Of some metrics (bias, toxicity) less is better, which only their own verdict shows.
    lower = mark is not None and success is not None and (score >= mark) != success and (score <= mark) == success
    return samples.number_score(
        name,
        score,
        giver=giver,
        pass_mark=None if metric.get("flaky") else mark,
        lower_is_better=lower,
        reason=str(metric.get("reason") or ""),
        details={"success": success if mark is None else None},
    )
