"""Finds plug-ins: a function `register(kit)`, in an installed package (entry point) or in a Python file. What is built
in is registered by the same door: `builtin_kit()`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from howsure.dialects.explain import ExplainDialect
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.legal import LegalDialect
from howsure.dialects.simulation import SimulationDialect
from howsure.dialects.test_set import TestSetDialect
from howsure.errors import CaseFailure, ConfigInvalid, HowsureError, boundary
from howsure.graders.adk.criteria import adk_graders
from howsure.graders.base import BindableGrader, Grader
from howsure.graders.choice import ChoiceGrader
from howsure.graders.criteria import CriteriaGrader, WeightedCriteriaGrader
from howsure.graders.judged_answers import ExpectedOutcomeGrader, ReferenceAnswerGrader
from howsure.graders.judged_evals import explain_evals, golden_judged, library_evals
from howsure.graders.matches import MATCH_GRADERS
from howsure.graders.measures import measures
from howsure.graders.output_contract import OutputContractGrader, builtin_contracts
from howsure.graders.rubric import RubricGrader
from howsure.graders.simulator_fidelity import JudgedFidelityGrader, SimulatorFidelityGrader
from howsure.graders.state_and_steps import AgentsInvolvedGrader, FinalStateGrader, TrajectoryGrader
from howsure.graders.tool_calls import ForbiddenToolsGrader, ToolsUsedGrader, tool_calls, tool_usage_accuracy
from howsure.judges.dataset_policies import POLICIES
from howsure.kit import Kit
from howsure.model.verdict import Profile
from howsure.policies.verdicts import builtin_policies
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

GROUP = "howsure.plugins"

Register = Callable[[Kit], None]


class _PluginBroke(CaseFailure):
    """Carries what a plug-in raised to the error message. It never leaves this file."""


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    """Read once: looking through all installed packages takes milliseconds."""
    return tuple(entry_points(group=GROUP))


def installed_plugins() -> Iterator[Register]:
    """`register` of every installed package that has an entry point in the group `howsure.plugins`."""
    for point in _entry_points():
        yield _check_register(point.load, f"plug-in {point.name!r}")


def installed_names() -> Iterator[str]:
    """The name of every installed plug-in, with the version of its package."""
    for point in _entry_points():
        yield f"{point.name} ({point.dist.name} {point.dist.version})" if point.dist else point.name


def plugin_file(path: Path) -> Register:
    """`register` of one Python file."""
    if not path.is_file():
        raise ConfigInvalid(f"--plugin {path}: no such file")

    def load() -> object:
        spec = spec_from_file_location(f"howsure_plugin_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise ConfigInvalid(f"--plugin {path}: not a Python file")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, "register", None)

    return _check_register(load, f"--plugin {path}")


def _check_register(load: Callable[[], object], who: str) -> Register:
    try:
        with boundary(_PluginBroke, who):
            register = load()
    except _PluginBroke as error:
        raise ConfigInvalid(str(error)) from error
    if not callable(register):
        raise ConfigInvalid(f"{who}: it has no function `register(kit)`")

    def guarded(kit: Kit) -> None:
        try:
            with boundary(_PluginBroke, who):
                register(kit)
        except _PluginBroke as error:
            cause = error.__cause__
            message = f"{str(error).split(':', 1)[0]}: {cause}" if isinstance(cause, HowsureError) else str(error)
            raise ConfigInvalid(message) from error

    return guarded


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
    kit.dialects.load_lazily(lambda: import_module("howsure.dialects.tool_datasets").tool_dialects())
    # Loaded by name: only files that none of these knows need the dialects of other tools and plain tables, only
    # conversions need importers, and only runs that ask a model need providers.
    kit.importers.load_lazily(lambda: import_module("howsure.dialects.importers").importers())
    kit.results_readers.load_lazily(lambda: import_module("howsure.dialects.tool_results").results_readers())
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
        *MATCH_GRADERS,
        SimulatorFidelityGrader(),
        *judged_graders(),
        *library_evals(),
        *adk_graders(),
        *measures(prices),
    )
    for grader in graders:
        kit.graders.add(grader)
    kit.policies.update(builtin_policies())
    kit.contracts.update(builtin_contracts())
