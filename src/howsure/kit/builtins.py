"""The built-ins: everything Howsure brings itself, registered by the same door that plug-ins use."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from howsure.dialects.base import Importer
from howsure.dialects.explain import ExplainDialect
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.legal import LegalDialect
from howsure.dialects.simulation import SimulationDialect
from howsure.dialects.test_set import TestSetDialect
from howsure.graders.agents_involved import AgentsInvolvedGrader
from howsure.graders.base import Binding, Grader
from howsure.graders.builtin_judged import judged_graders
from howsure.graders.choice import ChoiceGrader
from howsure.graders.final_state import FinalStateGrader
from howsure.graders.library_evals import library_evals
from howsure.graders.measures import measures
from howsure.graders.output_contract import OutputContractGrader, builtin_contracts
from howsure.graders.simulator_fidelity import SimulatorFidelityGrader
from howsure.graders.tool_calls import tool_calls, tool_usage_accuracy
from howsure.graders.tools_used import ForbiddenToolsGrader, ToolsUsedGrader
from howsure.graders.trajectory import TrajectoryGrader
from howsure.kit import Kit
from howsure.model.profile import Profile
from howsure.policies.builtin import builtin_policies
from howsure.prices.table import PriceTable
from howsure.targets.adk.target import AdkKind
from howsure.targets.command.target import CommandKind
from howsure.targets.frameworks.adk_runner import AdkAgentKind
from howsure.targets.frameworks.langgraph import LangGraphKind
from howsure.targets.frameworks.openai_agents import OpenAiAgentsKind
from howsure.targets.frameworks.pydantic_ai import PydanticAiKind
from howsure.targets.function.target import FunctionKind
from howsure.targets.http.target import HttpKind
from howsure.targets.making import Making
from howsure.targets.recorded import RecordedTarget

TARGET_KINDS: tuple[Making, ...] = (
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
    """A kit with all built-ins; the profiles are those of the settings too, for a dataset may name them."""
    kit = Kit()
    for profile in profiles:
        kit.profiles.add(profile)
    register(kit, prices)
    return kit


def _importers() -> tuple[Importer, ...]:
    """Loaded by name, for only converting asks for them."""
    loaded: tuple[Importer, ...] = import_module("howsure.dialects.importers").importers()
    return loaded


def register(kit: Kit, prices: PriceTable | None = None) -> None:
    kit.dialects.add(ExplainDialect(profiles=kit.profiles.names()))
    kit.dialects.add(GoldenDialect())
    kit.dialects.add(SimulationDialect())
    kit.dialects.add(TestSetDialect())
    kit.dialects.add(LegalDialect())
    kit.importers.later(_importers)
    kit.targets.add(RecordedTarget())
    for kind in TARGET_KINDS:
        kit.kinds.add(kind)
    graders: tuple[Grader | Binding, ...] = (
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
