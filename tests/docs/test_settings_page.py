"""The page of settings is made from the code, and what it shows can be read as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from howsure.config import load
from howsure.kit.plugins import builtin_kit
from howsure.kit.settings_schema import settings_schema
from net.setting_keys import all_keys, settings_page

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_tables_are_as_the_code_says() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == settings_page(page), "`make settings-docs` writes them anew"


def test_every_key_has_a_sentence_of_its_own() -> None:
    assert [key.path for key in all_keys() if not key.text.endswith(".")] == []


@pytest.mark.parametrize("text", EXAMPLES, ids=[text.splitlines()[-1][:40] for text in EXAMPLES])
def test_every_example_can_be_read_and_fits_the_schema(text: str, tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text(text, encoding="utf-8")
    load(tmp_path, {})
    schema = jsonschema_rs.Draft202012Validator(settings_schema(builtin_kit(())))
    assert [error.message for error in schema.iter_errors(yaml.safe_load(text))] == []
