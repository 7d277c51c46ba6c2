"""The built-ins: everything Assay brings itself, registered by the same door that plug-ins use."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from assay.dialects.base import Importer
from assay.dialects.explain import ExplainDialect
from assay.dialects.golden import GoldenDialect
from assay.dialects.legal import LegalDialect
from assay.dialects.simulation import SimulationDialect
from assay.dialects.test_set import TestSetDialect
from assay.graders.agents_involved import AgentsInvolvedGrader
from assay.graders.base import Binding, Grader
from assay.graders.builtin_judged import judged_graders
from assay.graders.choice import ChoiceGrader
from assay.graders.final_state import FinalStateGrader
from assay.graders.library_evals import library_evals
from assay.graders.measures import measures
from assay.graders.output_contract import OutputContractGrader, builtin_contracts
from assay.graders.simulator_fidelity import SimulatorFidelityGrader
from assay.graders.tool_calls import tool_calls, tool_usage_accuracy
from assay.graders.tools_used import ForbiddenToolsGrader, ToolsUsedGrader
from assay.graders.trajectory import TrajectoryGrader
from assay.kit import Kit
from assay.model.profile import Profile
from assay.policies.builtin import builtin_policies
from assay.prices.table import PriceTable
from assay.targets.adk.target import AdkKind
from assay.targets.command.target import CommandKind
from assay.targets.frameworks.adk_runner import AdkAgentKind
from assay.targets.frameworks.langgraph import LangGraphKind
from assay.targets.frameworks.openai_agents import OpenAiAgentsKind
from assay.targets.frameworks.pydantic_ai import PydanticAiKind
from assay.targets.function.target import FunctionKind
from assay.targets.http.target import HttpKind
from assay.targets.making import Making
from assay.targets.recorded import RecordedTarget

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
    loaded: tuple[Importer, ...] = import_module("assay.dialects.importers").importers()
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
