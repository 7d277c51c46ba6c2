"""The data files of the user's side: every list is there, can be read, and is used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import howsure.users
from howsure.judges.offline.lexicon import read_sections
from howsure.users.words import listed_words, phrase, word_groups, words_by_key

FOLDER = Path(howsure.users.__file__).parent
SOURCE = "\n".join(path.read_text("utf-8") for path in sorted(FOLDER.rglob("*.py")))
PHRASES = [name.strip("/") for name in read_sections("howsure.users", "phrases") if name]
REFERENCES = set(re.findall(r"\{\{(\w+)\}\}", (FOLDER / "data" / "phrases.txt").read_text("utf-8")))
ACTS = {f"act_{name}" for name in re.findall(r'_AgentAct\("(\w+)"', SOURCE)}


def test_every_phrase_in_the_file_is_used_and_every_used_one_is_in_the_file() -> None:
    assert set(PHRASES) == set(re.findall(r'\bphrase\("(\w+)"\)', SOURCE)) | REFERENCES | ACTS
    assert len(PHRASES) == len(set(PHRASES))


@pytest.mark.parametrize("name", sorted(set(PHRASES) - REFERENCES))
def test_no_pattern_matches_nothing_at_all(name: str) -> None:
    assert not phrase(name).search("")
    assert "{{" not in phrase(name).pattern.replace("{{?", "")


def test_every_list_of_words_is_used_and_every_used_one_is_in_the_file() -> None:
    used = re.findall(r'\b(?:listed_words|word_groups|words_by_key)\("(\w+)"\)', SOURCE)
    assert {name for name in read_sections("howsure.users", "words") if name} == set(used)


def test_a_list_is_read_whole_by_group_or_by_key() -> None:
    assert {"human", "supervisor"} <= listed_words("people")
    assert ("window", "aisle", "middle") in word_groups("options")
    assert words_by_key("relatives")["dog"] == {"pet", "pets"}
    assert words_by_key("languages").keys() == {"en", "de", "fr", "es", "it", "pt", "nl"}


def test_alternatives_are_whole_words() -> None:
    assert phrase("thanks").search("many thanks!")
    assert not phrase("thanks").search("thanksgiving")


def test_a_phrase_may_refer_to_another() -> None:
    assert phrase("handoff").search("i'm connecting you to a real person")
