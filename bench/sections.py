"""The tables that are measured, one after the other: who reads each, who cannot, whether all find the right rows."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.checksum import Answer
from bench.contenders import CannotRead, Witness, postgres
from bench.contenders.chdb import ChDB
from bench.contenders.duckdb import DuckDB
from bench.contenders.postgres import PostgresTable
from bench.deletes import Deleted, result_without_deleted_rows
from bench.generate import Generated
from bench.load import create_foreign_table, create_indexes, load_heap_table
from bench.many_files import DAY, FILES_IN_MANIFEST, MANIFESTS, ManyFiles
from bench.queries import DELETE_QUERIES, Q6, QUERIES, WEEK, Query, planning, point_lookup

ICEBERG_READERS = ["iceberg_fdw", "duckdb", "chdb"]
CONTENDERS = ["iceberg_fdw", "heap", "heap-parallel", "heap-index", "duckdb", "chdb"]

# How many seconds a peer may take to find the few files of a query among many.
PLANNING_PATIENCE = 600


@dataclass(frozen=True)
class Entry:
    """A reader and what it must find in its table; `results` has aggregates with the row that each must give."""

    reader: Witness
    answer: Answer
    results: Sequence[tuple[Query, tuple[Any, ...]]] = ()


@dataclass(frozen=True)
class Section:
    """What is asked of one table: the first reader is compared with the others; `cannot` has the refusals of peers."""

    key: str
    title: str
    queries: list[Query]
    entries: list[Entry]
    cannot: dict[str, str]
    # Whether times are shown too, and how many rounds are enough.
    shows_times: bool = False
    rounds: int | None = None

    @property
    def readers(self) -> list[Witness]:
        """Those that can read the table."""
        return [entry.reader for entry in self.entries]

    @property
    def table_rows(self) -> dict[str, int]:
        """How many rows each reader's table has."""
        return {entry.reader.name: entry.answer.rows for entry in self.entries}


def without_deletes(names: Sequence[str], dsn: str, generated: Generated) -> Section:
    """Every contender on the table without deletes, which each must read as a whole: an index is of no use for that."""
    names = [name for name in names if name != "heap-index"]
    if {"heap", "heap-parallel"} & set(names):
        load_heap_table(dsn, generated.metadata_file)
    readers = [reader_of(name, dsn, generated) for name in names]
    entries = [Entry(reader, generated.answer) for reader in readers]
    say_checking("the table without deletes")
    for entry in entries:
        require(entry)
    tables = [reader for reader in readers if isinstance(reader, PostgresTable)]
    for query in QUERIES:
        if query.aggregates and len({table.result(query) for table in tables}) > 1:
            raise SystemExit(f"error: {query.title} differs between {', '.join(table.name for table in tables)}")
    return Section("lineitem", "Without deletes", QUERIES, entries, {})


def selective(names: Sequence[str], dsn: str, plain: Generated, by_key: Generated) -> list[Section]:
    """Every contender on queries that want few of the rows, of the table by month and of that in the order of its key."""
    if any(name.startswith("heap") for name in names):
        load_heap_table(dsn, plain.metadata_file)
        create_indexes(dsn)
    if "iceberg_fdw" in names:
        create_foreign_table(dsn, by_key.table, by_key.directory)
    truth = DuckDB(plain.metadata_file)
    lookup = point_lookup(middle_order(truth))
    by_month = _selective("selective", "Selective queries, partitioned by month", [Q6, WEEK, lookup], names, dsn, plain)
    in_order = _selective("by-key", "Selective queries, in the order of the key", [lookup], names, dsn, by_key)
    return [by_month, in_order]


def _selective(
    key: str, title: str, queries: Sequence[Query], names: Sequence[str], dsn: str, generated: Generated
) -> Section:
    """All contenders must choose the same rows: those that DuckDB finds."""
    say_checking(title)
    truth = DuckDB(generated.metadata_file)
    readers = [reader_of(name, dsn, generated) for name in names]
    asked = []
    for query in queries:
        chosen = truth.answer(query.where)
        asked.append(query if query.aggregates else replace(query, rows=chosen.rows))
        for reader in readers:
            if (found := reader.answer(query.where)) != chosen:
                raise SystemExit(f"error: {reader.name} finds {found.rows:,} rows for {query.title}, not {chosen.rows:,}")
        if query.aggregates and len({reader.result(query) for reader in readers}) > 1:
            raise SystemExit(f"error: {query.title} differs between contenders")
    return Section(key, title, asked, [Entry(reader, generated.answer) for reader in readers], {})


