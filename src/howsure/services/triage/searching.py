"""Which tools search a body of documents, and whether a search found anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from howsure.model.agent import Agent

SEARCHING = frozenset(
    {"search", "searches", "retrieve", "retrieves", "retrieval", "retriever", "rag", "vector", "knowledge", "kb"}
    | {"faq", "faqs", "docs", "documents", "websearch", "grounding"}
)
FOUND_KEYS = frozenset(
    ("documents", "docs", "results", "hits", "matches", "passages", "chunks", "records", "articles", "entries", "items")
)
"""Where searches put what they found. An object with one of these that is empty found nothing."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NOTHING = re.compile(
    r"\W*(?:no (?:results?|documents?|matches|hits|entries|articles|records)\b.*|nothing (?:was )?found.*|not found|"
    r"none|0 (?:results|documents|hits|matches).*|null|\[\s*\]|\{\s*\}|empty)?\W*",
    re.IGNORECASE | re.DOTALL,
)


def searches(name: str, kind: str = "") -> bool:
    """Whether a tool of this name, or of this kind, looks things up in documents."""
    return not SEARCHING.isdisjoint(word.lower() for word in _WORDS.findall(f"{name} {kind}"))


def search_tools(agent: Agent | None) -> frozenset[str]:
    """The tools that the agent's description calls retrievers, whatever their names say."""
    return frozenset(tool.tool_name for tool in agent.tools if searches("", tool.type)) if agent else frozenset()


def found_nothing(content: Any) -> bool:
    """Whether what a search gave back is empty: nothing at all, an empty list, or words that say so."""
    match content:
        case None:
            return True
        case str():
            return _NOTHING.fullmatch(content) is not None
        case Mapping():
            known = [value for key, value in content.items() if str(key).lower() in FOUND_KEYS]
            return all(found_nothing(value) for value in known) if known else not content
        case list() | tuple():
            return not content
        case _:
            return False
