"""Results files of other tools, written here in the shapes that those tools write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo
from zlib import crc32

import zstandard

Json = dict[str, Any]


def inspect_sample(id: int | str, value: Any = "C", *, epoch: int = 1, **fields: Any) -> Json:
    """A sample that asks for a number in words; `value` is what the scorer `match` gave it, or scores by scorer."""
    question, answer = f"What is {id} in words?", f"It is number {id}."
    scores = value if isinstance(value, dict) else {"match": value}
    return {
        "id": id,
        "epoch": epoch,
        "input": question,
        "target": f"number {id}",
        "messages": [
            {"id": "m1", "role": "system", "content": "Be brief."},
            {"id": "m2", "role": "user", "content": question, "source": "input"},
            {"id": "m3", "role": "assistant", "content": answer, "source": "generate", "model": "mock/model"},
        ],
        "output": {"model": "mock/model", "choices": [{"message": {"role": "assistant", "content": answer}}]},
        "scores": {name: {"value": each, "answer": answer, "explanation": f"{each}"} for name, each in scores.items()},
        "metadata": {},
        "events": [],
        "model_usage": {"mock/model": {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17}},
        "total_time": 1.5,
        "attachments": {},
        **fields,
    }


def inspect_header(samples: Sequence[Json], metrics: Mapping[str, float] | None = None, **fields: Any) -> Json:
    measured = {name: {"name": name, "value": value, "params": {}} for name, value in (metrics or {}).items()}
    scores = [{"name": "match", "scorer": "match", "params": {}, "metrics": measured}] if metrics else []
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": "2026-01-02T03:04:05+00:00",
            "task": "numbers",
            "model": "mock/model",
            "dataset": {"name": "numbers", "sample_ids": list(dict.fromkeys(each["id"] for each in samples))},
            "packages": {"inspect_ai": "0.3.200"},
            "config": {},
        },
        "plan": {"name": "plan", "steps": []},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": scores},
        "stats": {"started_at": "2026-01-02T03:04:05+00:00", "completed_at": "2026-01-02T03:05:05+00:00"},
        **fields,
    }


def inspect_json(
    path: Path, samples: Sequence[Json], metrics: Mapping[str, float] | None = None, **fields: Any
) -> Path:
    path.write_text(json.dumps({**inspect_header(samples, metrics, **fields), "samples": list(samples)}))
    return path


def inspect_archive(path: Path, samples: Sequence[Json], metrics: Mapping[str, float] | None = None, *,
                    zstd: bool = False, header: bool = True) -> Path:  # fmt: skip
    """A `.eval` file. Samples stand in the order in which they ended, here the reverse."""
    head = inspect_header(samples, metrics)
    members = {"_journal/start.json": {"version": 2, "eval": head["eval"], "plan": head["plan"]}}
    members |= {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in reversed(samples)}
    members |= {"header.json": head} if header else {}
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, value in members.items():
            text = json.dumps(value).encode()
            if zstd:
                _write_zstd(archive, name, text)
            else:
                archive.writestr(name, text)
    return path


def _write_zstd(archive: ZipFile, name: str, text: bytes) -> None:
    """Stored with the packed bytes, then declared as zstd with the sizes of the text: Python itself writes none."""
    packed = zstandard.ZstdCompressor().compress(text)
    info = ZipInfo(name)
    assert archive.fp is not None
    begin = archive.fp.tell()
    archive.writestr(info, packed)
    info.compress_type, info.file_size, info.CRC = 93, len(text), crc32(text)
    end = archive.fp.tell()
    archive.fp.seek(begin)
    archive.fp.write(info.FileHeader(False))
    archive.fp.seek(end)


def promptfoo_row(test: int, prompt: int, *, passed: bool, variables: Json | None = None, **fields: Any) -> Json:
    """One test with one prompt and provider; even prompts go to `echo:small`, odd ones to `echo:large`."""
    values = variables or {"city": f"City {test}"}
    provider = ("echo:small", "echo:large")[prompt % 2]
    reason = "All assertions passed" if passed else 'Expected output to contain "sunny"'
    assertion = {"type": "contains", "value": "sunny"}
    return {
        "id": f"row-{test}-{prompt}",
        "testIdx": test,
        "promptIdx": prompt,
        "vars": values,
        "testCase": {"vars": values, "assert": [assertion]},
        "prompt": {"raw": f"Weather in {values['city']}?", "label": "Weather in {{city}}?"},
        "provider": {"id": provider, "label": ""},
        "response": {"output": "sunny" if passed else "rain", "tokenUsage": {"prompt": 7, "completion": 2, "total": 9}},
        "success": passed,
        "score": float(passed),
        "namedScores": {},
        "latencyMs": 120,
        "cost": 0.001,
        "failureReason": 0 if passed else 1,
        "error": None if passed else reason,
        "gradingResult": {
            "pass": passed,
            "score": float(passed),
            "reason": reason,
            "componentResults": [{"pass": passed, "score": float(passed), "reason": reason, "assertion": assertion}],
        },
        **fields,
    }


def promptfoo_output(rows: Sequence[Json], **stats: int) -> Json:
    raw = "Weather in {{city}}?"
    prompts = [{"raw": raw, "label": raw, "provider": name} for name in ("echo:small", "echo:large")]
    results = {"version": 3, "timestamp": "2026-01-02T03:04:05.000Z", "prompts": prompts, "results": list(rows)}
    return {
        "evalId": "eval-abc-2026-01-02T03:04:05",
        "results": {**results, "stats": stats},
        "config": {"description": "weather"},
        "shareableUrl": None,
        "metadata": {"promptfooVersion": "0.121.20"},
    }
