"""What every registered importer must hold to, whoever wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark_files import SOURCES, written
from howsure.dialects.base import Importer
from howsure.dialects.datasets import HEAD, read_cases, validate
from howsure.dialects.importers.base import SKIPPED
from howsure.errors import Level, Problem
from howsure.kit import Kit
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case
from howsure.policies.verdicts import builtin_profiles
from howsure.services.convert.convert import recognise
from howsure.services.demo import DEMOS, demo_folder

KIT: Kit = builtin_kit(builtin_profiles())
IMPORTERS = list(KIT.importers)
ENDINGS = (".json", ".jsonl", ".csv")

HOSTILE = {
    "empty": b"",
    "blank": b"\n \r\n\t\n",
    "binary": bytes(range(256)) * 8,
    "not utf-8": b'{"id": "\xff\xfe"}\n',
    "utf-16": '[{"query": "x"}]'.encode("utf-16"),
    "deep": b"[" * 100_000,
    "a number": b"42\n",
    "null": b"null\n",
    "a list": b"[[], {}, 3]\n",
    "an empty object": b"{}\n",
    "nan": b'{"id": NaN}\n',
    "lone surrogate": b'{"query": "\\ud800", "response": "x"}\n',
    "twice": b'{"id": 1, "id": 2}\n',
    "unfinished": b'{"trace": {}, "observations": [{"id": ',
    "a list cut off": b'[{"id": "0", "user_scenario": {"instructions": "x"}}, {"id',
    "zero byte": b'{"id": "a\x00b"}\n',
    "a csv header alone": b"Criterion ID,Task ID,Prompt,Description\n",
    "a broken csv": b'question,option_a,option_b,answer\n"[unclosed,1\n',
    "wrong kinds inside": b'{"observations": [1, null, "x"], "trace": 3, "messages": 3, "resourceSpans": [1]}\n',
    "rows of wrong kinds": b'{"prompt_0": 1, "rubric": {"a": []}, "question": [], "facts": {}, "Rubric JSON": 3}\n',
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
def test_no_content_makes_an_importer_raise(importer: Importer, ending: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"file{ending}"
    path.write_bytes(content)
    assert isinstance(importer.detect(path, content[:HEAD]), bool)
    report = validate(path, importer)
    assert report.problems
    for problem in report.problems:
        assert problem.code
        assert problem.message
        assert problem.file == str(path)
        assert problem.level is Level.ERROR
        assert "Traceback" not in problem.message


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
def test_an_importer_claims_no_file_of_the_dialects(importer: Importer) -> None:
    files = [demo_folder() / demo.dataset for demo in DEMOS]
    assert [path.name for path in files if importer.detect(path, path.read_bytes()[:HEAD])] == []


def test_names_are_unique_among_dialects_and_importers() -> None:
    names = [*KIT.dialects.names(), *KIT.importers.names()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", SOURCES)
def test_an_importer_yields_cases_and_problems_and_the_same_ones_again(name: str, tmp_path: Path) -> None:
    path, importer = written(tmp_path, *SOURCES[name]), KIT.importers[name]
    found = list(importer.read(path))
    assert {type(one) for one in found} <= {Case, Problem}
    assert list(importer.read(path)) == found
    assert len({one.id for one in found if isinstance(one, Case)}) == sum(isinstance(one, Case) for one in found)


@pytest.mark.parametrize("name", SOURCES)
def test_no_dialect_claims_what_an_importer_knows(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, *SOURCES[name])
    certain = [each for each in KIT.dialects if not getattr(each, "fallback", False)]
    assert [each.name for each in certain if each.detect(path, path.read_bytes()[:HEAD])] == []
    assert recognise(path, KIT) == name


@pytest.mark.parametrize("name", [name for name, (file, _) in SOURCES.items() if file.endswith(".jsonl")])
def test_what_is_left_out_is_said_in_one_way(name: str, tmp_path: Path) -> None:
    """Every record of a line format twice: the second is numbered, or left out with the one code that reports count."""
    file, text = SOURCES[name]
    path = written(tmp_path, file, text + text)
    report = validate(path, KIT.importers[name])
    once = len(list(read_cases(written(tmp_path, f"once_{file}", text), KIT.importers[name])))
    left_out = sum(warning.code == SKIPPED for warning in report.warnings)
    spans_count_once = name == "otlp"
    assert report.valid
    assert report.cases + left_out == (once if spans_count_once else 2 * once)
