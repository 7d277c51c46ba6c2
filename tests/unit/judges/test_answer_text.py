"""What of an answer is language."""

from __future__ import annotations

import pytest

from howsure.judges.conversations import readable_text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Plain words.", "Plain words."),
        ("", ""),
        ("[sic] is how it stands", "[sic] is how it stands"),
        ('{"rationale": "Short and sweet", "weeks": 4}', "Short and sweet"),
        (
            '{"title": "Plan", "sessions": [{"day": "Monday", "tasks": ["Read", "Rest"], "minutes": 60}], "ok": true}',
            "Plan\nMonday\nRead\nRest",
        ),
        ('```json\n{"body": "Well done!"}\n```', "Well done!"),
        ('["One", "Two"]', "One\nTwo"),
        (
            '{"url": "https://learn.example.com/a?b=1", "mail": "a@b.org", "time": "2026-02-03T10:00:00+01:00",'
            ' "date": "2026-02-03", "code": "12-34", "body": "Keep going"}',
            "Keep going",
        ),
        ('{"score": 4}', '{"score": 4}'),
        ('{"broken": "yes"', '{"broken": "yes"'),
        ('{"body": "two\nlines"}', "two\nlines"),
    ],
)
def test_json_is_judged_by_its_texts_and_the_rest_as_it_is(answer: str, text: str) -> None:
    assert readable_text(answer) == text


def test_an_answer_too_deep_to_read_is_left_alone() -> None:
    answer = "[" * 100_000
    assert readable_text(answer) == answer
