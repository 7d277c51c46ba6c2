"""An agent on one page: its prompt, tools, knowledge bases and model, and the outcome of its last runs, every rate with
its interval; as Markdown for people and as JSON for programs. What the agent says of itself is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, json

from howsure.dialects.agent_files import agent_document
from howsure.model.agent import Agent, AgentModel
from howsure.model.summary import Summary
from howsure.reports.document import Block, Fence, Heading, Paragraph, Table, markdown
from howsure.reports.evaluations import evaluation_run
from howsure.reports.figures import NOTHING, format_number, iso_utc, pass_rate_of, pluralize, short_time
from howsure.reports.run_facts import dataset_names, judge_name, run_sentence, short_id
from howsure.reports.safe_text import one_line

CELL_LENGTH = 300
MEASURED = ("name", "candidate", "scored", "mean", "scale", "pass_mark", "direction")
GRADER_FIELDS = (*MEASURED, "pass_rate", "errored", "pass_rate_interval")
RUN_FIELDS = ("pass_rate", "pass_rate_interval", "passed", "failed", "errored", "skipped", "total", "judge")


class AgentCard(Struct, frozen=True, kw_only=True):
    """`runs`: the newest completed ones, newest first; `more`: there are older ones."""

    agent: Agent
    runs: tuple[Summary, ...] = ()
    more: bool = False


def card_shape(card: AgentCard) -> dict[str, Any]:
    """The card as JSON; the agent is in the shape of an agent file."""
    return {
        "agent": agent_document(card.agent),
        "runs": [_run_shape(summary) for summary in card.runs],
        "older_runs": card.more,
    }


def _run_shape(summary: Summary) -> dict[str, Any]:
    whole = evaluation_run(summary)
    return {
        "run_id": summary.run.id,
        "name": summary.run.name,
        "completed_at": iso_utc(summary.run.completed_at),
        "datasets": whole["datasets"],
        "summary": run_sentence(summary),
        **{name: whole[name] for name in RUN_FIELDS},
        "graders": [{name: grader[name] for name in GRADER_FIELDS} for grader in whole["graders"]],
        "component_scores": whole["component_scores"],
    }


def card_markdown(card: AgentCard) -> str:
    """The card as a document."""
    return markdown(_blocks(card)) + "\n"


def _blocks(card: AgentCard) -> Iterator[Block]:
    agent = card.agent
    facts = [
        ("id", agent.id),
        ("organization", agent.organization_name),
        ("model", _model(agent.model)),
        ("runs", f"the newest {len(card.runs)}; there are older ones" if card.more else f"{len(card.runs)}"),
    ]
    yield Heading(agent.name, level=1)
    yield Table(("", ""), [fact for fact in facts if fact[1]], header=False)
    yield from _history(card)
    yield Heading("Prompt")
    yield Fence(agent.system_prompt) if agent.system_prompt else Paragraph("No prompt is known.")
    yield Heading(pluralize(len(agent.tools), "tool"))
    if agent.tools:
        rows = [(_cut(each.tool_name), _cut(each.type), _cut(each.description or each.name)) for each in agent.tools]
        yield Table(("tool", "type", "what it does"), rows)
    yield Heading(pluralize(len(agent.knowledge_bases), "knowledge base"))
    if agent.knowledge_bases:
        held = [
            (_cut(each.name), _cut(each.type), format_number(each.document_count)) for each in agent.knowledge_bases
        ]
        yield Table(("name", "type", "documents:"), held)
    if agent.harness:
        yield Heading("Harness")
        yield Fence(json.format(json.encode(agent.harness), indent=2).decode(), "json")


def _model(model: AgentModel | None) -> str:
    if model is None:
        return "not known"
    parameters = ", ".join(f"{name} {json.encode(value).decode()}" for name, value in model.parameters.items())
    named = "/".join(part for part in (model.provider, model.model) if part)
    return f"{named} ({parameters})" if parameters else named


def _history(card: AgentCard) -> Iterator[Block]:
    yield Heading("Runs")
    if not card.runs:
        yield Paragraph("None is completed yet.")
        return
    columns = ("when", "run", "dataset", "n:", "pass rate [95 %]", "errored:", "judge")
    yield Table(columns, [*map(_run, card.runs)])
    if any(summary.run.pins.request.repeat > 1 for summary in card.runs):
        yield Paragraph("Where cases were tried several times, repeats are alike and the true intervals are wider.")
    if graders := list(dict.fromkeys(grader.name for summary in card.runs for grader in summary.graders)):
        rows = [(name, *(_grader_cell(summary, name) for summary in card.runs)) for name in graders]
        yield Table(["grader", *(short_id(summary.run) for summary in card.runs)], rows, title="Graders")


def _run(summary: Summary) -> tuple[str, ...]:
    run = summary.run
    return (
        short_time(run.completed_at or run.created_at),
        f"{short_id(run)} {_cut(run.name)}",
        _cut(", ".join(dataset_names(run.pins))),
        f"{run.counts.total:,}",
        str(pass_rate_of(run.counts)),
        f"{run.counts.errored:,}",
        _cut(judge_name(run.pins)),
    )


def _grader_cell(summary: Summary, name: str) -> str:
    """The rate where the grader has a pass mark, else the mean; with several candidates, each."""
    graders = [grader for grader in summary.graders if grader.name == name]
    cells = []
    for grader in graders:
        rate = pass_rate_of(grader)
        cell = str(rate) if rate.judged else f"mean {format_number(grader.mean)} n {grader.scored:,}"
        cells.append(f"{grader.candidate}: {cell}" if len(graders) > 1 else cell)
    return "; ".join(cells) or NOTHING


def _cut(text: str) -> str:
    return one_line(text, CELL_LENGTH)
