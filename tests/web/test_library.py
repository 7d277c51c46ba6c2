"""The library: documents listed, read, written with their problems beside the line, compared, restored, brought in and
taken out as any shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hostile import HOSTILE, without_nul
from howsure.model.access_scope import EVERYWHERE
from howsure.model.document import DocumentKind
from howsure.model.result import Result
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.run import RunState
from howsure.model.score import Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.verdict import Verdict
from howsure.services.host import documents
from howsure.services.host.drafts import field_lines, line_of
from howsure.services.host.keys import KeyRequest, make_key
from howsure.store.keys import KeyScope
from howsure.web.pages.editor import is_large
from store.making import NOON, a_result, a_run, numbered
from web.pages_served import Served, serving
from web.visiting import Visitor

RULE = {"id": "KIND", "name": "Is kind", "severity": "high", "description": "It stays friendly."}
RUBRIC: dict[str, Any] = {"name": "House rules", "agent_id": "moss", "rules": [RULE]}
TEST_SET: dict[str, Any] = {
    "name": "Greetings",
    "agent_id": "moss",
    "items": [
        {
            "item_id": "hello",
            "type": "single_turn",
            "name": "Says hello",
            "inputs": {"message": "hello"},
            "expected": {"success_criteria": ["The answer repeats: hello"]},
        }
    ],
}
LEGAL = (
    b'{"schema_version": "legal_eval_v1", "id": "q1", "dataset": "d", "task_type": "reference_qa", "prompt": "Who?", '
    b'"reference_answers": ["Ana"], "metadata": {}}\n'
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("library")) as running:
        yield running


@pytest.fixture
def visitor(served: Served) -> Visitor:
    return Visitor(served.base)


def text(body: dict[str, Any]) -> str:
    return json.dumps(body, indent=2)


def written(visitor: Visitor, shelf: str, body: dict[str, Any], **fields: str) -> str:
    """The address of a new document."""
    reply = visitor.post(f"/library/{shelf}", {"text": text(body), **fields})
    assert reply.status == 303, reply.text
    return reply.leads_to


def test_a_new_rubric_is_kept_and_listed(visitor: Visitor) -> None:
    address = written(visitor, "rubrics", RUBRIC, note="the first")
    page = visitor.data(address)
    assert (page["answer"], page["name"], page["agent_id"]) == ("Version 1, the newest: 1 rule.", "House rules", "moss")
    assert page["entries"][0]["text"] == "It stays friendly."
    assert [(each["version"], each["note"], each["author"]) for each in page["versions"]] == [(1, "the first", "local")]
    assert address in [line["address"] for line in visitor.data("/library/rubrics")["lines"]]
    assert "House rules" in visitor.get(address).text


@pytest.mark.parametrize("shelf", ["test-sets", "datasets", "question-sets", "rubrics"])
def test_every_shelf_can_be_read_without_scripts(visitor: Visitor, shelf: str) -> None:
    reply = visitor.get(f"/library/{shelf}")
    assert reply.status == 200
    assert f'href="/library/{shelf}/new"' in reply.text


def test_a_shelf_that_is_not_there_is_said_to_be_missing(visitor: Visitor) -> None:
    reply = visitor.get("/library/spoons")
    assert reply.status == 404
    assert "test-sets, datasets, question-sets, rubrics are there" in reply.text


def severe(severity: str) -> dict[str, Any]:
    return {**RUBRIC, "rules": [{**RULE, "severity": severity}]}


@pytest.mark.parametrize(
    ("shelf", "typed", "line", "field", "said"),
    [
        ("rubrics", '{\n  "name": "x",\n  "rules": [\n', 3, "", "JSON"),
        ("rubrics", text(severe("fatal")), 8, "rules[0].severity", "high"),
        ("rubrics", text({**RUBRIC, "name": ""}), 2, "name", "it needs a name"),
        ("rubrics", text({**RUBRIC, "rules": []}), 4, "rules", ""),
        (
            "test-sets",
            text({**TEST_SET, "items": [{"type": "single_turn", "inputs": {}}]}),
            7,
            "items[0].inputs.message",
            "",
        ),
        ("question-sets", text({"name": "q", "questions": [{"question": "?"}]}), 4, "questions[0]", "expected_answer"),
        ("datasets", LEGAL.decode() + '{"schema_version": "legal_eval_v1"}', 2, "id", ""),
        ("rubrics", "[]", 1, "", "one object is expected"),
    ],
    ids=[
        "cut off",
        "unknown severity",
        "no name",
        "no rules",
        "no message",
        "nothing expected",
        "second line",
        "a list",
    ],
)
def test_a_problem_stands_beside_its_line(
    visitor: Visitor, shelf: str, typed: str, line: int, field: str, said: str
) -> None:
    page = visitor.post(f"/library/{shelf}/check?format=json", {"text": typed, "name": "new.jsonl"}).json
    places = {(fault["line"], fault["field"]) for fault in page["faults"]}
    assert (line, field) in places, page["faults"]
    assert any(said in fault["message"] + fault["hint"] for fault in page["faults"])
    assert "to put right before it can be kept" in page["answer"]


def test_a_slip_is_pointed_out_and_does_no_harm(visitor: Visitor) -> None:
    typed = text({**RUBRIC, "rules": [{**RULE, "categry": "tone"}]})
    page = visitor.post("/library/rubrics/check?format=json", {"text": typed}).json
    assert page["answer"] == "Nothing is wrong; 1 thing to look at."
    assert (page["faults"][0]["line"], page["faults"][0]["is_error"]) == (10, False)


def test_while_typing_only_the_problems_come_back(visitor: Visitor) -> None:
    reply = visitor.post("/library/rubrics/check", {"text": "{"}, HX_Request="true", HX_Target="problems")
    assert reply.text.strip().startswith('<section id="problems"')
    assert "<html" not in reply.text


def test_what_has_problems_is_not_kept_and_not_lost(visitor: Visitor) -> None:
    before = len(visitor.data("/library/rubrics")["lines"])
    reply = visitor.post("/library/rubrics", {"text": text(severe("fatal")), "note": "my reason"})
    assert reply.status == 422
    assert "&#34;fatal&#34;" in reply.text
    assert "my reason" in reply.text
    assert len(visitor.data("/library/rubrics")["lines"]) == before


def test_the_next_version_the_difference_and_the_way_back(visitor: Visitor) -> None:
    address = written(visitor, "rubrics", RUBRIC)
    form = {"text": text(severe("low")), "note": "milder", "expected": "1"}
    assert visitor.post(address, form).leads_to == address
    page = visitor.data(f"{address}/difference?from=1&to=2")
    assert page["answer"] == "1 change from version 1 to 2."
    assert page["changes"] == [{"place": "rules[KIND].severity", "kind": "changed", "before": "high", "after": "low"}]
    assert visitor.post(f"{address}/restore", {"version": "1"}).leads_to == address
    now = visitor.data(address)
    assert (now["latest"], now["entries"][0]["severity"]) == (3, "high")
    assert now["versions"][0]["note"] == "version 1 restored"
    assert visitor.data(f"{address}?version=2")["entries"][0]["severity"] == "low"


def test_who_was_overtaken_is_told_and_keeps_their_text(visitor: Visitor) -> None:
    address = written(visitor, "rubrics", RUBRIC)
    assert visitor.post(address, {"text": text(severe("low")), "expected": "1"}).status == 303
    late = visitor.post(address, {"text": text(severe("medium")), "expected": "1"})
    assert late.status == 422
    assert "somebody else changed it" in late.text
    assert "&#34;medium&#34;" in late.text


def test_the_text_of_a_page_is_what_was_written(visitor: Visitor) -> None:
    address = written(visitor, "test-sets", TEST_SET)
    typed = visitor.data(f"{address}/edit")["typed"]
    assert json.loads(typed["text"])["items"] == TEST_SET["items"]
    assert "test_set_id" not in typed["text"]
    assert typed["expected"] == 1


@pytest.mark.parametrize(
    ("shelf", "body"),
    [("rubrics", {"name": "n", "rules": [RULE]}), ("test-sets", {"name": "n", "items": TEST_SET["items"]})],
)
def test_what_was_kept_without_an_agent_can_be_edited(visitor: Visitor, shelf: str, body: dict[str, Any]) -> None:
    address = written(visitor, shelf, body)
    page = visitor.data(f"{address}/edit")
    assert page["answer"] == "Nothing is wrong with it."
    assert visitor.post(address, {"text": page["typed"]["text"], "expected": "1"}).status == 303


def test_a_deleted_document_is_gone_from_the_shelf(visitor: Visitor) -> None:
    address = written(visitor, "rubrics", RUBRIC)
    assert visitor.post(f"{address}/delete").leads_to == "/library/rubrics"
    assert visitor.get(address).status == 404


@pytest.mark.parametrize(
    ("shelf", "name", "content", "cases"),
    [
        ("test-sets", "greetings.json", text(TEST_SET).encode(), 1),
        ("test-sets", "law.jsonl", LEGAL, 1),
        ("datasets", "law.jsonl", LEGAL, 1),
    ],
    ids=["as it is", "converted", "a dataset"],
)
def test_a_file_of_any_dialect_is_brought_in(
    visitor: Visitor, shelf: str, name: str, content: bytes, cases: int
) -> None:
    reply = visitor.bring(f"/library/{shelf}/import?name={name}&agent_id=moss", content)
    assert reply.status == 201, reply.text
    page = visitor.data(reply.json["address"])
    assert len(page["entries"]) == cases
    assert page["agent_id"] == "moss"


def test_a_file_with_problems_is_not_brought_in(visitor: Visitor) -> None:
    reply = visitor.bring("/library/datasets/import?name=law.jsonl", LEGAL + b'{"schema_version": "legal_eval_v1"}\n')
    assert reply.status == 422
    assert {fault["line"] for fault in reply.json["faults"]} == {2}


def test_a_document_as_it_is_and_as_another_shape(visitor: Visitor) -> None:
    address = written(visitor, "test-sets", TEST_SET)
    whole = visitor.get(f"{address}/export")
    assert json.loads(whole.text)["items"] == TEST_SET["items"]
    assert whole.headers["content-disposition"] == "attachment; filename*=UTF-8''Greetings-v1.json"
    report = visitor.data(f"{address}/export?to=golden")
    assert report["answer"].startswith("1 case can be written as golden")
    file = visitor.get(f"{address}/export?to=golden&file=1")
    assert "golden_questions" in file.text or "questions" in file.text
    assert visitor.get(f"{address}/export?to=spoon").status == 422


def graded(position: int, case: str, passed: bool | None) -> Result:
    part = Part(id="KIND", text="Is kind", severity=Severity.HIGH)
    value = 1.0 if passed else 0.0
    grade: Grade = Score(name="rubric", value=value, pass_mark=1.0, part=part)
    if passed is None:
        grade = Unscored(name="rubric", why=UnscoredReason.ERROR, reason="unreadable", part=part)
    verdict = {True: Verdict.PASSED, False: Verdict.FAILED, None: Verdict.ERRORED}[passed]
    return a_result(position, verdict, case=case, grades=(grade,))


def test_a_dataset_is_edited_compared_and_restored_with_its_cases(served: Served, visitor: Visitor) -> None:
    address = visitor.bring("/library/datasets/import?name=law.jsonl", LEGAL).json["address"]
    second = LEGAL.replace(b"q1", b"q2")
    form = {"text": (LEGAL + second).decode(), "name": "law.jsonl", "note": "one more", "expected": "1"}
    assert visitor.post(address, form).leads_to == address
    assert visitor.data(address)["answer"] == "Version 2, the newest: 2 cases."
    changes = visitor.data(f"{address}/difference?from=1&to=2")["changes"]
    assert [(change["kind"], change["after"]) for change in changes] == [("added", second.decode().strip())]
    assert visitor.post(f"{address}/restore", {"version": "1"}).leads_to == address
    (line,) = [line for line in visitor.data("/library/datasets")["lines"] if line["address"] == address]
    assert (line["version"], line["holds"]) == (3, "1 case, legal")
    stored = served.do(served.store.documents.get(DocumentKind.DATASET, address.rsplit("/", 1)[1]))
    assert stored.edition.body == LEGAL


@pytest.mark.parametrize(
    ("text", "large"),
    [
        ("x" * 280_000, False),
        ("x" * 280_001, True),
        ("ж" * 140_000, False),
        ("ж" * 140_001, True),
        ('"' * 56_000, False),
        ('"' * 56_001, True),
    ],
    ids=["Latin", "one more", "not Latin", "one more of those", "written out", "one more written out"],
)
def test_a_text_that_would_make_a_page_too_large_is_not_edited(text: str, large: bool) -> None:
    assert is_large(text) is large


def many_rules(number: int) -> dict[str, Any]:
    return {**RUBRIC, "rules": [{**RULE, "id": f"R{place}", "name": f"Rule {place}"} for place in range(number)]}


def test_a_large_document_is_edited_a_part_at_a_time(visitor: Visitor) -> None:
    address = written(visitor, "rubrics", many_rules(60))
    first = visitor.data(f"{address}/edit")
    assert first["part"] == "Rules 1 to 25 of 60; the others stay as they are."
    assert (first["earlier"], first["later"]) == ("", f"{address}/edit?version=1&start=25")
    page = visitor.data(first["later"])
    typed = json.loads(page["typed"]["text"])
    assert [rule["id"] for rule in typed["rules"]] == [f"R{place}" for place in range(25, 50)]
    # One is changed, one taken out, two are added: the others keep their places.
    typed["rules"][0]["severity"] = "low"
    typed["rules"][1:2] = [{**RULE, "id": "NEW1"}, {**RULE, "id": "NEW2"}]
    place = page["typed"]["part"]
    form = {"text": json.dumps(typed), "expected": "1", "base": "1", **{name: str(place[name]) for name in place}}
    assert visitor.post(f"{address}/check?format=json", form).json["answer"] == "Nothing is wrong with it."
    assert visitor.post(address, form).leads_to == address
    exported = json.loads(visitor.get(f"{address}/export").text)
    ids = [rule["id"] for rule in exported["rules"]]
    assert ids == [*(f"R{n}" for n in range(26)), "NEW1", "NEW2", *(f"R{n}" for n in range(27, 60))]
    assert [rule["severity"] for rule in exported["rules"]].count("low") == 1
    assert visitor.data(f"{address}/edit?start=50")["part"] == "Rules 51 to 61 of 61; the others stay as they are."


def test_a_part_that_repeats_an_id_of_another_is_not_kept(visitor: Visitor) -> None:
    address = written(visitor, "rubrics", many_rules(30))
    page = visitor.data(f"{address}/edit?start=25")
    typed = json.loads(page["typed"]["text"])
    typed["rules"][0]["id"] = "R3"
    place = page["typed"]["part"]
    form = {"text": json.dumps(typed), "expected": "1", "base": "1", **{name: str(place[name]) for name in place}}
    reply = visitor.post(address, form)
    assert reply.status == 422
    assert "R3" in reply.text
    assert visitor.data(address)["latest"] == 1


def test_a_small_document_is_edited_whole(visitor: Visitor) -> None:
    page = visitor.data(f"{written(visitor, 'rubrics', many_rules(25))}/edit")
    assert (page["part"], page["typed"]["part"]) == ("", None)
    assert len(json.loads(page["typed"]["text"])["rules"]) == 25


def test_rules_and_cases_come_a_page_at_a_time(visitor: Visitor) -> None:
    rubric = written(visitor, "rubrics", many_rules(35))
    page = visitor.data(rubric)
    assert (page["answer"], len(page["entries"])) == ("Version 1, the newest: 35 rules.", 15)
    assert [each["id"] for each in visitor.data(f"{rubric}{page['further']}")["entries"]] == [
        f"R{n}" for n in range(15, 30)
    ]
    (case,) = TEST_SET["items"]
    cases = written(visitor, "test-sets", {**TEST_SET, "items": [{**case, "item_id": f"c{n}"} for n in range(45)]})
    page = visitor.data(cases)
    assert (page["answer"], len(page["entries"])) == ("Version 1, the newest: 45 cases.", 15)
    last = visitor.data(f"{cases}?start=40")
    assert ([each["id"] for each in last["entries"]], last["further"]) == ([f"c{n}" for n in range(40, 45)], "")


def test_what_a_shape_cannot_hold_is_looked_up_in_the_first_cases_unless_all_are_asked_for(visitor: Visitor) -> None:
    (case,) = TEST_SET["items"]
    address = written(visitor, "test-sets", {**TEST_SET, "items": [{**case, "item_id": f"c{n}"} for n in range(45)]})
    page = visitor.data(f"{address}/export?to=golden")
    assert page["answer"].startswith("The first 30 of 45 cases can be written as golden")
    assert page["looked_at"] == 30
    every = visitor.data(page["every"])
    assert every["answer"].startswith("All 45 cases can be written as golden")
    assert (every["looked_at"], every["every"]) == (45, "")
    whole = json.loads(visitor.get(f"{address}/export?to=golden&file=1").text)
    assert len(whole["golden_questions"]) == 45


def test_a_large_run_that_goes_on_is_said_not_to_be_counted(
    served: Served, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    rubric = written(visitor, "rubrics", {**RUBRIC, "agent_id": "large"})
    rules = Rubric(name="x", id=rubric.rsplit("/", 1)[1], rules=(Rule(id="KIND", name="x", severity=Severity.HIGH),))
    made = a_run(numbered(77), agent="large", name="huge", total=3, created_at=NOON)
    served.do(served.store.create_run(replace(made, pins=replace(made.pins, rubric=rules))))
    served.do(served.store.save(made.id, [graded(place, f"c{place}", place > 0) for place in range(3)]))
    monkeypatch.setattr("howsure.web.pages.library.MAX_UNCOUNTED_RESULTS", 2)
    page = visitor.data(rubric)
    assert page["across"].endswith("Not counted before they end: huge.")
    assert page["entries"][0]["runs"] == []
    served.do(served.store.set_state(made.id, RunState.COMPLETED))
    page = visitor.data(rubric)
    assert page["across"] == "Each rule over the last 1 run that used it, newest first."
    assert (page["entries"][0]["rate"]["passed"], page["entries"][0]["rate"]["judged"]) == (2, 3)


def test_where_rules_and_cases_pass_and_fail(served: Served, visitor: Visitor) -> None:
    cases = written(visitor, "test-sets", {**TEST_SET, "name": "Seen", "agent_id": "seen"})
    rubric = written(visitor, "rubrics", {**RUBRIC, "agent_id": "seen"})
    assert visitor.data(rubric)["across"] == "No run that can be seen here used it yet."
    key = rubric.rsplit("/", 1)[1]

    async def run(number: int, *held: bool | None) -> None:
        made = a_run(numbered(number), agent="seen", total=len(held), created_at=NOON + timedelta(hours=number))
        pin = replace(made.pins.datasets[0], path=f"document:test_set/{cases.rsplit('/', 1)[1]}@1")
        rules = Rubric(name="House rules", id=key, rules=(Rule(id="KIND", name="Is kind", severity=Severity.HIGH),))
        await served.store.create_run(replace(made, pins=replace(made.pins, datasets=(pin,), rubric=rules)))
        results = [graded(place, "hello" if not place else f"c{place}", each) for place, each in enumerate(held)]
        await served.store.save(made.id, results)

    served.do(run(1, True, True, False))
    # What is kept of a run when it ends counts as what is counted of one that goes on.
    served.do(served.store.set_state(numbered(1), RunState.COMPLETED))
    served.do(run(2, False, None))
    (rule,) = visitor.data(rubric)["entries"]
    assert (rule["rate"]["passed"], rule["rate"]["judged"]) == (2, 4)
    assert [mark["word"] for mark in rule["runs"]] == ["failed", "failed"]
    assert rule["runs"][0]["said"] == "first: 0 of 1 passed, 1 times the judge could not say"
    (case,) = visitor.data(cases)["entries"]
    assert [mark["word"] for mark in case["runs"]] == ["failed", "passed"]
    assert visitor.data(rubric)["across"] == "Each rule over the last 2 runs that used it, newest first."


def test_boundaries_hold_in_the_library(tmp_path: Path) -> None:
    with serving(tmp_path, keys_needed=True) as served:

        async def keys() -> dict[str, str]:
            made = {}
            for name, home, agents, scopes in (
                ("writer", "acme", None, [KeyScope.READ, KeyScope.WRITE]),
                ("reader", "acme", None, [KeyScope.READ]),
                ("elsewhere", "other", None, [KeyScope.READ, KeyScope.WRITE]),
                ("narrow", "acme", ("elsie",), [KeyScope.READ, KeyScope.WRITE]),
            ):
                wanted = KeyRequest(name=name, scopes=scopes, organization_id=home, agent_ids=agents)
                made[name] = (await make_key(served.store, wanted))[1]
            return made

        secrets = served.do(keys())
        visitors = {name: Visitor(served.base).sign_in(secret) for name, secret in secrets.items()}
        address = written(visitors["writer"], "rubrics", RUBRIC)
        seen = {name: visitor.get(address).status for name, visitor in visitors.items()}
        assert seen == {"writer": 200, "reader": 200, "elsewhere": 404, "narrow": 404}
        lists = {name: len(visitor.data("/library/rubrics")["lines"]) for name, visitor in visitors.items()}
        assert lists == {"writer": 1, "reader": 1, "elsewhere": 0, "narrow": 0}
        for path in (f"{address}/edit", f"{address}/difference?from=1&to=1", f"{address}/export"):
            assert visitors["elsewhere"].get(path).status == 404
        form = {"text": text(severe("low"))}
        tries = {name: visitor.post(address, form).status for name, visitor in visitors.items() if name != "writer"}
        assert tries["reader"] == 403
        assert tries["elsewhere"] in (404, 422)
        assert visitors["reader"].get("/library/rubrics/new").status == 403
        assert "for the agents elsie only" in visitors["narrow"].post("/library/rubrics", {"text": text(RUBRIC)}).text
        assert visitors["writer"].data(address)["latest"] == 1


def test_a_form_from_elsewhere_writes_nothing(visitor: Visitor) -> None:
    visitor.get("/library/rubrics")
    reply = visitor.ask("POST", "/library/rubrics", b"text=%7B%7D&csrf=made-up")
    assert reply.status == 403


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_inert_on_every_page(served: Served, visitor: Visitor, hostile: str) -> None:
    name = without_nul(hostile)
    rule = {**RULE, "name": name, "description": hostile, "category": hostile}
    body = {"name": name, "agent_id": name.replace("\n", " "), "description": hostile, "rules": [rule]}
    change = documents.DocumentChange(body=body, author=name, note=name)
    made = served.do(documents.add_document(served.host, DocumentKind.RUBRIC, change, EVERYWHERE))
    other = documents.DocumentChange(body={**body, "rules": [{**rule, "severity": "low"}]}, author=name, note=name)
    served.do(documents.change_document(served.host, DocumentKind.RUBRIC, made.id, other, EVERYWHERE))
    address = f"/library/rubrics/{made.id}"
    for path in ("/library/rubrics", address, f"{address}/edit", f"{address}/difference?from=1&to=2"):
        page = visitor.get(path).text
        for bad in ("<script>alert", "<img src=x", "<svg/onload", "<iframe", "\x1b", "\u202e", "<b>out", "<injected"):
            assert bad not in page, (path, bad)
    served.do(served.store.documents.delete(DocumentKind.RUBRIC, made.id))


def test_lines_of_fields_are_found_in_any_layout() -> None:
    lines = field_lines('{"a": 1,\n "b": [\n  {"c": "}"},\n  {"d e": {"f": [1,\n2]}}\n ]}')
    assert lines["a"] == 1
    assert lines["b[0].c"] == 3
    assert lines['b[1]["d e"].f[1]'] == 5
    assert line_of(lines, "b[1].missing") == 4
    assert line_of(lines, "nowhere.at.all") == 1
