"""Those who read the table: one module each."""

from typing import Any, Protocol

from bench.checksum import Answer
from bench.queries import Query

# After so many seconds a peer is stopped: waiting longer for it would tell nothing more.
PATIENCE = 60


class Contender(Protocol):
    """A reader of the table, connected and ready."""

    name: str

    def prepare(self, query: Query) -> None:
        """Gets ready for a query, which is not measured: for a cold one, forgets what it knows of the table."""

    def run(self, query: Query) -> int:
        """Runs a query, takes the whole result and returns how many rows it had."""


class Witness(Contender, Protocol):
    """A contender that also tells what it reads. What it refuses to read, it says with CannotRead."""

    def answer(self, where: str = "") -> Answer:
        """What it finds in the table, or among the rows that this is true of."""

    def result(self, query: Query) -> tuple[Any, ...]:
        """The only row of an aggregate."""


class CannotRead(Exception):
    """An engine's refusal to read a table, in its own words."""
