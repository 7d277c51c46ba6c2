"""The built-ins: everything that Howsure itself registers, in the same way as a plug-in."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from howsure.dialects.explain import ExplainDialect
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.legal import LegalDialect
from howsure.dialects.simulation import SimulationDialect
from howsure.dialects.test_set import TestSetDialect
from howsure.graders.base import BindableGrader, Grader
from howsure.graders.choice import ChoiceGrader
from howsure.graders.criteria import CriteriaGrader, WeightedCriteriaGrader
from howsure.graders.explain_evals import explain_evals, library_evals
from howsure.graders.golden_evals import golden_judged
from howsure.graders.judged_answers import ExpectedOutcomeGrader, ReferenceAnswerGrader
from howsure.graders.measures import measures
from howsure.graders.output_contract import OutputContractGrader, builtin_contracts
from howsure.graders.rubric import RubricGrader
from howsure.graders.simulator_fidelity import JudgedFidelityGrader, SimulatorFidelityGrader
from howsure.graders.state_and_steps import AgentsInvolvedGrader, FinalStateGrader, TrajectoryGrader
from howsure.graders.tool_calls import ForbiddenToolsGrader, ToolsUsedGrader, tool_calls, tool_usage_accuracy
from howsure.judges.dataset_policies import POLICIES
from howsure.kit import Kit
from howsure.model.verdict import Profile
from howsure.policies.worlds import builtin_policies
from howsure.prices.table import PriceTable
from howsure.targets.adk.target import AdkKind
from howsure.targets.base import TargetKind
from howsure.targets.command.target import CommandKind
from howsure.targets.frameworks.adk_runner import AdkAgentKind
from howsure.targets.frameworks.langgraph import LangGraphKind
from howsure.targets.frameworks.openai_agents import OpenAiAgentsKind
from howsure.targets.frameworks.pydantic_ai import PydanticAiKind
from howsure.targets.function.target import FunctionKind
from howsure.targets.http.target import HttpKind
from howsure.targets.recordings import RecordedTarget


def judged_graders() -> tuple[BindableGrader, ...]:
    """Every built-in grader that asks a judge, except the optional evals of the Explain library."""
    return (
        *explain_evals(),
        CriteriaGrader(),
        RubricGrader(),
        ExpectedOutcomeGrader(),
        WeightedCriteriaGrader(),
        ReferenceAnswerGrader(),
        *golden_judged(),
        JudgedFidelityGrader(),
    )


TARGET_KINDS: tuple[TargetKind, ...] = (
    HttpKind(),
    FunctionKind(),
    CommandKind(),
    AdkKind(),
    AdkAgentKind(),
    LangGraphKind(),
    OpenAiAgentsKind(),
    PydanticAiKind(),
)


def builtin_kit(profiles: Iterable[Profile], prices: PriceTable | None = None) -> Kit:
    """A kit with all built-ins. `profiles` include those of the settings, because a dataset may name them."""
    kit = Kit()
    for profile in profiles:
        kit.profiles.add(profile)
    register(kit, prices)
    return kit


def register(kit: Kit, prices: PriceTable | None = None) -> None:
    kit.dialects.add(ExplainDialect(profiles=kit.profiles.by_name()))
    kit.dialects.add(GoldenDialect())
    kit.dialects.add(SimulationDialect())
    kit.dialects.add(TestSetDialect())
    kit.dataset_policies.update(POLICIES)
    kit.dialects.add(LegalDialect(kit.dataset_policies))
    # Loaded by name: only conversions need importers, and only runs that ask a model need providers.
    kit.importers.load_lazily(lambda: import_module("howsure.dialects.importers").importers())
    kit.providers.load_lazily(lambda: import_module("howsure.llm.providers").BUILTIN_PROVIDERS)
    kit.targets.add(RecordedTarget())
    for kind in TARGET_KINDS:
        kit.kinds.add(kind)
    graders: tuple[Grader | BindableGrader, ...] = (
        ChoiceGrader(),
        tool_calls(),
        tool_usage_accuracy(),
        TrajectoryGrader(),
        FinalStateGrader(),
        AgentsInvolvedGrader(),
        ToolsUsedGrader(),
        ForbiddenToolsGrader(),
        OutputContractGrader(),
        SimulatorFidelityGrader(),
        *judged_graders(),
        *library_evals(),
        *measures(prices),
    )
    for grader in graders:
        kit.graders.add(grader)
    kit.policies.update(builtin_policies())
    kit.contracts.update(builtin_contracts())
