"""Runs every query on every contender in turn, again and again, and notes how long each took.

In turn, because a machine gets faster and slower over minutes: then that meets all contenders alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter

from bench.contenders import Contender
from bench.queries import Query


@dataclass
class Measurement:
    """The seconds that one query took on one contender, in the order of the rounds."""

    query: Query
    contender: str
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median of the rounds, in seconds."""
        return median(self.seconds)

    @property
    def spread(self) -> float:
        """The slowest round as a multiple of the fastest."""
        return max(self.seconds) / min(self.seconds)


def measure(
    queries: Sequence[Query],
    contenders: Sequence[Contender],
    table_rows: Mapping[str, int],
    runs: int,
    announce: Callable[[str], None],
    clock: Callable[[], float] = perf_counter,
) -> list[Measurement]:
    """`runs` rounds of each query after one that is not counted, which warms caches.

    `table_rows` tells how many rows the table of each contender has.
    Raises ValueError when a contender's result has another number of rows than it must have.
    """
    measurements: list[Measurement] = []
    for query in queries:
        announce(query.title)
        of_query = {contender.name: Measurement(query, contender.name) for contender in contenders}
        for round_number in range(runs + 1):
            for contender in rotated(contenders, round_number):
                contender.prepare(query)
                start = clock()
                rows = contender.run(query)
                seconds = clock() - start
                expected = query.expected_rows(table_rows[contender.name])
                if rows != expected:
                    raise ValueError(f"{contender.name} answered {query.title} with {rows} rows, not {expected}")
                if round_number > 0:
                    of_query[contender.name].seconds.append(seconds)
        measurements += of_query.values()
    return measurements


def rotated(contenders: Sequence[Contender], by: int) -> list[Contender]:
    """The contenders, beginning with another one each round, so that going first favours or harms none of them."""
    by %= len(contenders)
    return [*contenders[by:], *contenders[:by]]
