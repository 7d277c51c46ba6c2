"""The built-in dataset policies, by id, and which policy a case has. More come from `policies:` in `howsure.yaml`."""

from __future__ import annotations

from collections.abc import Mapping

from howsure.errors import UnknownName
from howsure.model.case import Case, World
from howsure.model.dataset_policy import CriterionStyle, DatasetPolicy, PassWinner, ReferenceStyle

DEFAULT_POLICY = "default_v1"
POLICY_ID = "policy_id"
QUESTION_SET_POLICY = "question_set_v1"
"""The policy of question sets of the service."""

POLICIES = {
    DEFAULT_POLICY: DatasetPolicy(),
    "prbench_v1": DatasetPolicy(criteria=CriterionStyle.BINARY),
    QUESTION_SET_POLICY: DatasetPolicy(criteria=CriterionStyle.BINARY, all_must_hold=True),
    "apexv1_extended_v1": DatasetPolicy(system="apex_system"),
    "lexam_oq_v1": DatasetPolicy(
        reference=ReferenceStyle.LEXAM, quantised=True, pass_wins=PassWinner.SCORE, guidance="lexam_open"
    ),
    "lexam_mcq_v1": DatasetPolicy(guidance="lexam_choice", form="choice_json"),
    "includebase_default_v1": DatasetPolicy(form="choice_json"),
    "lar_echr_mcq_v1": DatasetPolicy(guidance="lar_echr", form="choice_json"),
}


def dataset_policy(case: Case, policies: Mapping[str, DatasetPolicy] = POLICIES) -> DatasetPolicy:
    """The policy that the case names, or the default. In other worlds than the legal one `policy_id` is free, and need
    not name one."""
    named = case.metadata.get(POLICY_ID, DEFAULT_POLICY)
    if isinstance(named, str) and named in policies:
        return policies[named]
    if case.world == World.LEGAL:
        raise UnknownName("policy", str(named), list(policies))
    return policies[DEFAULT_POLICY]
