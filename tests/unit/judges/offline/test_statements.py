"""Forms and tools in statements: what is recognised, what is left alone."""

from __future__ import annotations

import pytest

from howsure.judges.offline.criteria import (
    find_quotes,
    judge_form,
    judge_tool_statement,
    parse_claim,
    words_outside_quotes,
)
from howsure.judges.offline.opinions import NoOpinion, OfflineOpinion
from howsure.model.transcript import ToolCall


@pytest.mark.parametrize(
    ("statement", "quoted"),
    [
        ('Says "on my way" and "thanks"', ("on my way", "thanks")),
        ("Says “on my way”", ("on my way",)),
        ("Says 'on my way'", ("on my way",)),
        ("Uses `refund_order`", ("refund_order",)),
        ("Doesn't say what it isn't", ()),
        ("Says nothing", ()),
    ],
)
def test_quotations_are_found_and_apostrophes_are_none(statement: str, quoted: tuple[str, ...]) -> None:
    assert find_quotes(statement) == quoted


def test_words_that_only_announce_a_quotation_do_not_count() -> None:
    assert words_outside_quotes('the exact words "on my way"') == frozenset()
    assert words_outside_quotes('the greeting "on my way"') == {"greeting"}


@pytest.mark.parametrize(
    ("statement", "denied"),
    [
        ("Mentions the price", False),
        ("Does not mention the price", True),
        ("Doesn't mention the price", True),
        ("Must not reveal the price", True),
        ("Never mentions the price", True),
        ("Avoids mentioning the price", True),
        ("Refrains from mentioning the price", True),
        ("The response should clearly state the price", False),
        ("The assistant explicitly names the price", False),
    ],
)
def test_polarity_of_a_statement(statement: str, denied: bool) -> None:
    says = parse_claim(statement)
    assert says is not None
    assert (says.claim, says.denied) == ("the price", denied)


@pytest.mark.parametrize("statement", ["Is kind", "Resolves the issue", "The price is right", "Follows the policy"])
def test_statements_about_more_than_saying(statement: str) -> None:
    assert parse_claim(statement) is None


@pytest.mark.parametrize(
    ("statement", "text", "value"),
    [
        ("No more than twenty words", "word " * 20, 1.0),
        ("No more than twenty words", "word " * 21, 0.0),
        ("Under 10 characters", "123456789", 1.0),
        ("Under 10 characters", "1234567890", 0.0),
        ("At least 2 paragraphs", "one\n\ntwo", 1.0),
        ("At least 2 paragraphs", "one\ntwo", 0.0),
        ("More than 2 sentences", "One. Two.", 0.0),
        ("Uses a numbered list", "1. one\n2. two", 1.0),
        ("Uses a numbered list", "1. one", 0.0),
        ("Does not contain links", "see www.example.org", 0.0),
        ("Does not contain links", "see the help page", 1.0),
        ("Doesn't contain links", "see the help page", 1.0),
        ("Doesn’t contain links", "see www.example.org", 0.0),
        ("Never uses more than five words", "word " * 5, 1.0),
        ("Never uses more than five words", "word " * 6, 0.0),
        ("Does not have fewer than 5 words", "word " * 4, 0.0),
        ("Doesn't have fewer than 5 words", "word " * 5, 1.0),
        ("Is not rude, and has at most 5 words", "word " * 5, 1.0),
        ("Is not rude but has at most 5 words", "word " * 6, 0.0),
        ("Exactly one sentence", "Yes.", 1.0),
        ("Exactly one sentence", "Yes. No.", 0.0),
        ("Uses no emojis", "Fine 🙂", 0.0),
        ("Can't use emojis", "Fine", 1.0),
        ("Greets the user", "Good morning! How are you?", 1.0),
        ("Doesn't apologise", "I am sorry.", 0.0),
        ("Thanks the customer", "Thank you for waiting.", 1.0),
        ("Asks a clarifying question", "Which order do you mean?", 1.0),
        ("Cannot ask questions", "It is late.", 1.0),
    ],
)
def test_what_can_be_counted(statement: str, text: str, value: float) -> None:
    view = judge_form(statement, text)
    assert view is not None
    assert view.value == value


