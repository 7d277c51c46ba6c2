"""All rows of the net."""

from __future__ import annotations

from net import (
    table_arguments,
    table_commands,
    table_common,
    table_imports,
    table_judge,
    table_keys,
    table_labels,
    table_mends,
    table_models,
    table_plain,
    table_run,
    table_targets,
    table_values,
)

TABLES = (
    table_run,
    table_keys,
    table_targets,
    table_commands,
    table_judge,
    table_labels,
    table_arguments,
    table_mends,
    table_models,
    table_plain,
    table_values,
    table_common,
    table_imports,
)
ROWS = [row for table in TABLES for row in table.ROWS]
