"""chDB, the engine of ClickHouse, in this process."""

from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import chdb
from chdb import ChdbError
from chdb.session import Session

from bench import checksum
from bench.checksum import Answer
from bench.contenders import PATIENCE, CannotRead
from bench.queries import Query


class ChDB:
    """Reads the Iceberg table with the table function `icebergLocal`.

    chDB reads no file that is not under the directory in which the process runs.
    """

    name = "chDB"

    def __init__(self, directory: Path) -> None:
        self.session = _session()
        self.table = f"icebergLocal('{directory}/')"

    def prepare(self, query: Query) -> None:
        """For a cold query, empties the caches of metadata."""
        if query.cold:
            for cache in ("ICEBERG METADATA", "PARQUET METADATA"):
                self.session.query(f"SYSTEM CLEAR {cache} CACHE")

    def run(self, query: Query) -> int:
        """Takes the result as Arrow record batches."""
        try:
            result = self.session.send_query(query.select_from(self.table), "Arrow")
            return sum(batch.num_rows for batch in result.record_batch())
        except (RuntimeError, ChdbError) as error:
            raise CannotRead(str(error)) from error

    def answer(self, where: str = "") -> Answer:
        """What chDB finds in the table, or among the rows that this is true of."""
        rows, total = self._fields(checksum.clickhouse(checksum.rows_of(self.table, where)))
        return Answer(int(rows), int(total))

    def result(self, query: Query) -> tuple[Any, ...]:
        """The only row of an aggregate whose values are numbers."""
        return tuple(Decimal(field) for field in self._fields(query.select_from(self.table)))

    def _fields(self, statement: str) -> list[str]:
        try:
            return str(self.session.query(statement, "TabSeparated")).split()
        except (RuntimeError, ChdbError) as error:
            raise CannotRead(str(error)) from error


@cache
def _session() -> Session:
    """The only session: a process holds one ClickHouse, whatever the number of tables."""
    session = Session()
    # The other engine in this process does not compress what it hands over either.
    session.query("SET output_format_arrow_compression_method = 'none'")
    session.query(f"SET max_execution_time = {PATIENCE}")
    return session


def version() -> str:
    """The version of chDB and that of the ClickHouse in it."""
    return f"{chdb.__version__} (ClickHouse {chdb.engine_version})"
