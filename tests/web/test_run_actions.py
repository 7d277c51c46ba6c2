"""Grading again from a page: what is offered, a new run that leads back to the old one, and the way to its rubric."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from msgspec.structs import replace

from hostile import HTML
from howsure.model.document import DocumentKind
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.run import DatasetPin, Run
from howsure.services.host.keys import KeyRequest, make_key
from howsure.services.host.run_requests import document
from howsure.store.documents import DocumentPreview
from howsure.store.keys import KeyScope
from howsure.web.pages.run import regraded_run_id
from howsure.web.pages.run_actions import regrade_page
from store.making import NOON, a_run
from web.pages_served import Served, serving
from web.stocked import NASTY, OLDER, SUPPORT, stock
from web.visiting import Visitor

RULES = (Rule(id="KIND", name="Is kind", severity=Severity.HIGH),)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("again"), judges=("openai:gpt-9",)) as running:
        visitor = Visitor(running.base)
        visitor.post("/demo")
        ended(visitor)
        yield running


@pytest.fixture
def visitor(served: Served) -> Visitor:
    return Visitor(served.base)


def ended(visitor: Visitor) -> dict[str, str]:
    """The ids of all runs, by their names, when none goes on any more."""
    end = monotonic() + 60
    while monotonic() < end:
        lines = visitor.data("/")["lines"]
        if not any(line["is_live"] for line in lines):
            return {line["name"]: line["id"] for line in lines}
        sleep(0.1)
    raise AssertionError("some run did not end")


def with_rubric(key: str = "r1") -> Run:
    run = a_run(total=3)
    return replace(
        run,
        pins=replace(
            run.pins,
            request=replace(run.pins.request, judge="offline"),
            rubric=Rubric(id=key, name="House", rules=RULES),
        ),
    )


def card(key: str, version: int = 2) -> DocumentPreview:
    texts: dict[str, Any] = {"organization_id": "", "agent_id": "", "author": "", "note": "", "dialect": ""}
    texts |= {"created_at": NOON, "updated_at": NOON}
    return DocumentPreview(id=key, kind=DocumentKind.RUBRIC, name=f"Rubric {key}", version=version, size=1, **texts)


def test_the_newest_version_of_its_own_rubric_is_offered_first() -> None:
    run = with_rubric()
    stored = replace(run.pins.request, rubric=document(DocumentKind.RUBRIC, "r1"))
    page = regrade_page(
        replace(run, pins=replace(run.pins, request=stored)), ("offline",), [card("r0"), card("r1")], {}
    )
    assert [(each.value, each.words, each.chosen) for each in page.rubrics] == [
        ("r1", "Rubric r1 v2, the newest (this run used v1)", True),
        ("r0", "Rubric r0 v2", False),
    ]
    of_a_file = replace(run, pins=replace(run.pins, rubric=Rubric(id="r1", name="House", rules=RULES, version=7)))
    assert regrade_page(of_a_file, (), [card("r1")], {}).rubrics[0].words == (
        "Rubric r1 v2, as it is here now (this run used a file that calls itself version 7)"
    )
    assert [each.words for each in page.judges] == ["as before (offline)", "offline"]
    assert page.answer == "The 0 answers of first are judged anew, as a new run. The agent is not called."


def test_a_rubric_that_the_library_has_not_stays_as_it_is() -> None:
    page = regrade_page(with_rubric(), (), [card("r0")], {})
    assert [(each.value, each.words, each.chosen) for each in page.rubrics] == [
        ("", "as before (House v1)", True),
        ("r0", "Rubric r0 v2", False),
    ]
    plain = regrade_page(a_run(), (), [], {})
    assert [(each.words, plain.has_rubric) for each in plain.rubrics] == [("none", False)]


def test_what_was_chosen_stays_chosen_when_it_could_not_be_done() -> None:
    given = {"rubric": "r0", "judge": "offline", "name": "mine"}
    page = regrade_page(with_rubric(), ("offline",), [card("r0"), card("r1")], given, "no")
    assert [each.value for each in (*page.rubrics, *page.judges) if each.chosen] == ["r0", "offline"]
    assert (page.name, page.trouble) == ("mine", "no")


def test_a_run_knows_whose_answers_it_grades() -> None:
    run = a_run()
    again = replace(run.pins, responses=(DatasetPin(path=f"run:{OLDER}", sha256=OLDER),))
    files = replace(run.pins, responses=(DatasetPin(path="answers.jsonl", sha256="x"),))
    assert [regraded_run_id(replace(run, pins=pins)) for pins in (run.pins, files, again)] == ["", "", OLDER]


def test_every_run_of_the_demo_can_be_graded_again(visitor: Visitor) -> None:
    before = ended(visitor)
    names = [name for name in before if name.startswith("demo ") and "," not in name]
    assert len(names) == 5
    for name in names:
        reply = visitor.post(f"/runs/{before[name]}/regrade", {"name": f"{name}, again"})
        assert reply.status == 303, (name, reply.text)
    after = ended(visitor)
    for name in names:
        first, second = (visitor.data(f"/runs/{each}") for each in (before[name], after[f"{name}, again"]))
        assert [count[:2] for count in first["counts"]] == [count[:2] for count in second["counts"]], name
        assert second["earlier"] == before[name]
        assert (
            f"/compare?run={before[name]}&amp;run={after[f'{name}, again']}"
            in visitor.get(f"/runs/{second['id']}").text
        )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"judge": "recorded:/etc/passwd"}, "is not one this service offers"),
        ({"judge": "openai:gpt-1000"}, "is not one this service offers"),
    ],
)
def test_what_cannot_be_had_is_said_and_the_form_is_kept(visitor: Visitor, fields: dict[str, str], said: str) -> None:
    run = ended(visitor)["demo test-set"]
    reply = visitor.post(f"/runs/{run}/regrade", {"name": "kept words", **fields})
    assert (reply.status, said in reply.text, "kept words" in reply.text) == (422, True, True)
    assert visitor.post(f"/runs/{run}/regrade", {"rubric": "nothing"}).status == 404
    assert visitor.post("/runs/nothing/regrade").status == 404


def test_the_rubric_of_a_run_is_opened_and_kept_where_it_was_not(served: Served, visitor: Visitor) -> None:
    served.do(stock(served.store))
    assert visitor.data("/library/rubrics")["answer"] == "1 rubric, newest first."
    first = visitor.post(f"/runs/{SUPPORT}/rubric")
    assert (first.status, first.leads_to.rpartition("/")[2]) == (303, "edit")
    assert visitor.get(first.leads_to).status == 200
    assert visitor.post(f"/runs/{SUPPORT}/rubric").leads_to == first.leads_to
    assert visitor.data("/library/rubrics")["answer"] == "2 rubrics, newest first."
    refused = visitor.post(f"/runs/{OLDER}/rubric")
    assert (refused.status, "was graded without a rubric" in refused.text) == (409, True)


def test_a_run_whose_files_are_gone_says_so(served: Served, visitor: Visitor) -> None:
    reply = visitor.post(f"/runs/{OLDER}/regrade")
    assert (reply.status, "made from files that are not on the service" in reply.text) == (422, True)


def test_hostile_names_come_back_inert(visitor: Visitor) -> None:
    page = visitor.get(f"/runs/{NASTY}/regrade").text
    given = visitor.post(f"/runs/{NASTY}/regrade", dict.fromkeys(("judge", "name"), HTML[0])).text
    for bad in ("<script>alert", "<img src=x", "<svg/onload", "<iframe"):
        assert bad not in page + given


def test_who_may_only_run_is_offered_no_rubric_to_edit(tmp_path_factory: pytest.TempPathFactory) -> None:
    with serving(tmp_path_factory.mktemp("runner"), keys_needed=True, working=False) as locked:
        locked.do(stock(locked.store))
        wanted = KeyRequest(name="runner", scopes=[KeyScope.READ, KeyScope.RUN])
        runner = Visitor(locked.base).sign_in(locked.do(make_key(locked.store, wanted))[1])
        page = runner.get(f"/runs/{SUPPORT}/regrade").text
        assert "Edit its rubric first" not in page and "Grade again" in page
        assert "Edit its rubric" not in runner.get(f"/runs/{SUPPORT}").text
        assert runner.post(f"/runs/{SUPPORT}/rubric").status == 403


def test_the_list_offers_no_retry_for_runs_that_nobody_ordered_from_the_service(tmp_path: Path) -> None:
    with serving(tmp_path, working=False) as quiet:
        quiet.do(stock(quiet.store))
        lines = Visitor(quiet.base).data("/")["lines"]
        assert any(line["counts"]["errored"] for line in lines)
        assert {tuple(line["deeds"]) for line in lines if not line["is_live"]} == {("regrade", "delete")}
        assert {tuple(line["deeds"]) for line in lines if line["is_live"]} == {()}
