"""What cases can be chosen by: tags first, then labels, each under its own name, difficulty before others."""

from __future__ import annotations

import pytest

from howsure.web.pages.run_facets import Facet, Facets


def facets(name: str, *words: str) -> Facets:
    return Facets(name, name, tuple(Facet(word, word, 1, False) for word in words))


@pytest.mark.parametrize(
    ("name", "words", "groups"),
    [
        ("tag", ("returns", "urgent"), [("", ["returns", "urgent"])]),
        (
            "tag",
            ("language: en", "returns", "difficulty: hard", "difficulty: easy"),
            [
                ("", ["returns"]),
                ("difficulty", ["difficulty: hard", "difficulty: easy"]),
                ("language", ["language: en"]),
            ],
        ),
        ("tag", ("difficulty: hard",), [("difficulty", ["difficulty: hard"])]),
        ("tag", ("time:10", "a:b: c"), [("", ["time:10"]), ("a:b", ["a:b: c"])]),
        ("grader", ("criteria: strict",), [("", ["criteria: strict"])]),
        ("tag", (), []),
    ],
    ids=["tags", "tags and labels", "labels alone", "colons", "not of tags", "nothing"],
)
def test_labels_stand_under_their_names(name: str, words: tuple[str, ...], groups: list[tuple[str, list[str]]]) -> None:
    found = facets(name, *words).groups
    assert [(group, [each.word for each in choices]) for group, choices in found] == groups
