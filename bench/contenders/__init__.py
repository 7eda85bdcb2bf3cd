"""Those who read the table: one module each."""

from typing import Protocol

from bench.queries import Query


class Contender(Protocol):
    """A reader of the table, connected and ready."""

    name: str

    def run(self, query: Query) -> int:
        """Runs a query, takes the whole result and returns how many rows it had."""


class CannotRead(Exception):
    """An engine's refusal to read a table, in its own words."""
