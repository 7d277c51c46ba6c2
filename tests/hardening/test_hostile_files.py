"""Files of other tools that would swell, or never end, when they are read: templates, lists that multiply, references
to references, and databases. Each is refused in a moment, in words."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars
import pytest

from howsure.dialects.datasets import validate
from howsure.dialects.plain import PlainDialect
from howsure.dialects.tool_datasets import promptfoo as promptfoo_dialect
from howsure.dialects.tool_datasets.promptfoo import PromptfooDialect
from howsure.dialects.tool_datasets.templates import JINJA, TemplateFailed, fill, value_in
from howsure.dialects.tool_results.inspect_logs import InspectLogReader
from howsure.dialects.tool_results.promptfoo_results import PromptfooResultsReader
from howsure.errors import DatasetInvalid
from howsure.model.case import opening
from tool_logs import inspect_header, inspect_sample

SECONDS = 2.0
VALUES = {"x": "hello world", "xs": [1, 2, 3], "choices": ["a", "b"], "label": 1, "doc": "word \n" * 20_000}

ORDINARY = [
    ("{{ x|upper }} {{ x.replace('o', '0') }}", "HELLO WORLD hell0 w0rld"),
    ("{% for a in xs %}{{ loop.index }}:{{ a }}{% if not loop.last %}, {% endif %}{% endfor %}", "1:1, 2:2, 3:3"),
    ("{{ ', '.join(choices) }} {{ xs|join('-') }}", "a, b 1-2-3"),
    ("{{ '%.2f'|format(3.14159) }} {{ '{} and {}'.format(x, label) }}", "3.14 hello world and 1"),
    ("{% set y = x|title %}{{ y ~ '!' }}", "Hello World!"),
    ("{% if label == 1 and 'a' in choices %}{{ choices[label] }}{% endif %}", "b"),
    ("{{ nothing|default('z') }}{% if nothing is defined %}1{% endif %}", "z"),
    ("{{ doc|indent(4)|length }} {{ doc.split('\\n')|length }}", "199996 20001"),
    ("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(x) }}", "<hello world>"),
    ("{{ 7 % 3 }} {{ 3 * 4 }} {{ 'ab' * 3 }} {{ 'a'|center(3) }}.", "1 12 ababab  a ."),
]


@pytest.mark.parametrize(("text", "filled"), ORDINARY)
def test_an_ordinary_template_is_filled(text: str, filled: str) -> None:
    assert fill(text, VALUES) == fill(text, VALUES, JINJA) == filled


def test_an_expression_is_what_it_comes_to() -> None:
    assert value_in("{{ [x, label] }}", VALUES) == ["hello world", 1]
    assert value_in("choices|map('upper')|list", VALUES) == ["A", "B"]


DOUBLED = "{% set a = a ~ a %}" * 30
TOWER = "{% set a = [1] * 8 %}" + "{% set a = [a] * 8 %}" * 12
HOSTILE = [
    "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
    "{% for a in range(90000) recursive %}{{ loop(range(90000)) }}{% endfor %}",
    "{% for a in range(19000) %}{{ doc|upper|length }}{% endfor %}",
    "{% set a = range(90000)|list %}{% for i in a %}{{ i in a }}{% endfor %}",
    "{% macro m(a) %}{{ m(a) }}{{ m(a) }}{% endmacro %}{{ m(1) }}",
    "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}",
    "{% set a = 'x' * 1000000 %}" + DOUBLED + "{{ a }}",
    "{% set a = 'x' * 1000000 %}" + DOUBLED.replace("~", "+"),
    TOWER + "{{ a }}",
    TOWER + "{{ a|string }}",
    TOWER + TOWER.replace("set a", "set b").replace("[a]", "[b]") + "{{ a == b }}",
    "{{ (['a' * 1900000] * 1000)|join }}",
    "{{ ('x' * 1000000).join(range(100000)|map('string')|list) }}",
    "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}",
    "{{ 'a'.center(10000000000) }}",
    "{{ 'a'|center(10000000000) }}",
    "{% filter center(1000000000) %}a{% endfilter %}",
    "{{ 'a\t'.expandtabs(10000000000) }}",
    "{{ xs|batch(10000000000)|list }}",
    "{{ doc|indent(10000000) }}",
    "{{ (1).to_bytes(10000000000, 'big') }}",
    "{{ '%09999999999d' % 1 }}",
    "{{ '%*d'|format(9999999999, 1) }}",
    "{{ '{:>9999999999}'.format(1) }}",
    "{{ '{:{}}'.format(1, 9999999999) }}",
    "{{ ('%s' * 1000) % (('x' * 1000000,) * 1000) }}",
    "{{ 9 ** 9 ** 9 }}",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_template_that_would_never_end_or_swell_is_refused_at_once(text: str) -> None:
    began = time.process_time()
    with pytest.raises(TemplateFailed, match=r"more work than|too large|longer than|recursion|out of range"):
        fill(text, VALUES)
    assert time.process_time() - began < SECONDS


@pytest.fixture
def quick() -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < SECONDS


def promptfoo(folder: Path, test: dict[str, Any]) -> list[str]:
    """The problems of a configuration with one test."""
    path = folder / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": ["{{a}}"], "providers": ["echo"], "tests": [test]}))
    return [f"{each.field}: {each.message}" for each in validate(path, PromptfooDialect()).problems]


@pytest.mark.usefixtures("quick")
def test_lists_that_multiply_are_counted_before_they_are_combined(tmp_path: Path) -> None:
    (problem,) = promptfoo(tmp_path, {"vars": {f"v{n}": [*"0123456789"] for n in range(12)} | {"a": "x"}})
    assert problem == (
        "tests[0].vars: these lists have 1,000,000,000,000 combinations; of one test 10,000 are read at most"
    )


@pytest.mark.usefixtures("quick")
def test_scenarios_that_multiply_are_counted_before_they_are_combined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "promptfooconfig.json"

    def problems(scenarios: int, rows: int) -> list[str]:
        parts = {key: [{"vars": {key: f"{n}"}} for n in range(rows)] for key in ("config", "tests")}
        path.write_text(json.dumps({"prompts": ["{{tests}}"], "providers": ["echo"], "scenarios": [parts] * scenarios}))
        return [f"{each.code} {each.field}: {each.message}" for each in validate(path, PromptfooDialect()).problems]

    assert problems(2, 9) == []
    said = "its `config` and `tests` have 9,000,000 combinations; of one scenario 10,000 are read at most"
    assert problems(2, 3_000) == [f"too-many scenarios[{number}]: {said}" for number in (0, 1)]
    monkeypatch.setattr(promptfoo_dialect, "MOST_CASES", 500)
    assert problems(9, 9) == [
        "too-many scenarios[6]: there are more than the 500 cases that are read of one configuration"
    ]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (
            {"question": polars.repeat("why", 3_000_000, eager=True)},
            "too-many: declares 3,000,000 rows in",
        ),
        (
            {
                "id": polars.int_range(20_000, eager=True),
                "question": polars.repeat("why? " * 4_000, 20_000, eager=True),
            },
            "too-large: its rows are more than 200 times as large as the file",
        ),
    ],
    ids=["rows that take no room", "texts that take no room"],
)
@pytest.mark.usefixtures("quick")
def test_a_parquet_file_that_swells_is_refused(tmp_path: Path, columns: dict[str, Any], found: str) -> None:
    path = tmp_path / "rows.parquet"
    polars.DataFrame(columns).write_parquet(path)
    (problem,) = validate(path, PlainDialect()).problems
    assert f"{problem.code}: {problem.message}".startswith(found)


@pytest.mark.usefixtures("quick")
def test_a_hostile_assertion_is_a_problem_of_its_own_test(tmp_path: Path) -> None:
    (problem,) = promptfoo(tmp_path, {"vars": {"a": "x"}, "assert": [{"type": "contains", "value": HOSTILE[0]}]})
    assert problem.endswith("the template cannot be filled: it takes more work than a template may")


def fault(reader: Any, path: Path) -> str:
    with pytest.raises(DatasetInvalid) as refused:
        list(reader.read(path))
    return refused.value.problems[0].message


@pytest.mark.usefixtures("quick")
def test_attachments_of_a_log_name_no_others(tmp_path: Path) -> None:
    texts = {f"n{place}": f"attachment://n{place + 1} " * 10 for place in range(12)}
    sample = {**inspect_sample(1), "input": "attachment://n0", "attachments": texts}
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**inspect_header([sample]), "samples": [sample]}))
    record = next(each for each in InspectLogReader().read(path) if hasattr(each, "case"))
    assert opening(record.case.input) == "attachment://n1 " * 10


@pytest.mark.usefixtures("quick")
def test_merged_keys_of_yaml_do_not_multiply(tmp_path: Path) -> None:
    lines = ["a0: &a0 {x0: 1, y0: 2}"]
    lines += [f"a{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 9)}], x{n}: 1}}" for n in range(1, 12)]
    path = tmp_path / "output.yaml"
    path.write_text("\n".join([*lines, "results: {results: []}"]))
    assert "with its aliases written out it holds more than 100,000 values" in fault(PromptfooResultsReader(), path)


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
TABLE = "CREATE TABLE eval_results (eval_id TEXT, test_idx INT, prompt_idx INT"
DATABASES = {
    "view": (
        f"CREATE VIEW evals AS {ENDLESS} SELECT x AS id, '' AS description, '{{}}' AS config, '[]' AS prompts,"
        " x AS created_at FROM c",
        f"{TABLE})",
    ),
    "generated column": (
        "CREATE TABLE evals (id TEXT, description TEXT, config TEXT, prompts TEXT, created_at INT)",
        f"{TABLE}, big AS (zeroblob(999999999)))",
    ),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("statements", DATABASES.values(), ids=DATABASES)
def test_a_database_that_computes_when_it_is_read_is_refused(tmp_path: Path, statements: tuple[str, str]) -> None:
    path = tmp_path / "promptfoo.db"
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement)
    database.close()
    assert fault(PromptfooResultsReader(), path).startswith("`evals` and `eval_results` are no plain tables")
