"""A service with something on every page, and the address of each: every route that the pages have stands in this
table, so that none is left out of what is tried on all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from howsure.model.access_scope import EVERYWHERE
from howsure.model.document import DocumentKind
from howsure.model.label import Opinion
from howsure.services.host import documents
from howsure.services.host.keys import KeyRequest, make_key
from howsure.services.host.labels import LabelInput, build_label, label_queue
from howsure.services.host.uploads import Upload, check_upload
from howsure.store.keys import KeyScope
from howsure.web.app import PAGES
from web.pages_served import Served
from web.stocked import NASTY, NEWER, OLDER, SUPPORT, stock

RULE = {"id": "KIND", "name": "Is kind", "severity": "high", "description": "It stays friendly."}
CASE = {"item_id": "hello", "type": "single_turn", "name": "Hello", "inputs": {"message": "hello"}}
QUESTION = {"question_id": "q", "question": "When?", "expected_answer": "Now"}
LINE = (
    b'{"schema_version": "legal_eval_v1", "id": "a", "dataset": "d", "task_type": "reference_qa", '
    b'"prompt": "When?", "reference_answers": ["Now"]}\n'
)
NOT_PAGES = ("/events", "/runs/{run_id}/events", "/runs/{run_id}/case", "/label/{run_id}/labels.jsonl")
PROVIDER = ("/sign-in/provider", "/sign-in/provider/callback")
"""There where a provider is set."""
FILES = ("/runs/{run_id}/cases/{position}/raw", "/runs/{run_id}/cases/{position}/attachments/{number}")


class Everything(Struct, frozen=True, kw_only=True):
    """What there is, by the names that addresses have for it."""

    run_id: str
    rubric: str
    test_set: str
    question_set: str
    dataset: str
    key_id: str

    def filled(self, path: str) -> str:
        """A route's address, with things that are there."""
        known = {"run_id": self.run_id, "position": "0", "number": "1", "key_id": self.key_id, "deed": "cancel"}
        known["session_id"] = "none"
        is_export = path.endswith("/export")
        known |= {"shelf": "test-sets", "key": self.test_set} if is_export else {"shelf": "rubrics", "key": self.rubric}
        return re.sub(r"{(\w+)}", lambda found: known[found[1]], path) + QUERIES.get(path, "")

    @property
    def others(self) -> list[str]:
        """Other shelves, other runs and other ways to look at some of the pages."""
        return [
            "/library/test-sets",
            "/library/datasets",
            "/library/question-sets",
            "/library/datasets/new",
            f"/library/test-sets/{self.test_set}",
            f"/library/test-sets/{self.test_set}/edit",
            f"/library/question-sets/{self.question_set}",
            f"/library/question-sets/{self.question_set}/edit",
            f"/library/datasets/{self.dataset}",
            f"/library/datasets/{self.dataset}/edit",
            f"/label/{self.run_id}?blind=off&after=0",
            f"/runs/{OLDER}/regrade?rubric={self.rubric}",
            f"/start?cases=test_set:{self.test_set}&rubric={self.rubric}",
        ]


QUERIES = {
    "/compare": f"?run={OLDER}&run={NEWER}",
    "/compare/case": f"?run={OLDER}&run={NEWER}&case=refund-03",
    "/agent": "?id=northwind-support",
    "/runs/{run_id}/case": "?id=refund-01",
    "/library/{shelf}/{key}/difference": "?from=1&to=2",
    "/library/{shelf}/{key}/export": "?to=golden",
}
READ = sorted({page.path for page in PAGES if page.method == "GET"} - set(PROVIDER))
WRITTEN = sorted({page.path for page in PAGES if page.method == "POST"})
SHOWN = [path for path in READ if path not in (*NOT_PAGES, *FILES)]
"""Those that answer with a page for people."""


async def fill(served: Served, words: str = "", run_id: str = SUPPORT) -> Everything:
    """`words`: planted wherever somebody may write something."""
    await stock(served.store)
    host = served.host
    rule = {**RULE, **({"name": words, "description": words, "category": words} if words else {})}
    body = {"name": words or "House rules", "agent_id": "moss", "description": words, "rules": [rule]}
    rubric = await _kept(served, DocumentKind.RUBRIC, body, {**body, "rules": [{**rule, "severity": "low"}]}, words)
    case = {**CASE, "name": words or "Hello", "inputs": {"message": words or "hello"}}
    asked = {"name": words or "Greetings", "agent_id": "moss", "items": [case]}
    test_set = await _kept(served, DocumentKind.TEST_SET, asked, {**asked, "description": "more"}, words)
    question = {**QUESTION, **({"question": words, "expected_answer": words} if words else {})}
    quiz = {"name": words or "Quiz", "agent_id": "moss", "questions": [question]}
    question_set = await _kept(served, DocumentKind.QUESTION_SET, quiz, {**quiz, "description": "more"}, words)
    draft = await check_upload(host, Upload(content=LINE, name=words or "lines.jsonl", author=words, note=words))
    dataset = await host.store.documents.create(DocumentKind.DATASET, "lines", draft)
    key, _ = await make_key(host.store, KeyRequest(name=words or "somebody", scopes=[KeyScope.READ]))
    await _label(served, run_id, words)
    return Everything(
        run_id=run_id,
        rubric=rubric,
        test_set=test_set,
        question_set=question_set,
        dataset=dataset.id,
        key_id=key.id,
    )


async def _kept(
    served: Served, kind: DocumentKind, first: Mapping[str, Any], second: Mapping[str, Any], words: str
) -> str:
    made = await documents.add_document(
        served.host, kind, documents.DocumentChange(body=dict(first), author=words, note=words), EVERYWHERE
    )
    change = documents.DocumentChange(body=dict(second), author=words, note=words)
    return (await documents.change_document(served.host, kind, made.id, change, EVERYWHERE)).id


async def _label(served: Served, run_id: str, words: str) -> None:
    run = await served.store.run(run_id)
    for question in (await label_queue(served.store, run))[:2]:
        said = LabelInput(Opinion.FAIL, words)
        await served.store.labels.put(build_label(run, question, words or "ana", said))


__all__ = ["NASTY", "READ", "SHOWN", "WRITTEN", "Everything", "fill"]
