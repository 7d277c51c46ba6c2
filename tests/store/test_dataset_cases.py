"""Where the cases of uploaded datasets stand."""

from __future__ import annotations

import pytest

from howsure.errors import NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.store.documents import DocumentDraft, case_address
from howsure.store.store import Store

DATASET = DocumentKind.DATASET
ACME, OTHER = AccessScope(organization_id="acme"), AccessScope(organization_id="other")


def dataset(*case_ids: str) -> DocumentDraft:
    return DocumentDraft(body=b"content", name="d", case_ids=case_ids)


async def test_a_case_is_found_by_its_address_alone(kept: Store) -> None:
    await kept.documents.create(DATASET, "d1", dataset("q1", "q 2/ä", "q3"), ACME)
    found = await kept.dataset_cases.find(case_address("d1", "q 2/ä"), ACME)
    assert (found.dataset_id, found.case_id, found.position) == ("d1", "q 2/ä", 1)
    assert found.id == case_address("d1", "q 2/ä")


@pytest.mark.parametrize(
    ("dataset_id", "case_id", "within"),
    [("d1", "q1", OTHER), ("d1", "q9", ACME), ("d9", "q1", ACME)],
    ids=["another organisation's", "no such case", "no such dataset"],
)
async def test_what_is_not_there_or_not_theirs_is_not_found(
    kept: Store, dataset_id: str, case_id: str, within: AccessScope
) -> None:
    await kept.documents.create(DATASET, "d1", dataset("q1"), ACME)
    wanted = case_address(dataset_id, case_id)
    with pytest.raises(NotFound, match=f"there is no test case {wanted}"):
        await kept.dataset_cases.find(wanted, within)


async def test_only_the_newest_version_is_noted(kept: Store) -> None:
    await kept.documents.create(DATASET, "d1", dataset("q1", "q2"))
    await kept.documents.revise(DATASET, "d1", dataset("q2", "q3"))
    assert (await kept.dataset_cases.find(case_address("d1", "q2"))).position == 0
    with pytest.raises(NotFound):
        await kept.dataset_cases.find(case_address("d1", "q1"))


async def test_an_address_says_which_dataset_it_is_of() -> None:
    assert case_address("d1", "q1") == case_address("d1", "q1")
    assert (
        len({case_address("d1", "q1"), case_address("d2", "q1"), case_address("d1", "q2"), case_address("d1\nq1", "")})
        == 4
    )
