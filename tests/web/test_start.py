"""Starting a run from a page: what can be chosen, what is refused and why, and a file that becomes a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from hostile import HOSTILE
from hosts import requested
from howsure.errors import PlanRefused
from howsure.model.document import DocumentKind
from howsure.model.run_request import RunRequest
from howsure.services.host.audit import with_key_names
from howsure.services.host.keys import KeyRequest, make_key
from howsure.store.documents import DocumentPreview
from howsure.store.keys import KeyScope
from howsure.web.pages.run_actions import RunChoices, request_from, start_page
from store.making import NOON
from web.looking import Watched, needs_chromium
from web.pages_served import Served, serving
from web.visiting import Visitor

DEMO = Path(__file__).parents[2] / "src" / "howsure" / "demo"
SIMULATION = DEMO / "simulation" / "support-simulation.csv"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("starting"), judges=("openai:gpt-9",)) as running:
        yield running


@pytest.fixture
def visitor(served: Served) -> Visitor:
    return Visitor(served.base)


def brought(visitor: Visitor) -> str:
    """The id of a dataset of finished conversations."""
    reply = visitor.bring("/library/datasets/import?name=talks.csv&agent_id=moss", SIMULATION.read_bytes())
    assert reply.status == 201, reply.text
    return str(reply.json["id"])


def finished(visitor: Visitor, address: str) -> dict[str, Any]:
    end = monotonic() + 60
    while monotonic() < end:
        run: dict[str, Any] = visitor.data(address)
        if not run["is_live"]:
            return run
        sleep(0.1)
    raise AssertionError(f"{address} did not end")


def card(key: str, kind: DocumentKind = DocumentKind.TEST_SET, name: str = "Greetings") -> DocumentPreview:
    text = {"organization_id": "", "agent_id": "", "author": "", "note": "", "dialect": ""}
    return DocumentPreview(id=key, kind=kind, name=name, version=3, created_at=NOON, updated_at=NOON, size=1, **text)


def offered(**changes: Any) -> RunChoices:
    cases = {DocumentKind.TEST_SET: [card("t1")], DocumentKind.DATASET: []}
    plain = {
        "cases": cases,
        "rubrics": [card("r1")],
        "targets": ("bot",),
        "default_target": "bot",
        "judges": ("offline",),
    }
    return RunChoices(**{**plain, **changes})


def test_only_what_is_offered_can_be_chosen() -> None:
    page = start_page(offered(), {"cases": "test_set:t1", "target": "bot"})
    assert page.answer == "1 set of cases and 1 rubric to choose from."
    assert page.cases[0][0] == "test sets"
    assert [(each.words, each.chosen) for each in page.cases[0][1]] == [("Greetings v3", True)]
    assert [each.value for each in page.targets] == ["", "recorded", "bot"]
    assert [each.value for each in page.targets if each.chosen] == ["bot"]


def test_without_cases_nothing_can_be_started() -> None:
    page = start_page(offered(cases={}), {})
    assert page.is_empty
    assert page.answer == "Nothing can be run yet: there are no cases."


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ({"cases": "test_set:a"}, requested(test_set_id="a")),
        ({"cases": "dataset:a", "repeat": "3", "limit": "5"}, requested(dataset_id="a", repeat=3, limit=5)),
        ({"cases": "question_set:a:b", "case_ids": " x, ,y"}, requested(question_set_id="a:b", case_ids=("x", "y"))),
        (
            {"cases": "dataset:a", "judge": "offline", "budget": " 2USD", "target": "recorded", "name": "n "},
            requested(dataset_id="a", judge="offline", budget="2USD", target="recorded", name="n"),
        ),
    ],
)
def test_a_form_says_an_order(given: Mapping[str, str], order: RunRequest) -> None:
    assert request_from(given) == order


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "choose the cases"),
        ({"cases": "rubric:a"}, "choose the cases"),
        ({"cases": "dataset:a", "repeat": "0"}, "from 1, found '0'"),
        ({"cases": "dataset:a", "limit": "-2"}, "from 1, found '-2'"),
        ({"cases": "dataset:a", "limit": "many"}, "from 1, found 'many'"),
    ],
)
def test_a_form_that_cannot_be_read_is_refused(given: Mapping[str, str], said: str) -> None:
    with pytest.raises(PlanRefused, match=said):
        request_from(given)


def test_a_file_becomes_a_run(visitor: Visitor) -> None:
    key = brought(visitor)
    page = visitor.data(f"/start?{urlencode({'cases': f'dataset:{key}'})}")
    chosen = [each["words"] for _, choices in page["cases"] for each in choices if each["chosen"]]
    assert chosen == ["talks.csv v1"]
    reply = visitor.post("/start", {"cases": f"dataset:{key}", "target": "recorded", "limit": "3", "name": "by hand"})
    assert reply.status == 303
    run = finished(visitor, reply.leads_to)
    assert (run["name"], run["total"]) == ("by hand", 3)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"target": "ssh:elsewhere"}, "is not one this service offers"),
        ({"target": "http://10.0.0.1/"}, "is not among those this service may call"),
        ({"judge": "openai:gpt-1000"}, "judge &#39;openai:gpt-1000&#39; is not one this service offers"),
        ({"rubric": "nothing"}, "there is no rubric nothing"),
        ({"budget": "a lot", "target": "recorded"}, "a lot"),
        ({"repeat": "x"}, "expected a whole number"),
    ],
)
def test_what_cannot_be_had_is_said_and_the_form_is_kept(visitor: Visitor, fields: dict[str, str], said: str) -> None:
    key = brought(visitor)
    before = len(visitor.data("/")["lines"])
    reply = visitor.post("/start", {"cases": f"dataset:{key}", "name": "kept words", **fields})
    assert reply.status == 422
    assert said in reply.text
    assert "kept words" in reply.text
    assert len(visitor.data("/")["lines"]) == before


def test_judges_are_those_of_the_operator(visitor: Visitor) -> None:
    brought(visitor)
    assert [each["value"] for each in visitor.data("/start")["judges"]] == ["offline", "openai:gpt-9"]


def test_who_may_not_run_cannot_start(tmp_path: Path) -> None:
    with serving(tmp_path, keys_needed=True, working=False) as served:
        wanted = [
            KeyRequest(name="reader", scopes=[KeyScope.READ], organization_id="a"),
            KeyRequest(name="runner", scopes=[KeyScope.READ, KeyScope.WRITE, KeyScope.RUN], organization_id="a"),
            KeyRequest(name="other", scopes=[KeyScope.READ, KeyScope.WRITE, KeyScope.RUN], organization_id="b"),
        ]
        reader, runner, other = (
            Visitor(served.base).sign_in(served.do(make_key(served.store, each))[1]) for each in wanted
        )
        assert reader.get("/start").status == 403
        assert reader.post("/start", {"cases": "dataset:x"}).status == 403
        key = brought(runner)
        assert "there is no dataset" in other.post("/start", {"cases": f"dataset:{key}", "target": "recorded"}).text
        assert other.data("/start")["cases"] == []
        assert Visitor(served.base).get("/start").leads_to == "/sign-in?next=/start"
        log = served.do(with_key_names(served.store, served.do(served.store.audit.several())))
        assert [(deed.actor, deed.action, deed.status) for deed in log if deed.action != "sign-in"] == [
            ("runner", "POST /library/{shelf}/import", 201),
            ("reader", "POST /start", 403),
            ("reader", "GET /start", 403),
        ]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_words_in_the_form_come_back_inert(visitor: Visitor, hostile: str) -> None:
    given = dict.fromkeys(("cases", "rubric", "target", "judge", "name", "agent_id", "repeat", "budget"), hostile)
    page = visitor.post("/start", given).text
    for bad in ("<script>alert", "<img src=x", "<svg/onload", "<iframe", "\x1b", "\u202e", "<b>out", "<injected"):
        assert bad not in page


@needs_chromium
def test_in_a_browser_a_file_is_brought_in_and_run(browser: Browser, served: Served) -> None:
    with Watched(browser, served.base) as watched:
        page = watched.open("/start")
        page.set_input_files("input[type=file]", SIMULATION)
        page.click("text=Bring it in")
        page.wait_for_url("**/start?cases=dataset:*")
        expect(page.locator("select[name=cases] option:checked")).to_have_text("support-simulation.csv v1")
        page.select_option("select[name=target]", "recorded")
        page.fill("input[name=limit]", "2")
        page.click("text=Start the run")
        page.wait_for_url("**/runs/*")
        expect(page.locator("#live")).to_contain_text("= 2", timeout=30_000)
        assert watched.trouble == []
