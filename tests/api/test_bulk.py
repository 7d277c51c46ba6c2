"""Everything out as lines, and lines back in: in another organisation, with what cannot be taken named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from api.served import Caller, serving

RULE = {"id": "KIND", "name": "Be kind", "severity": "low", "description": "The answer is kind"}
LEGAL = (
    '{"schema_version": "legal_eval_v1", "id": "q1", "dataset": "house", "task_type": "reference_qa", '
    '"prompt": "Who?", "reference_answers": ["Ada"]}\n'
)


async def lines(ask: Caller, query: str = "") -> list[dict[str, Any]]:
    raw = (await ask("GET", f"/export{query}")).raw
    return [msgspec.json.decode(line) for line in raw.splitlines()]


async def test_what_was_exported_is_imported_elsewhere(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, database=database) as ask:
        await ask("POST", "/rubrics", {"name": "Kindness", "rules": [RULE]})
        await ask("POST", "/datasets", {"name": "house.jsonl", "content": LEGAL})
        await ask("PUT", "/bots/a1/context", {"bot_name": "Moss", "system_prompt": "Be kind."})
        exported = await lines(ask)
        assert [line["kind"] for line in exported] == ["rubric", "dataset", "agent"]
        assert [line["kind"] for line in await lines(ask, "?kind=rubric")] == ["rubric"]
        content = b"".join(msgspec.json.encode({**line, "id": line["id"] + "-2"}) + b"\n" for line in exported)
        sent = await ask("POST", "/import", content, Content_Type="application/x-ndjson")
        assert [each["status"] for each in sent.body] == ["created"] * 3, sent.body
        again = await ask("POST", "/import", content, Content_Type="application/x-ndjson")
        assert [each["status"] for each in again.body] == ["kept"] * 3
        copied = await lines(ask, "?kind=dataset")
        assert [line["document"]["content"] for line in copied] == [LEGAL, LEGAL]


async def test_a_line_that_cannot_be_taken_says_why(tmp_path: Path, database: str) -> None:
    bad: list[Any] = [
        b"{not json",
        {"kind": "poem", "id": "x", "document": {}},
        {"kind": "rubric", "id": "a b", "document": {"name": "n", "rules": [RULE]}},
        {"kind": "rubric", "id": "r1", "document": {"name": "n", "rules": ["text"]}},
        {"kind": "rubric", "id": "r2", "document": {"name": "n", "rules": [{"id": "A"}]}},
        {"kind": "question_set", "id": "q", "document": {"name": "n", "questions": [{"question": "Why?"}]}},
        {"kind": "dataset", "id": "d", "document": {"name": "n", "content": "{"}},
        {"kind": "rubric", "id": "good", "document": {"name": "n", "rules": [RULE]}},
    ]
    content = b"\n".join(line if isinstance(line, bytes) else msgspec.json.encode(line) for line in bad)
    async with serving(tmp_path, database=database) as ask:
        sent = await ask("POST", "/import", content, Content_Type="application/x-ndjson")
        assert sent.status == 200
        assert [each["status"] for each in sent.body] == ["refused"] * 7 + ["created"]
        assert all(each["detail"] for each in sent.body[:7])
        assert len(await lines(ask)) == 1
