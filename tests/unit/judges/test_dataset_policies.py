"""Dataset policies: the built-in ones, those of the settings, and what they change of questions, prompts and
documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from howsure.errors import ConfigInvalid, UnknownName
from howsure.judges.answer_prompts import case_prompt
from howsure.judges.base import Question
from howsure.judges.dataset_policies import POLICIES, dataset_policy
from howsure.judges.documents import Documents
from howsure.judges.judge_prompts import choose_prompt
from howsure.model.case import Attachment, Case, SingleTurn, World
from howsure.model.dataset_policy import CriterionStyle, DatasetPolicy, PassWinner, ReferenceStyle
from howsure.model.expectation import Choice, CorrectChoice
from howsure.services.workspace import Workspace
from howsure.testing import a_case, a_transcript

OWN = {
    **POLICIES,
    "house_v1": DatasetPolicy(
        criteria=CriterionStyle.BINARY,
        reference=ReferenceStyle.LEXAM,
        attachments=False,
        system="You advise tenants.",
        guidance="From our own desk.",
        form="choice_json",
    ),
}


def legal_case(policy: Any, **fields: Any) -> Case:
    return a_case(metadata={} if policy == "" else {"policy_id": policy}, world=World.LEGAL, **fields)


@pytest.mark.parametrize(
    ("policy", "criteria", "reference", "quantised", "pass_wins"),
    [
        ("", CriterionStyle.GRADED, ReferenceStyle.PLAIN, False, PassWinner.JUDGE),
        ("prbench_v1", CriterionStyle.BINARY, ReferenceStyle.PLAIN, False, PassWinner.JUDGE),
        ("lexam_oq_v1", CriterionStyle.GRADED, ReferenceStyle.LEXAM, True, PassWinner.SCORE),
        ("apexv1_extended_v1", CriterionStyle.GRADED, ReferenceStyle.PLAIN, False, PassWinner.JUDGE),
    ],
)
def test_the_built_in_policies(
    policy: str, criteria: CriterionStyle, reference: ReferenceStyle, quantised: bool, pass_wins: PassWinner
) -> None:
    found = dataset_policy(legal_case(policy))
    assert (found.criteria, found.reference, found.quantised, found.attachments, found.pass_wins) == (
        criteria,
        reference,
        quantised,
        True,
        pass_wins,
    )


@pytest.mark.parametrize("odd", ["from_the_future_v9", ["odd"], None])
def test_an_unknown_policy_is_nobodys_guess_and_free_in_other_worlds(odd: Any) -> None:
    with pytest.raises(UnknownName, match="known: apexv1_extended_v1, default_v1"):
        dataset_policy(legal_case(odd))
    assert dataset_policy(a_case(metadata={"policy_id": odd}, world=World.GOLDEN)) == DatasetPolicy()


@pytest.mark.parametrize(
    ("grader", "prompt"),
    [("weighted_criteria", "weighted_criterion_binary"), ("reference_answer", "reference_answer_lexam")],
)
def test_a_policy_of_the_settings_chooses_the_judges_words(grader: str, prompt: str) -> None:
    case = legal_case("house_v1")
    question = Question(grader=grader, case=case, transcript=a_transcript("Hi"), policies=OWN)
    assert choose_prompt(question).name == prompt


def test_its_texts_reach_the_target_and_it_may_leave_documents_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Facts.", encoding="utf-8")
    given = SingleTurn(message="May they?", attachments=(Attachment(path="a.txt"),))
    expected = CorrectChoice(choices=(Choice(id="A", text="Yes"), Choice(id="B", text="No")), correct=("A",))
    told = case_prompt(
        legal_case("house_v1", input=given, expectations=(expected,)), Documents([tmp_path], policies=OWN)
    )
    assert (told.system, told.guidance, told.documents) == ("You advise tenants.", "From our own desk.", "")
    assert told.form.startswith("Reply with one JSON object")
    usual = case_prompt(legal_case("", input=given, expectations=(expected,)), Documents([tmp_path], policies=OWN))
    assert "Facts." in usual.documents
    assert usual.form.startswith("End with one line")


def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, settings: str) -> Workspace:
    (folder / "howsure.yaml").write_text(settings, encoding="utf-8")
    monkeypatch.chdir(folder)
    return Workspace.here(environ={})


def test_policies_are_written_in_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = in_folder(
        tmp_path,
        monkeypatch,
        "policies:\n  house_v1: {criteria: binary, pass_wins: null, system: You advise tenants.}\n",
    )
    assert work.kit.dataset_policies["house_v1"] == DatasetPolicy(
        criteria=CriterionStyle.BINARY, pass_wins=None, system="You advise tenants."
    )
    assert work.kit.dataset_policies["prbench_v1"] == POLICIES["prbench_v1"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("policies: {prbench_v1: {}}", "the policy `prbench_v1` is built in; choose another id"),
        ("policies: {x: {criteria: some}}", r"`policies`: Invalid enum value 'some' - at `\$\[...\].criteria`"),
        ("policies: {x: {passwins: judge}}", "`policies`: Object contains unknown field `passwins`"),
    ],
)
def test_a_policy_that_says_something_unknown_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, said: str
) -> None:
    with pytest.raises(ConfigInvalid, match=said):
        in_folder(tmp_path, monkeypatch, settings)
