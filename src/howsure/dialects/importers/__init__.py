"""Importers: read-only dialects for other tools' files and benchmarks. They are asked last, and only when files are
converted or one of them is named, so they never change how the five dialects are recognised.
"""

from __future__ import annotations

from howsure.dialects.base import Importer
from howsure.dialects.importers.adk_evalset import AdkEvalSetImporter
from howsure.dialects.importers.adk_history import AdkHistoryImporter, AdkSessionImporter
from howsure.dialects.importers.agent_sessions import AgentSessionImporter
from howsure.dialects.importers.choice_benchmarks import IncludeImporter, LarEchrImporter, LexamImporter, MmluImporter
from howsure.dialects.importers.conversations import ConversationImporter
from howsure.dialects.importers.raw_logs import RawLogImporter
from howsure.dialects.importers.rubric_benchmarks import AceImporter, ApexImporter, PrBenchImporter
from howsure.dialects.importers.tau2 import Tau2GoldenImporter, Tau2Importer
from howsure.dialects.importers.trace_exports import LangfuseImporter, OtlpImporter


def importers() -> tuple[Importer, ...]:
    """Every built-in importer, in the order in which they are asked. Each is one line; add new ones at the end."""
    return (
        # agents: logs, histories, sessions
        RawLogImporter(),
        AdkEvalSetImporter(),
        AdkHistoryImporter(),
        AdkSessionImporter(),
        AgentSessionImporter(),
        # benchmarks and peers' files
        PrBenchImporter(),
        ApexImporter(),
        LexamImporter(),
        IncludeImporter(),
        LarEchrImporter(),
        MmluImporter(),
        AceImporter(),
        Tau2Importer(),
        Tau2GoldenImporter(),
        ConversationImporter(),
        LangfuseImporter(),
        OtlpImporter(),
    )
