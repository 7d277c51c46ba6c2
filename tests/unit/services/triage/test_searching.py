"""Which tools search, and when a search found nothing."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.agent import Agent, AgentTool
from howsure.services.triage.searching import found_nothing, search_tools, searches


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("search_help", True),
        ("searchHelp", True),
        ("vertex-ai-search", True),
        ("KBLookup", True),
        ("retrieve_documents", True),
        ("query_rag", True),
        ("look_up_order", False),
        ("check_stock", False),
        ("research_grant", False),
        ("dragRace", False),
        ("", False),
    ],
)
def test_a_search_tool_is_told_by_the_words_of_its_name(name: str, expected: bool) -> None:
    assert searches(name) is expected


def test_the_agents_own_description_counts_whatever_the_name() -> None:
    tools = (AgentTool(tool_name="moss", type="faqs-retriever"), AgentTool(tool_name="pay", type="rest_api"))
    assert search_tools(Agent(id="a", name="A", tools=tools)) == {"moss"}
    assert search_tools(None) == frozenset()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, True),
        ("", True),
        ("No results found.", True),
        ("nothing was found for that", True),
        ("[]", True),
        ({}, True),
        ([], True),
        ({"documents": []}, True),
        ({"results": [], "documents": ["a page"]}, False),
        ({"results": [{"title": "Gifts"}]}, False),
        ({"balance": 0}, False),
        ("Nothing beats a good tent: see page 4", False),
        ("not found in stock, but here is the rule", False),
        (["a page"], False),
        (0, False),
    ],
)
def test_a_search_found_nothing_when_what_it_gave_is_empty_or_says_so(content: Any, expected: bool) -> None:
    assert found_nothing(content) is expected
