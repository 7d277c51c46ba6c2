"""The agent of the golden tests; its module imports a neighbour relatively, as agents do."""

from . import agent as agent  # noqa: TID252