def many_files(names: Sequence[str], dsn: str, table: ManyFiles) -> Section:
    """The readers of Iceberg on a table of very many files, of which a query needs a handful."""
    title = f"{MANIFESTS * FILES_IN_MANIFEST:,} files in {MANIFESTS:,} manifests, {table.layout.title}"
    if "iceberg_fdw" in names:
        create_foreign_table(dsn, table.layout.table, table.directory)
    make: dict[str, Callable[[], Witness]] = {
        "iceberg_fdw": lambda: postgres.foreign_table(dsn, table.layout.table),
        "duckdb": lambda: DuckDB(table.metadata_file, PLANNING_PATIENCE),
        "chdb": lambda: ChDB(table.directory),
    }
    queries = planning(DAY)
    say_checking(title)
    entries = []
    for name in names:
        if name in make:
            reader = make[name]()
            if (found := reader.result(queries[0])) != (table.rows,):
                raise SystemExit(f"error: {reader.name} finds {found} rows on {DAY}, not {table.rows}")
            entries.append(Entry(reader, Answer(table.rows, 0)))
    return Section(f"many-files-{table.layout.key}", title, queries, entries, {}, shows_times=True, rounds=3)


def middle_order(reader: DuckDB) -> int:
    """An order with a key from the middle of the table."""
    (row,) = reader.execute(
        f"SELECT max(l_orderkey) FROM {reader.table} "
        f"WHERE l_orderkey <= (SELECT max(l_orderkey) // 2 FROM {reader.table})"
    ).fetchall()
    return int(row[0])


def with_deletes(names: Sequence[str], dsn: str, plain: Generated, deleted: Deleted) -> Section:
    """The first contender that reads Iceberg with and without deletes, and its peers, which need not manage it."""
    first, *peers = [name for name in names if name in ICEBERG_READERS]
    if "iceberg_fdw" in names:
        create_foreign_table(dsn, deleted.generated.table, deleted.generated.directory)
    # The checksum reads all columns; these read some, perhaps not those by which rows are deleted.
    aggregates = [query for query in DELETE_QUERIES if query.aggregates]
    left = [(query, result_without_deleted_rows(plain.metadata_file, query)) for query in aggregates]

    def entry(name: str) -> Entry:
        return Entry(iceberg_reader(name, dsn, deleted.generated), deleted.generated.answer, left)

    ours = entry(first)
    same = Entry(iceberg_reader(first, dsn, plain), plain.answer)
    same.reader.name = "without deletes"
    say_checking(deleted.kind.title)
    require(ours)
    require(same)
    entries = [ours, same]
    cannot: dict[str, str] = {}
    for peer in map(entry, peers):
        if (reason := refusal(peer)) is None:
            entries.append(peer)
        else:
            cannot[peer.reader.name] = reason
    return Section(deleted.kind.key, f"With {deleted.title}", DELETE_QUERIES, entries, cannot)


def reader_of(name: str, dsn: str, generated: Generated) -> Witness:
    """The contender of this name, connected to this Iceberg table or to the heap table."""
    heaps: dict[str, Callable[[str], Witness]] = {
        "heap": postgres.heap,
        "heap-parallel": postgres.heap_parallel,
        "heap-index": postgres.heap_index,
    }
    return heaps[name](dsn) if name in heaps else iceberg_reader(name, dsn, generated)


def iceberg_reader(name: str, dsn: str, generated: Generated) -> Witness:
    """The contender of this name, connected to this Iceberg table."""
    make: dict[str, Callable[[], Witness]] = {
        "iceberg_fdw": lambda: postgres.foreign_table(dsn, generated.table),
        "duckdb": lambda: DuckDB(generated.metadata_file),
        "chdb": lambda: ChDB(generated.directory),
    }
    return make[name]()


def refusal(entry: Entry) -> str | None:
    """Why this reader has no place in the comparison: what it says, or how its rows are wrong."""
    try:
        found = entry.reader.answer()
        results = [(query, entry.reader.result(query), expected) for query, expected in entry.results]
    except CannotRead as error:
        return " ".join(str(error).split())
    if found.rows != entry.answer.rows:
        return f"finds {found.rows:,} rows, not {entry.answer.rows:,}"
    if found != entry.answer:
        return "finds as many rows as there are, but others"
    for query, result, expected in results:
        if result != expected:
            return f"finds {result}, not {expected}, as {query.title}"
    return None


def require(entry: Entry) -> None:
    """Ends the program unless this reader finds exactly the rows that there are."""
    if (reason := refusal(entry)) is not None:
        raise SystemExit(f"error: {entry.reader.name}: {reason}")


def say_checking(what: str) -> None:
    """Tells which table's answers are being compared."""
    print(f"Checking that every contender reads the same rows: {what}", file=sys.stderr)
