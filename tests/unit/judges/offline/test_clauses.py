"""What an answer says beyond the question."""

from __future__ import annotations

import pytest

from howsure.judges.offline.matches import bare_answer
from howsure.judges.offline.sentences import comparable_words, split_sentences


@pytest.mark.parametrize(
    ("question", "answer", "bare"),
    [
        ("What came before the web?", "Before the web came Gopher, which was text only.", ("gopher",)),
        ("Who painted the ceiling?", "The ceiling was painted by Anna Berg (born 1950).", ("anna", "berg")),
        ("Where is the temple?", "The temple is located in Kyoto, Japan.", ("kyoto",)),
        ("Where is the temple?", "Kyoto", ("kyoto",)),
        ("Where is the temple?", "The temple. It is in Kyoto.", ("kyoto",)),
        ("Where is the temple?", "The temple is where it is.", ()),
        ("Where is the temple?", "", ()),
    ],
)
def test_the_bare_answer_is_what_the_first_telling_clause_adds(
    question: str, answer: str, bare: tuple[str, ...]
) -> None:
    assert bare_answer(comparable_words(question), split_sentences(answer)) == bare
