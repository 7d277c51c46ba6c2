"""Importers: read-only dialects, one file for each source. They are asked last, and only when files are converted or
one of them is named, so the five dialects are recognised as if there were none."""

from __future__ import annotations

from assay.dialects.base import Importer
from assay.dialects.importers.ace import AceImporter
from assay.dialects.importers.adk_evalset import AdkEvalSet
from assay.dialects.importers.adk_history import AdkHistory
from assay.dialects.importers.adk_session import AdkSession
from assay.dialects.importers.agent_sessions import AgentSessions
from assay.dialects.importers.apex import ApexImporter
from assay.dialects.importers.conversations import ConversationImporter
from assay.dialects.importers.include import IncludeImporter
from assay.dialects.importers.langfuse import LangfuseImporter
from assay.dialects.importers.lar_echr import LarEchrImporter
from assay.dialects.importers.lexam import LexamImporter
from assay.dialects.importers.mmlu import MmluImporter
from assay.dialects.importers.otlp import OtlpImporter
from assay.dialects.importers.prbench import PrBenchImporter
from assay.dialects.importers.raw_logs import RawLogs
from assay.dialects.importers.tau2 import Tau2GoldenImporter, Tau2Importer


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
