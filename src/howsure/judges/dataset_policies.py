"""How a legal case is answered and judged, by the `policy_id` of its dataset. An unknown id, or none, means the
default."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from howsure.model.case import Case

DEFAULT_POLICY = "default_v1"


class CriterionStyle(Enum):
    """How a criterion can be met: yes or no, or by degrees. The values are names of prompts."""

    BINARY = "weighted_criterion_binary"
    GRADED = "weighted_criterion_graded"


class ReferenceStyle(Enum):
    """How an answer is compared with its reference. The values are names of prompts."""

    PLAIN = "reference_answer"
    LEXAM = "reference_answer_lexam"


class DatasetPolicy(Struct, frozen=True, kw_only=True):
    """`quantised`: scores are rounded to tenths. `attachments`: model and judge are shown them.

    The rest is for models under test, each the name of a file in prompts/answering/: `system` where the agent has no
    prompt, `guidance` before the question, and `form`: how to answer a choice."""

    id: str
    criteria: CriterionStyle = CriterionStyle.GRADED
    reference: ReferenceStyle = ReferenceStyle.PLAIN
    quantised: bool = False
    attachments: bool = True
    system: str = ""
    guidance: str = ""
    form: str = "choice_line"


POLICIES = {
    policy.id: policy
    for policy in (
        DatasetPolicy(id=DEFAULT_POLICY),
        DatasetPolicy(id="prbench_v1", criteria=CriterionStyle.BINARY),
        DatasetPolicy(id="apexv1_extended_v1", system="apex_system"),
        DatasetPolicy(id="lexam_oq_v1", reference=ReferenceStyle.LEXAM, quantised=True, guidance="lexam_open"),
        DatasetPolicy(id="lexam_mcq_v1", guidance="lexam_choice", form="choice_json"),
        DatasetPolicy(id="includebase_default_v1", form="choice_json"),
        DatasetPolicy(id="lar_echr_mcq_v1", guidance="lar_echr", form="choice_json"),
    )
}


def dataset_policy(case: Case) -> DatasetPolicy:
    """The policy that the case names, or the default."""
    policy_id = case.metadata.get("policy_id")
    default = POLICIES[DEFAULT_POLICY]
    return POLICIES.get(policy_id, default) if isinstance(policy_id, str) else default
