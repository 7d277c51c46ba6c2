"""Labelling on pages: one question at a time, blind unless one chooses, by keys alone, by several people; how far they
agree, where not, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from msgspec.structs import replace
from playwright.sync_api import Browser, expect

from hostile import HOSTILE, hostile_result, without_nul
from howsure.model.access_scope import AccessScope
from howsure.model.label import Opinion
from howsure.model.result import Result
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.run import Run
from howsure.model.score import LIKERT, Part, Score
from howsure.model.verdict import Verdict
from howsure.services.host.keys import KeyRequest, make_key
from howsure.services.host.labels import LabelInput, build_label, label_questions
from howsure.store.keys import KeyScope
from howsure.store.labels import LabelCount
from howsure.web.pages.label import LabelView, kappa_words, label_home, label_page, question_text, read_label_view
from store.making import NOON, a_result, a_run, numbered
from web.looking import needs_chromium
from web.pages_served import Served, serving
from web.visiting import Visitor

RULE = Rule(
    id="KIND",
    name="Is kind",
    severity=Severity.HIGH,
    description="It stays friendly.",
    pass_conditions=("Nobody is insulted",),
    fail_conditions=("Somebody is",),
)
PART = Part(id="KIND", text="Is kind", severity=Severity.HIGH)
SECRET = "the judge's own reason"


def judged(position: int, passed: bool) -> Result:
    grade = Score(name="rubric", value=float(passed), pass_mark=1.0, part=PART, judge="offline", reason=SECRET)
    return a_result(position, Verdict.PASSED if passed else Verdict.FAILED, grades=(grade,))


def the_run(number: int = 1, total: int = 12, **fields: Any) -> Run:
    run = a_run(numbered(number), agent="moss", total=total, **fields)
    pins = replace(
        run.pins,
        request=replace(run.pins.request, judge="offline"),
        judge_sha256="cd" * 32,
        rubric=Rubric(name="House", rules=(RULE,)),
    )
    return replace(run, pins=pins)


def stored(served: Served, number: int, passed: int = 8, total: int = 12, **fields: Any) -> str:
    """The address of the queue of a run that is stored now."""
    run = the_run(number, total, **fields)

    async def store() -> None:
        await served.store.create_run(run)
        await served.store.save(run.id, [judged(position, position < passed) for position in range(total)])

    served.do(store())
    return f"/label/{run.id}"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("label"), working=False) as running:
        yield running


@pytest.fixture
def visitor(served: Served) -> Visitor:
    return Visitor(served.base)


def say(visitor: Visitor, address: str, opinion: str, **fields: str) -> str:
    """Answers the question that is asked now; where that leads."""
    query = "&".join(f"{name}={value}" for name, value in fields.items() if name in ("who", "blind", "what"))
    shown = visitor.data(f"{address}?{query}")["shown"]
    reply = visitor.post(address, {"key": shown["key"], "opinion": opinion, **fields})
    assert reply.status == 303, reply.text
    return reply.leads_to


RESULTS = [judged(position, position < 8) for position in range(12)]


def test_a_question_says_what_it_is_about() -> None:
    shown = question_text(the_run(), RESULTS[0].grades[0])
    assert (shown.text, shown.kind, shown.detail) == ("Is kind", "rule", "It stays friendly.")
    assert shown.conditions == (("pass if", "Nobody is insulted"), ("fail if", "Somebody is"))


@pytest.mark.parametrize(
    ("grade", "text", "kind", "hint"),
    [
        (
            Score(name="RelevanceExplain", value=4, scale=LIKERT, pass_mark=3, judge="x"),
            "Does the answer pass on relevance?",
            "eval",
            "the judge gives a number on 1 to 5; it passes at ≥ 3",
        ),
        (Score(name="criteria", value=1, part=Part(id="c", text="Says hello")), "Says hello", "criterion", ""),
        (
            Score(name="weighted_criteria", value=1, part=Part(id="c", text="Lies", weight=-2.0)),
            "Lies",
            "criterion of weighted criteria",
            "meeting this is bad: it passes where the answer does not do it",
        ),
    ],
)
def test_every_kind_of_question_is_put_in_words(grade: Score, text: str, kind: str, hint: str) -> None:
    shown = question_text(the_run(), grade)
    assert (shown.text, shown.kind, shown.hint) == (text, kind, hint)


@pytest.mark.parametrize(
    ("kappa", "n", "words"),
    [
        (1.0, 9, "n 9: too few to say"),
        (None, 20, "κ –: one of you always says the same"),
        (-0.2, 20, "κ -0.20: no better than chance"),
        (0.3, 20, "κ 0.30: little beyond chance"),
        (0.5, 20, "κ 0.50: moderate"),
        (0.75, 20, "κ 0.75: good"),
        (1.0, 20, "κ 1.00: very good"),
    ],
)
def test_agreement_in_words(kappa: float | None, n: int, words: str) -> None:
    assert kappa_words(kappa, n) == words


def test_blind_means_that_nothing_of_the_judge_is_in_the_page() -> None:
    page = label_page(the_run(), label_questions(RESULTS), [], LabelView(who="ana"))
    assert page.answer == "What would you say? 0 of 12 questions answered."
    assert page.shown is not None
    assert (page.shown.judge, page.shown.reason) == ("", "")
    assert SECRET not in repr(page)
    open_eyed = label_page(the_run(), label_questions(RESULTS), [], LabelView(who="ana", blind=False))
    assert open_eyed.shown is not None
    assert open_eyed.shown.reason == SECRET


def test_what_one_has_not_answered_oneself_is_not_told() -> None:
    run, all_questions = the_run(), label_questions(RESULTS)
    by_bo = build_label(run, all_questions[0], "bo", LabelInput(Opinion.FAIL))
    peeking = label_page(run, all_questions, [by_bo], LabelView(who="ana", after=0))
    assert peeking.answered is None
    told = label_page(run, all_questions, [by_bo, replace(by_bo, labeler="ana")], LabelView(who="ana", at=1, after=0))
    assert told.answered is not None
    assert told.answered.others == (("bo", "fail"),)
    assert told.answered.kappa == "n 1: too few to say"


def test_skipped_questions_come_again_at_the_end() -> None:
    run, all_questions = the_run(), label_questions(RESULTS)
    labels = [build_label(run, each, "ana", LabelInput(Opinion.PASS)) for each in all_questions[1:]]
    page = label_page(run, all_questions, labels, LabelView(who="ana", at=12))
    assert page.shown is not None
    assert page.shown.place == 0
    done = label_page(
        run,
        all_questions,
        [*labels, replace(labels[0], position=all_questions[0].result.position)],
        LabelView(who="ana"),
    )
    assert done.shown is None
    assert done.answer == "All 12 questions are answered."


def test_a_run_without_questions_says_so() -> None:
    page = label_page(the_run(), [], [], LabelView(who="ana"))
    assert page.answer.startswith("Nothing in this run can be labelled")


@pytest.mark.parametrize(
    ("given", "names_itself", "view"),
    [
        ({}, True, LabelView(who="local")),
        ({"who": "ana", "blind": "off", "at": "3"}, True, LabelView(who="ana", blind=False, at=3)),
        ({"who": "ana"}, False, LabelView(who="local")),
        (
            {"at": "-1", "after": "x", "position": "7", "what": "rubric"},
            True,
            LabelView(who="local", position=7, what="rubric"),
        ),
    ],
)
def test_who_one_is_may_be_said_only_where_nobody_signs_in(
    given: dict[str, str], names_itself: bool, view: LabelView
) -> None:
    assert read_label_view(given, "local", names_itself) == view


def test_the_start_offers_the_newest_run() -> None:
    counts = replace(the_run().counts, total=40, passed=30, failed=4)
    # In the newest one no judge was asked: there is nothing to say about it.
    newest, judged = (replace(the_run(number, name=name), counts=counts) for number, name in ((2, "x"), (1, "nightly")))
    page = label_home([newest, judged], [LabelCount(judged.id, "ana", 3), LabelCount(judged.id, "bo", 1)], [judged.id])
    assert page.answer == "4 labels by 2 people over the last 2 runs."
    assert (page.offer, page.offered) == ("34 results of nightly, drawn at random", judged.id)
    assert [line.was_judged for line in page.lines] == [False, True]
    assert label_home([newest], [], []).offer == ""
    assert label_home([], [], []).answer == "There is nothing to label yet: no run has results."


def test_an_answer_is_kept_at_once_and_can_be_taken_back(served: Served, visitor: Visitor) -> None:
    address = stored(served, 10)
    to = say(visitor, address, "fail", why="rude")
    page = visitor.data(to)
    assert (page["number"], page["total"]) == (1, 12)
    assert page["answered"]["you"] == "fail"
    assert page["answered"]["reason"] == SECRET
    (label,) = served.do(served.store.labels.of_run(address.removeprefix("/label/")))
    assert (label.opinion, label.why, label.labeler, label.blind) == (Opinion.FAIL, "rude", "local", True)
    assert label.agent_id == "moss"
    back = visitor.post(f"{address}/undo", {})
    assert visitor.data(back.leads_to)["number"] == 0


@pytest.mark.parametrize(
    ("fields", "status"), [({"key": "nothing", "opinion": "pass"}, 404), ({"opinion": "perhaps"}, 422)]
)
def test_what_is_no_answer_is_refused(served: Served, visitor: Visitor, fields: dict[str, str], status: int) -> None:
    address = stored(served, 20 + status)
    key = visitor.data(address)["shown"]["key"]
    assert visitor.post(address, {"key": key, **fields}).status == status
    assert served.do(served.store.labels.of_run(address.removeprefix("/label/"))) == []


def test_one_result_alone_can_be_labelled(served: Served, visitor: Visitor) -> None:
    address = stored(served, 30)
    page = visitor.data(f"{address}?position=5")
    assert (page["total"], page["shown"]["case_id"]) == (1, "case-5")


def test_agreement_of_two_people_and_the_judge(served: Served, visitor: Visitor) -> None:
    address = stored(served, 40)
    by_position = {}
    for who, wrong in (("ana", {0}), ("bo", {0, 11})):
        for _ in range(12):
            shown = visitor.data(f"{address}?who={who}")["shown"]
            position = int(shown["case_id"].removeprefix("case-"))
            passed = (position < 8) is not (position in wrong)
            by_position[position] = passed
            visitor.post(address, {"key": shown["key"], "opinion": "pass" if passed else "fail", "who": who})
    page = visitor.data(f"{address}/agreement")
    # Of case 11 one person says pass and one fail: it is not compared. Of case 0 both say fail, and the judge pass.
    assert page["answer"] == "People and the judge agree on 90.9 % [62–100] of 11 verdicts; 2 disagreements below."
    assert page["people"] == [["ana", 12], ["bo", 12]]
    assert page["among"] == ("ana, bo labelled 12 grades together and agree on 91.7 % [65–100], Krippendorff's α 0.83.")
    assert page["measures"][0]["confusion"] == [["pass", [7, 0, 0]], ["fail", [1, 3, 0]]]
    assert {each["case_id"] for each in page["disagreements"]} == {"case-0", "case-11"}
    lines = [json.loads(line) for line in visitor.get(f"{address}/labels.jsonl").text.splitlines()]
    assert len(lines) == 24
    assert visitor.post(f"{address}/calibrate").leads_to == "/judges"
    judge = next(each for each in visitor.data("/judges")["judges"] if each["version"] == "cdcdcdcd")
    assert judge["sentence"].startswith("Agrees with people on 90.9 % [62–100] n 11 of verdicts for rubric")


def test_of_many_labels_the_newest_count_and_the_page_says_so(
    served: Served, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howsure.web.pages.agreement.MAX_LABELS", 8)
    monkeypatch.setattr("howsure.web.pages.agreement.PAGE_SIZE", 2)
    address = stored(served, 45)
    for _ in range(12):
        shown = visitor.data(address)["shown"]
        visitor.post(address, {"key": shown["key"], "opinion": "fail" if shown["case_id"] < "case-8" else "pass"})
    page = visitor.data(f"{address}/agreement")
    assert (page["people"], page["left_out"]) == ([["local", 12]], 4)
    assert sum(sum(numbers) for _, numbers in page["measures"][0]["confusion"]) == 8
    assert (len(page["disagreements"]), page["first"], page["unlike"]) == (2, 1, 6)
    rest = visitor.data(page["further"])
    assert (len(rest["disagreements"]), rest["first"], rest["further"]) == (2, 3, f"{address}/agreement?start=4")
    assert "4 older ones are in the file" in visitor.get(f"{address}/agreement").text
    assert len(visitor.get(f"{address}/labels.jsonl").text.splitlines()) == 12


def test_a_run_that_nobody_labelled_cannot_be_calibrated_with(served: Served, visitor: Visitor) -> None:
    address = stored(served, 50)
    assert visitor.data(f"{address}/agreement")["answer"] == "Nobody has labelled this run yet."
    assert visitor.post(f"{address}/calibrate").status == 422


def test_boundaries_hold_for_labels(tmp_path: Path) -> None:
    with serving(tmp_path, keys_needed=True, working=False) as served:
        both = [KeyScope.READ, KeyScope.WRITE]
        wanted = {
            "ana": KeyRequest(name="ana", scopes=both, organization_id="acme"),
            "bo": KeyRequest(name="bo", scopes=both, organization_id="acme", agent_ids=("moss",)),
            "reader": KeyRequest(name="reader", scopes=[KeyScope.READ], organization_id="acme"),
            "other": KeyRequest(name="other", scopes=both, organization_id="other"),
            "narrow": KeyRequest(name="narrow", scopes=both, organization_id="acme", agent_ids=("x",)),
        }
        visitors = {
            name: Visitor(served.base).sign_in(served.do(make_key(served.store, each))[1])
            for name, each in wanted.items()
        }
        address = stored(served, 60, organization_id="acme")
        seen = {name: visitor.get(address).status for name, visitor in visitors.items()}
        assert seen == {"ana": 200, "bo": 200, "reader": 403, "other": 404, "narrow": 404}
        say(visitors["ana"], address, "pass", who="somebody")
        labels = served.do(
            served.store.labels.of_run(address.removeprefix("/label/"), AccessScope(organization_id="acme"))
        )
        assert [label.labeler for label in labels] == ["ana"]
        # Nobody takes back what somebody else said.
        visitors["bo"].post(f"{address}/undo", {"who": "ana"})
        assert visitors["ana"].data(f"{address}/agreement")["people"] == [["ana", 1]]
        assert visitors["reader"].get(f"{address}/agreement").status == 200
        assert visitors["reader"].post(address, {"opinion": "pass"}).status == 403
        assert visitors["reader"].post(f"{address}/calibrate").status == 403
        for path in ("agreement", "labels.jsonl"):
            assert visitors["other"].get(f"{address}/{path}").status == 404
            assert visitors["narrow"].get(f"{address}/{path}").status == 404
        assert visitors["other"].data("/label")["lines"] == []


@pytest.mark.parametrize("place", range(len(HOSTILE)), ids=map(repr, HOSTILE))
def test_hostile_text_is_inert_while_labelling(served: Served, visitor: Visitor, place: int) -> None:
    hostile, name = HOSTILE[place], without_nul(HOSTILE[place])
    run = replace(the_run(1000 + place, 1), name=name)

    async def store() -> None:
        await served.store.create_run(run)
        await served.store.save(run.id, [hostile_result(hostile)])

    served.do(store())
    address = f"/label/{run.id}"
    first = visitor.data(f"{address}?blind=off")["shown"]
    visitor.post(address, {"key": first["key"], "opinion": "pass", "who": name, "why": name, "blind": "off"})
    for path in ("/label", f"{address}?blind=off", f"{address}?who=local&after=0", f"{address}/agreement", "/judges"):
        page = visitor.get(path).text
        for bad in ("<script>alert", "<img src=x", "<svg/onload", "<iframe", "\x1b", "\u202e", "<b>out", "<injected"):
            assert bad not in page, (path, bad)
    served.do(served.store.delete_run(run.id))


@needs_chromium
def test_by_keys_alone_in_a_browser(served: Served, browser: Browser) -> None:
    address = stored(served, 70)
    context = browser.new_context()
    page = context.new_page()
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(served.base + address)
    expect(page.locator("h1")).to_have_text("What would you say? 0 of 12 questions answered.")
    for key, number in (("1", 1), ("2", 2), ("3", 3), ("4", 4), ("s", 4), ("1", 5), ("z", 4)):
        with page.expect_navigation():
            page.keyboard.press(key)
        expect(page.locator("h1")).to_have_text(f"What would you say? {number} of 12 questions answered.")
    page.focus("input[name=why]")
    page.keyboard.type("1 2 s")
    page.keyboard.press("Enter")
    expect(page.locator("input[name=why]")).to_have_value("1 2 s")
    expect(page.locator("h1")).to_have_text("What would you say? 4 of 12 questions answered.")
    page.keyboard.press("Escape")
    with page.expect_navigation():
        page.keyboard.press("2")
    labels = served.do(served.store.labels.of_run(address.removeprefix("/label/")))
    assert [label.opinion.value for label in labels] == ["pass", "fail", "not_applicable", "cannot_tell", "fail"]
    assert labels[-1].why == "1 2 s"
    assert trouble == []
    context.close()


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_labelling_can_be_used_by_everybody(served: Served, browser: Browser, scheme: Any, width: int) -> None:
    address = stored(served, 80 + width + len(scheme))
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto(served.base + address)
    page.click("[data-key='2']")
    for path in (page.url.removeprefix(served.base), f"{address}/agreement", "/label", "/judges"):
        page.goto(served.base + path)
        assert page.evaluate("document.documentElement.scrollWidth") == width, path
        found = Axe().run(page).response["violations"]
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == [], path
    context.close()


@needs_chromium
def test_without_scripts_it_can_be_read_and_answered(served: Served, browser: Browser) -> None:
    address = stored(served, 90)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(served.base + address)
    expect(page.locator("#question")).to_have_text("Is kind")
    page.click("button[value=pass]")
    expect(page.locator("h1")).to_have_text("What would you say? 1 of 12 questions answered.")
    context.close()


def test_labels_are_dated_now(served: Served, visitor: Visitor) -> None:
    address = stored(served, 91)
    say(visitor, address, "pass")
    (label,) = served.do(served.store.labels.of_run(address.removeprefix("/label/")))
    assert label.created_at > NOON
