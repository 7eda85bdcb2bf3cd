"""The program behind `make bench`: generates, loads, checks, measures, reports. Started by scripts/bench, which
sets up the server and names it in the environment."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psycopg

from bench.contenders import chdb, postgres
from bench.contenders.chdb import ChDB
from bench.contenders.duckdb import DuckDB
from bench.contenders.postgres import PostgresTable
from bench.generate import Generated, generate
from bench.load import create_foreign_table, load_heap_table
from bench.measure import Measurement, measure
from bench.queries import QUERIES
from bench.report import report

CONTENDERS = ["iceberg_fdw", "heap", "heap-parallel", "duckdb", "chdb"]

Reader = PostgresTable | DuckDB | ChDB


@dataclass(frozen=True)
class Arguments:
    """What the command line says."""

    directory: Path
    scale_factor: str
    runs: int
    contenders: list[str]
    dsn: str


def arguments() -> Arguments:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="where the table and the results are kept")
    parser.add_argument("--dsn", required=True, help="connects to a database in which tables may be created")
    parser.add_argument("--scale-factor", default="1", help="of TPC-H: 1 is six million rows")
    parser.add_argument("--runs", type=int, default=5, help="rounds that count, after one that does not")
    parser.add_argument(
        "--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS, help="the first is compared with the others"
    )
    given = parser.parse_args()
    if given.runs < 1 or len(given.contenders) < 2:
        parser.error("at least one run and two contenders are needed")
    return Arguments(given.directory.resolve(), given.scale_factor, given.runs, given.contenders, given.dsn)


def connect(names: Sequence[str], dsn: str, generated: Generated) -> list[Reader]:
    """Lays out the tables that these contenders read and connects each contender."""
    if "iceberg_fdw" in names:
        create_foreign_table(dsn, generated.warehouse, generated.directory)
    if {"heap", "heap-parallel"} & set(names):
        load_heap_table(dsn, generated.metadata_file)
    make: dict[str, Callable[[], Reader]] = {
        "iceberg_fdw": lambda: postgres.foreign_table(dsn),
        "heap": lambda: postgres.heap(dsn),
        "heap-parallel": lambda: postgres.heap_parallel(dsn),
        "duckdb": lambda: DuckDB(generated.metadata_file),
        "chdb": lambda: ChDB(generated.directory),
    }
    return [make[name]() for name in names]


def check(readers: Sequence[Reader], generated: Generated) -> None:
    """Every contender finds exactly the rows that were generated, and those in Postgres aggregate them alike."""
    print("Checking that every contender reads the same rows", file=sys.stderr)
    for reader in readers:
        if (found := reader.answer()) != generated.answer:
            raise SystemExit(f"error: {reader.name} finds {found}, generated were {generated.answer}")
    tables = [reader for reader in readers if isinstance(reader, PostgresTable)]
    for query in QUERIES:
        if query.aggregates and len({table.result(query) for table in tables}) > 1:
            raise SystemExit(f"error: {query.title} differs between {', '.join(table.name for table in tables)}")


def facts(given: Arguments, generated: Generated) -> dict[str, str]:
    """The conditions under which was measured."""
    with psycopg.connect(given.dsn) as connection:
        shown = {
            name: connection.execute("SELECT current_setting(%s)", [name]).fetchall()[0][0]
            for name in ("server_version", "shared_buffers", "max_parallel_workers_per_gather", "jit")
        }
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "machine": f"{len(os.sched_getaffinity(0))} cores ({platform.machine()}), {memory:.0f} GB of memory, "
        "all data in memory (warm cache)",
        "table": f"TPC-H lineitem, scale factor {given.scale_factor}: {generated.answer.rows:,} rows, 16 columns, "
        f"partitioned by month, written by PyIceberg {version('pyiceberg')} with its defaults",
        "Postgres": f"{shown['server_version']}, shared_buffers {shown['shared_buffers']}, jit {shown['jit']}, "
        f"max_parallel_workers_per_gather {shown['max_parallel_workers_per_gather']} where parallel",
        "DuckDB": version("duckdb"),
        "chDB": chdb.version(),
        "measured": f"contenders in turn, median of the rounds ({given.runs}) after one warm-up; "
        "below 1: the first contender is faster",
    }


def keep(
    directory: Path,
    measurements: Sequence[Measurement],
    conditions: dict[str, str],
    text: str,
    readers: Sequence[Reader],
) -> Path:
    """Writes the report, the raw seconds and the plans of the Postgres tables into a new directory of results."""
    results = directory / "results" / datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    results.mkdir(parents=True)
    (results / "report.md").write_text(text)
    raw = [
        {"query": each.query.key, "title": each.query.title, "contender": each.contender, "seconds": each.seconds}
        for each in measurements
    ]
    (results / "raw.json").write_text(json.dumps({"conditions": conditions, "measurements": raw}, indent=1))
    for reader in readers:
        if isinstance(reader, PostgresTable):
            plans = "\n\n".join(f"-- {query.title}\n{reader.explain(query)}" for query in QUERIES)
            (results / f"explain-{reader.name.replace(', ', '-')}.txt").write_text(plans + "\n")
    return results


def main() -> None:
    """Runs the benchmark and prints the report."""
    given = arguments()
    given.directory.mkdir(parents=True, exist_ok=True)
    # chDB reads nothing that is not below the directory in which the process runs.
    os.chdir(given.directory)
    generated = generate(given.directory, given.scale_factor)
    readers = connect(given.contenders, given.dsn, generated)
    check(readers, generated)
    conditions = facts(given, generated)
    measurements = measure(
        QUERIES,
        readers,
        generated.answer.rows,
        given.runs,
        announce=lambda title: print(f"Measuring: {title}", file=sys.stderr),
    )
    text = report(measurements, [reader.name for reader in readers], conditions)
    results = keep(given.directory, measurements, conditions, text, readers)
    print(text)
    print(f"Seconds, plans and this report: {results}", file=sys.stderr)


if __name__ == "__main__":
    main()
