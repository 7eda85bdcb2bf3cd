"""Tables of the Postgres cluster: the foreign table, and the heap table with and without parallel workers."""

from typing import Any

import psycopg

from bench import checksum
from bench.checksum import Answer
from bench.contenders.wire import Wire
from bench.queries import Query

FOREIGN_TABLE = "lineitem"
HEAP_TABLE = "lineitem_heap"


class PostgresTable:
    """A table with the settings under which it is read."""

    def __init__(self, name: str, dsn: str, table: str, settings: dict[str, str] | None = None) -> None:
        self.name = name
        self.dsn = dsn
        self.table = table
        self.settings = settings or {}
        self.wire = Wire(dsn, self.settings)

    def prepare(self, query: Query) -> None:
        """For a cold query, opens a new session; the library of the extension is loaded already."""
        if query.cold:
            self.wire.close()
            self.wire = Wire(self.dsn, self.settings, first="LOAD 'iceberg_fdw'")

    def run(self, query: Query) -> int:
        """Takes the result as bytes, in the way that the query names."""
        return self.wire.run(query.postgres(self.table))

    def answer(self, where: str = "") -> Answer:
        """What Postgres finds in the table, or among the rows that this is true of."""
        (row,) = self._fetch(checksum.postgres(checksum.rows_of(self.table, where)))
        return Answer(row[0], int(row[1]))

    def result(self, query: Query) -> tuple[Any, ...]:
        """The only row of an aggregate."""
        (row,) = self._fetch(query.select_from(self.table))
        return row

    def explain(self, query: Query) -> str:
        """The plan, with what it did."""
        statement = f"EXPLAIN (ANALYZE, VERBOSE, BUFFERS) {query.select_from(self.table)}"
        return "\n".join(str(line) for (line,) in self._fetch(statement))

    def _fetch(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for name, value in self.settings.items():
                connection.execute("SELECT set_config(%s, %s, false)", [name, value])
            return connection.execute(statement.encode()).fetchall()


def foreign_table(dsn: str, table: str = FOREIGN_TABLE) -> PostgresTable:
    """A foreign table of iceberg_fdw."""
    return PostgresTable("iceberg_fdw", dsn, table)


NO_INDEX = {"enable_indexscan": "off", "enable_indexonlyscan": "off", "enable_bitmapscan": "off"}
ONE_PROCESS = {"max_parallel_workers_per_gather": "0"}


def heap(dsn: str) -> PostgresTable:
    """The heap table read by one process: the same work by the same means as the foreign table."""
    return PostgresTable("heap", dsn, HEAP_TABLE, ONE_PROCESS | NO_INDEX)


def heap_parallel(dsn: str) -> PostgresTable:
    """The heap table as Postgres reads it by default, with parallel workers where the planner wants them."""
    return PostgresTable("heap, parallel", dsn, HEAP_TABLE, NO_INDEX)


def heap_index(dsn: str) -> PostgresTable:
    """The heap table with its indexes, read by one process."""
    return PostgresTable("heap, index", dsn, HEAP_TABLE, ONE_PROCESS)
