"""Live judges against a real server on loopback: with which settings they ask, what the probabilities come to, what
pins them, and how many calls a batch takes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.config import PanelSettings, Settings
from howsure.graders.base import GraderContext
from howsure.graders.criteria import CriteriaGrader
from howsure.graders.judged_evals import ExplainEval
from howsure.model.expectation import Criteria, Criterion
from howsure.model.llm_settings import CallSettings, RateLimits, RetryLimits
from howsure.model.run_request import RunRequest
from howsure.model.score import Score
from howsure.services.run.judges import open_models
from howsure.services.run.model_access import OpenModels
from howsure.services.workspace import Workspace
from howsure.testing import a_case, a_transcript
from judge_questions import EXPLAIN_CASE, EXPLAIN_TRANSCRIPT
from unit.llm.loopback import Play, Server, serving
from unit.services.places import workplace

CRITERIA = a_case(Criteria(criteria=tuple(Criterion(id=name, text=f"Says {name}") for name in "abc")))
RATED = '{"reason": "fine", "evidence": [], "score": 4}'
LISTED = {"verdicts": [{"criterion_id": name, "reason": "r", "evidence": [], "passed": True} for name in "abc"]}


def tokens(text: str) -> list[dict[str, Any]]:
    """The reply as tokens: its score might have been a 5, half as likely."""
    before, after = text.split("4")
    likely = [{"token": "4", "logprob": -0.4054651}, {"token": "5", "logprob": -1.0986123}]
    alone = [{"token": each, "logprob": 0.0, "top_logprobs": []} for each in (before, after)]
    return [alone[0], {"token": "4", "logprob": -0.4054651, "top_logprobs": likely}, alone[1]]


class Provider:
    """Answers a rating with probabilities where they are asked for; refuses the settings that it is told to."""

    def __init__(self, refused: tuple[str, ...] = ()) -> None:
        self.refused = refused
        self.server: Server | None = None

    def __call__(self, number: int) -> Play:
        assert self.server is not None
        body = self.server.seen[number].body
        if any(name in body for name in self.refused):
            return Play(status=400, body=b'{"error": {"message": "Unsupported parameter"}}')
        schema = body["response_format"]["json_schema"]["schema"]
        text = RATED if "score" in schema["properties"] else json.dumps(LISTED)
        choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        if body.get("logprobs"):
            choice["logprobs"] = {"content": tokens(text)}
        return Play(body=json.dumps({"model": "m", "choices": [choice]}).encode())


def asked(judge: str, **wanted: Any) -> tuple[Workspace, RunRequest]:
    """A workspace and a request: what is no setting is an option of the run. Nothing is cached."""
    options = {name: wanted.pop(name) for name in [*wanted] if name in ("simulator", "batch_criteria", "target")}
    return workplace(Path(), settings=Settings(**wanted)), RunRequest(judge=judge, cache=False, **options)


@asynccontextmanager
async def live(provider: Provider | None = None, **wanted: Any) -> AsyncIterator[tuple[OpenModels, Server]]:
    provider = provider or Provider()
    async with serving(provider) as server:
        provider.server = server
        spec = wanted.pop("judge", "openai-compatible:m@{url}").format(url=f"{server.url}/v1")
        if panel := wanted.get("panel"):
            member = f"openai-compatible:m@{server.url}/v1"
            settings = dict.fromkeys((member,) if panel.settings else (), CallSettings(seed=9))
            wanted["panel"] = replace(panel, members=(member,), settings=settings)
        async with open_models(*asked(spec, **wanted)) as found:
            yield found, server


async def rated(found: OpenModels) -> Score:
    assert found.source is not None
    grader = ExplainEval("RelevanceExplain").bind(GraderContext(judge=found.source.at("", 1)))
    (score,) = await grader.grade(EXPLAIN_CASE, EXPLAIN_TRANSCRIPT)
    assert isinstance(score, Score)
    return score


async def test_an_explain_eval_has_its_probability_weighted_score() -> None:
    async with live() as (found, server):
        score = await rated(found)
    assert score.value == 4.0
    assert score.details["prob_score"] == pytest.approx(4 + 1 / 3, abs=1e-6)
    body = server.seen[0].body
    assert (body["temperature"], body["logprobs"], body["top_logprobs"]) == (0.0, True, 5)


@pytest.mark.parametrize(
    ("refused", "calls", "has"),
    [(("logprobs",), 2, ["temperature"]), (("temperature", "logprobs"), 3, [])],
    ids=["no probabilities", "a reasoning model"],
)
async def test_a_model_that_refuses_our_wishes_is_asked_without_them(
    refused: tuple[str, ...], calls: int, has: list[str]
) -> None:
    async with live(Provider(refused)) as (found, server):
        score = await rated(found)
        await rated(found)
    assert score.value == 4.0
    assert "prob_score" not in score.details
    assert len(server.seen) == calls + 1
    assert [name for name in ("temperature", "logprobs") if name in server.seen[-1].body] == has


async def test_settings_of_the_user_reach_the_provider() -> None:
    settings = CallSettings(temperature=0.5, max_tokens=300, seed=3, logprobs=0, extra={"user": "howsure"})
    async with live(judge_settings=settings) as (found, server):
        await rated(found)
    body = server.seen[0].body
    assert (body["temperature"], body["max_tokens"], body["seed"], body["user"]) == (0.5, 300, 3, "howsure")
    assert "logprobs" not in body


@pytest.mark.parametrize(("own", "seed"), [(True, 9), (False, None)])
async def test_a_member_of_a_panel_may_have_settings_of_its_own(own: bool, seed: int | None) -> None:
    panel = PanelSettings(members=("offline",), settings={"m": CallSettings()} if own else {})
    async with live(judge="panel", panel=panel) as (found, server):
        await rated(found)
    assert server.seen[0].body.get("seed") == seed


async def test_a_judge_that_votes_is_not_made_to_vote_the_same() -> None:
    async with live(judge="panel", panel=PanelSettings(members=("offline",), votes=3)) as (found, server):
        await rated(found)
    assert len(server.seen) == 3
    assert all("temperature" not in seen.body for seen in server.seen)


@pytest.mark.parametrize(("batch", "calls"), [(True, 1), (False, 4)])
async def test_a_batch_is_one_call(batch: bool, calls: int) -> None:
    class Singly(Provider):
        def __call__(self, number: int) -> Play:
            if batch:
                return super().__call__(number)
            said = '{"reason": "r", "evidence": [], "passed": true}' if number else "hm"
            return Play(body=json.dumps({"choices": [{"message": {"content": said}}]}).encode())

    async with live(Singly(), batch_criteria=batch) as (found, server):
        assert found.source is not None
        grader = CriteriaGrader().bind(GraderContext(judge=found.source.at("", 1)))
        grades = await grader.grade(CRITERIA, a_transcript("a b c"))
    assert [grade.value for grade in grades if isinstance(grade, Score)] == [1.0] * 4
    assert len(server.seen) == calls


JUDGE = "openai-compatible:small@http://127.0.0.1:9/v1"


async def pinned(**wanted: Any) -> OpenModels:
    async with open_models(*asked(JUDGE, **wanted)) as found:
        return found


@pytest.mark.parametrize(
    "changed",
    [
        {"judge_settings": CallSettings(temperature=0.5)},
        {"judge_settings": CallSettings(logprobs=0)},
        {"judge_settings": CallSettings(extra={"a": 1})},
        {"batch_criteria": True},
        {"images": False},
    ],
    ids=["temperature", "probabilities", "extra", "batch", "images"],
)
async def test_all_that_shapes_replies_is_pinned(changed: dict[str, Any]) -> None:
    before = await pinned()
    assert (await pinned()).judge_sha256 == before.judge_sha256
    assert (await pinned(**changed)).judge_sha256 != before.judge_sha256
    assert len(before.judge_prompts) == 64


@pytest.mark.parametrize(
    "same", [{"rates": {"*": RateLimits(requests_per_minute=5.0)}}, {"retry": RetryLimits(attempts=1)}]
)
async def test_what_shapes_no_reply_is_not(same: dict[str, Any]) -> None:
    assert (await pinned(**same)).judge_sha256 == (await pinned()).judge_sha256


@pytest.mark.parametrize(
    "changed", [{"target_settings": CallSettings(temperature=0.1)}, {"images": False}], ids=["settings", "images"]
)
async def test_how_models_under_test_are_asked_is_pinned(changed: dict[str, Any]) -> None:
    assert (await pinned()).target_sha256 == ""
    before = await pinned(target=f"chat:{JUDGE}")
    assert len(before.target_sha256) == 64
    assert (await pinned(target=f"chat:{JUDGE}", **changed)).target_sha256 != before.target_sha256


async def test_the_model_that_plays_users_is_open_beside_the_judge() -> None:
    found = await pinned(target="http://127.0.0.1:9", simulator=JUDGE)
    assert found.simulator is not None
    assert (await pinned()).simulator is None
    async with open_models(*asked("offline", target="http://127.0.0.1:9", simulator=JUDGE)) as alone:
        assert alone.simulator is not None
        assert alone.spent() is not None
