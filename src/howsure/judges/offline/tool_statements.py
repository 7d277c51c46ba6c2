"""Statements about tools, checked against the calls that were made: `calls search_help`, `never calls refund`,
`searches the knowledge base`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from howsure.judges.offline.folding import root, tokens
from howsure.judges.offline.opinions import CannotTell, Opinion, View
from howsure.model.transcript import ToolCall

_USING = re.compile(
    r"\b(?:calls?|calling|uses?|using|invokes?|invoking|runs?|running|executes?|triggers?)\b", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"`(\w[\w.-]*)`|\b(\w+_\w+)\b|\b(\w+)\(\)|\bthe (\w+) (?:tool|function|api)\b")
_DENIED = re.compile(r"\b(?:not|never|no|cannot|without|avoids?|refrains? from)\b|n['’]t\b", re.IGNORECASE)
_SEARCHING = re.compile(
    r"\b(?:search(?:es)?|looks? up|quer(?:y|ies)|consults?|checks?|retrieves? from)\b[^.]{0,30}"
    r"\b(?:knowledge[ -]?base|kb|help cent(?:re|er)|documents?|database|catalog(?:ue)?|system|tool|index|docs)\b",
    re.IGNORECASE,
)
_MORE = re.compile(r"\b(?:before|after|once|twice|only|with|exactly|until|first|when|if|then|because)\b", re.IGNORECASE)
_LOOKING = frozenset({"search", "find", "lookup", "look", "query", "get", "fetch", "retrie", "read", "check", "list"})


def tool_view(statement: str, calls: Sequence[ToolCall], known: Iterable[str] = ()) -> View | None:
    """What the calls say about the statement; None: it is not about tools. `known` are the names of tools that the
    agent has, for statements that name one plainly."""
    names = _named(statement, (*known, *(call.name for call in calls)))
    if names and _USING.search(statement):
        return _of_named(statement, names, calls)
    if _SEARCHING.search(statement):
        return _of_search(statement, calls)
    return None


def _of_named(statement: str, names: Sequence[str], calls: Sequence[ToolCall]) -> View:
    made = {call.name for call in calls}
    called = [name for name in names if name in made]
    denied = bool(_DENIED.search(statement))
    if _MORE.search(statement) and (called or denied):
        return CannotTell("the statement says more about the calls than which tools were called")
    if called and len(called) < len(names):
        return CannotTell(f"of the tools named, only {', '.join(called)} was called")
    if not _USING.search(statement):
        return CannotTell("the statement names a tool without saying that it is called")
    reason = f"{', '.join(called)} was called." if called else f"{', '.join(names)} was not called."
    return Opinion(value=float(bool(called) != denied), confidence=0.85, reason=reason)


def _of_search(statement: str, calls: Sequence[ToolCall]) -> View:
    denied = bool(_DENIED.search(statement))
    looked = [call.name for call in calls if _LOOKING & set(map(root, tokens(call.name.replace("_", " "))))]
    if not calls:
        return Opinion(value=float(denied), confidence=0.8, reason="No tool was called at all.")
    if looked and not denied and not _MORE.search(statement):
        return Opinion(value=1.0, confidence=0.65, reason=f"{', '.join(dict.fromkeys(looked))} was called.")
    return CannotTell("tools were called, and their names do not show whether this is what they did")


def _named(statement: str, known: Iterable[str]) -> list[str]:
    identifiers = [next(filter(None, groups)) for groups in _IDENTIFIER.findall(statement)]
    plain = [name for name in known if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", statement)]
    return list(dict.fromkeys((*identifiers, *plain)))