@pytest.mark.parametrize(
    "statement",
    [
        "At most a few sentences",
        "Apologises once and then offers something concrete to make up for the long wait",
        "Is short",
        "",
    ],
)
def test_what_cannot_be_counted(statement: str) -> None:
    assert judge_form(statement, "Sorry. Here is a voucher.") is None


CALLS = (ToolCall(name="get_weather"), ToolCall(name="refund"))


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("The agent calls get_weather", 1.0),
        ("The agent invokes `send_mail`", 0.0),
        ("Must not call send_mail", 1.0),
        ("Must not call get_weather", 0.0),
        ("Calls refund()", 1.0),
        ("Uses the refund function", 1.0),
        ("Calls get_weather and refund", 1.0),
        ("Avoids calling send_mail", 1.0),
        ("Doesn't call send_mail", 1.0),
        ("The agent doesn’t call get_weather", 0.0),
        ("The agent didn't invoke `refund`", 0.0),
        ("Cannot call send_mail", 1.0),
        ("Won't use the refund tool", 0.0),
    ],
)
def test_named_tools(statement: str, value: float) -> None:
    view = judge_tool_statement(statement, CALLS)
    assert isinstance(view, OfflineOpinion), view
    assert view.value == value


def test_a_tool_that_the_agent_has_may_be_named_plainly() -> None:
    view = judge_tool_statement("Calls refund", (), known=["refund"])
    assert isinstance(view, OfflineOpinion)
    assert view.value == 0
    assert judge_tool_statement("Calls refund", ()) is None


@pytest.mark.parametrize(
    "statement",
    [
        "Calls get_weather and send_mail",
        "Calls refund only once the customer agreed",
        "Does not call refund before asking",
        "Consults the database first",
    ],
)
def test_what_the_list_of_calls_does_not_show(statement: str) -> None:
    assert isinstance(judge_tool_statement(statement, CALLS), NoOpinion)


@pytest.mark.parametrize("statement", ["Explains the refund", "Is polite about get_weather", "Says hello"])
def test_what_is_not_about_calls(statement: str) -> None:
    assert judge_tool_statement(statement, CALLS) is None


@pytest.mark.parametrize(
    ("statement", "calls", "value"),
    [
        ("Searches the knowledge base", (), 0.0),
        ("Doesn't search the knowledge base", (), 1.0),
        ("Searches the knowledge base", (ToolCall(name="search_help"),), 1.0),
        ("Consults the documents", (ToolCall(name="lookup"), ToolCall(name="refund")), 1.0),
    ],
)
def test_searches_are_seen_in_the_names_of_tools(statement: str, calls: tuple[ToolCall, ...], value: float) -> None:
    view = judge_tool_statement(statement, calls)
    assert isinstance(view, OfflineOpinion)
    assert view.value == value


@pytest.mark.parametrize(
    ("statement", "calls"),
    [
        ("Searches the knowledge base", CALLS[1:]),
        ("Doesn't search the knowledge base", (ToolCall(name="search_help"),)),
        ("Searches the knowledge base before it answers", (ToolCall(name="search_help"),)),
        ("Calls get_weather and send_mail", CALLS),
        ("Calls get_weather only once", CALLS),
    ],
    ids=["another tool", "it may have searched elsewhere", "when", "half of them", "how often"],
)
def test_what_names_alone_do_not_show(statement: str, calls: tuple[ToolCall, ...]) -> None:
    assert isinstance(judge_tool_statement(statement, calls), NoOpinion)


@pytest.mark.parametrize("denial", ["does not call", "doesn't call", "doesn’t call", "never calls", "cannot call"])
@pytest.mark.parametrize("name", ["get_weather", "send_mail"])
def test_a_denied_call_is_the_opposite_of_the_call(denial: str, name: str) -> None:
    plain, denied = (
        judge_tool_statement(f"The agent calls {name}", CALLS),
        judge_tool_statement(f"The agent {denial} {name}", CALLS),
    )
    assert isinstance(plain, OfflineOpinion)
    assert isinstance(denied, OfflineOpinion)
    assert plain.value + denied.value == 1.0
