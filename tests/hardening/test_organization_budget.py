"""The budget of an organisation, from the request to the end of the run and to the refusal of the next one."""

from __future__ import annotations

from pathlib import Path

from api.shared import in_a_thread
from databases import database as database
from e2e.test_live_judge import Model, serving
from howsure.api.app import ServiceAccess
from howsure.config import OrganizationSettings
from net.rows import file_bytes
from net.worlds import WORLDS


def test_a_run_that_reaches_it_ends_out_of_budget_and_the_next_is_refused(tmp_path: Path, database: str) -> None:
    with serving("good") as model:
        reaches_it(model, tmp_path, database)


def reaches_it(model: Model, tmp_path: Path, database: str) -> None:
    organizations = {"acme": OrganizationSettings(budget="1tok"), "other": OrganizationSettings(budget="1Mtok")}
    rules = {"organizations": organizations, "judges": (model.spec,)}
    content = file_bytes(WORLDS["explain"]["cases.jsonl"]).decode()
    with in_a_thread(tmp_path, database, ServiceAccess(keys_needed=True), **rules) as service:
        acme, other = (service.asker(organization_id=name) for name in ("acme", "other"))
        made = [each.made("/datasets", {"name": "cases.jsonl", "content": content}) for each in (acme, other)]
        wanted = [{"dataset_id": each["dataset_id"], "eval_model": model.spec, "concurrency": 1} for each in made]
        run = acme.finished(acme.made("/runs", wanted[0], 202)["run_id"])
        assert (run["state"], run["skipped"]) == ("out_of_budget", 2)
        assert run["spent"]["tokens"] > 0
        calls = model.calls
        said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello to you"}]
        one = {"messages": said, "success_criteria": ["It greets"], "eval_model": model.spec}
        for path, body in (
            ("/runs", wanted[0]),
            (f"/runs/{run['run_id']}/regrade", {"eval_model": model.spec}),
            ("/evaluate-transcript", one),
        ):
            refused = acme("POST", path, body)
            assert refused.status == 422
            text = f"acme has spent its 1 tokens of this month ({run['spent']['tokens']:,} tokens)"
            assert text in str(refused.body)
            assert "or when the operator raises service.organizations.acme.budget" in str(refused.body)
        assert model.calls == calls
        # What costs nothing goes on, and so do others.
        free = acme.finished(acme.made("/runs", {"dataset_id": made[0]["dataset_id"]}, 202)["run_id"])
        assert free["state"] == "completed"
        assert other.finished(other.made("/runs", wanted[1], 202)["run_id"])["state"] == "completed"
