"""What somebody does with a generated Python client: make documents, evaluate a bot, read every result."""

import sys
import time

from howsure_sdk import Client  # type: ignore[import-not-found]
from howsure_sdk.api.evaluations import evaluations_create  # type: ignore[import-not-found]
from howsure_sdk.api.rubrics import rubrics_create, rubrics_get  # type: ignore[import-not-found]
from howsure_sdk.api.runs import runs_get, runs_results_list  # type: ignore[import-not-found]
from howsure_sdk.api.test_sets import test_sets_create  # type: ignore[import-not-found]
from howsure_sdk.models import ErrorShape, EvaluationGiven, RubricGiven, TestSetGiven  # type: ignore[import-not-found]

RUBRIC = {"name": "Kindness", "rules": [{"id": "KIND", "name": "Be kind", "severity": "low"}]}
ITEM = {
    "type": "single_turn",
    "name": "Hello",
    "inputs": {"message": "hello"},
    "expected": {"success_criteria": ["The answer says hello"]},
}


def main(base: str) -> None:
    client = Client(base_url=base.removesuffix("/api/v1"))
    rubric = rubrics_create.sync(client=client, body=RubricGiven.from_dict(RUBRIC))
    tests = test_sets_create.sync(
        client=client, body=TestSetGiven.from_dict({"name": "Greetings", "agent_id": "bot-1", "items": [ITEM]})
    )
    body = EvaluationGiven(bot_id="bot-1", test_set_id=tests.test_set_id, rubric_id=rubric.rubric_id)
    run_id = evaluations_create.sync(client=client, body=body).run_id
    while (run := runs_get.sync(run_id, client=client)).status in ("pending", "running"):
        time.sleep(0.05)
    results = runs_results_list.sync(run_id, client=client)
    missing = rubrics_get.sync("none", client=client)
    assert isinstance(missing, ErrorShape)
    print(run.status, run.total, [each.output.answer for each in results], missing.error)


main(sys.argv[1])
