"""All rows of the net."""

from __future__ import annotations

from net import (
    table_arguments,
    table_commands,
    table_common,
    table_judge,
    table_keys,
    table_mends,
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
    table_arguments,
    table_mends,
    table_values,
    table_common,
)
ROWS = [row for table in TABLES for row in table.ROWS]
