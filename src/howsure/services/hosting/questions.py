"""Question sets: the older way of writing test sets. A question is asked as it stands, and its answer is held against
the answers or the criteria that came with it. Run, a question set is a `legal` dataset, and shows the older scores."""

from __future__ import annotations

from typing import Any

import msgspec

Json = dict[str, Any]
DIALECT = "legal"
SCHEMA = "legal_eval_v1"


def as_dataset(name: str, body: Json) -> bytes:
    """The question set as lines of a dataset."""
    lines = [msgspec.json.encode(_line(name, each)) for each in body.get("questions", ())]
    return b"".join(line + b"\n" for line in lines)


def _line(name: str, given: Json) -> Json:
    head = {"schema_version": SCHEMA, "id": given["question_id"], "dataset": name or "questions"}
    around = {"context": given["context"]} if given.get("context") else {}
    tags = {"tags": given["tags"]} if given.get("tags") else {}
    return {**head, **_asked(given), "prompt": given["question"], **around, "metadata": tags}


def _asked(given: Json) -> Json:
    answers = [given["expected_answer"]] if given.get("expected_answer") else []
    criteria = given.get("criteria") or ()
    if not criteria:
        return {"task_type": "reference_qa", "reference_answers": answers}
    rubric = [{"id": f"c{place}", "title": text} for place, text in enumerate(criteria, 1)]
    return {"task_type": "rubric_qa", "rubric": rubric, **({"reference_answers": answers} if answers else {})}
