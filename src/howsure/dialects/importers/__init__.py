"""Importers: read-only dialects, one file for each source. They are asked last, and only when files are converted or
one of them is named, so the five dialects are recognised as if there were none."""

from __future__ import annotations

from howsure.dialects.base import Importer
from howsure.dialects.importers.ace import AceImporter
from howsure.dialects.importers.adk_evalset import AdkEvalSet
from howsure.dialects.importers.adk_history import AdkHistory
from howsure.dialects.importers.adk_session import AdkSession
from howsure.dialects.importers.agent_sessions import AgentSessions
from howsure.dialects.importers.apex import ApexImporter
from howsure.dialects.importers.conversations import ConversationImporter
from howsure.dialects.importers.include import IncludeImporter
from howsure.dialects.importers.langfuse import LangfuseImporter
from howsure.dialects.importers.lar_echr import LarEchrImporter
from howsure.dialects.importers.lexam import LexamImporter
from howsure.dialects.importers.mmlu import MmluImporter
from howsure.dialects.importers.otlp import OtlpImporter
from howsure.dialects.importers.prbench import PrBenchImporter
from howsure.dialects.importers.raw_logs import RawLogs
from howsure.dialects.importers.tau2 import Tau2GoldenImporter, Tau2Importer


def importers() -> tuple[Importer, ...]:
    """Every built-in importer, in the order in which they are asked. Each is one line; add new ones at the end."""
    return (
        # agents: logs, histories, sessions
        RawLogs(),
        AdkEvalSet(),
        AdkHistory(),
        AdkSession(),
        AgentSessions(),
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
