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
from functools import partial
from importlib.metadata import version
from pathlib import Path

import psycopg

from bench import sections
from bench.contenders import chdb
from bench.contenders.postgres import PostgresTable
from bench.deletes import DELETE_KINDS, DELETED, ICEBERG_JAVA, Deleted, generate_with_deletes
from bench.generate import TABLE, Generated, generate, generate_by_key
from bench.load import create_foreign_table, create_server
from bench.many_files import FILES_OF_DAY, LAYOUTS, generate_many_files
from bench.measure import Measurement, measure
from bench.report import Part, report
from bench.sections import CONTENDERS, ICEBERG_READERS, Section

SELECTIVE = "selective"
MANY_FILES = "many-files"
TABLES = [TABLE, SELECTIVE, MANY_FILES, *(kind.key for kind in DELETE_KINDS)]


@dataclass(frozen=True)
class Arguments:
    """What the command line says."""

    directory: Path
    scale_factor: str
    runs: int
    contenders: list[str]
    tables: list[str]
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
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES, help="those to measure")
    given = parser.parse_args()
    if given.runs < 1 or len(given.contenders) < 2:
        parser.error("at least one run and two contenders are needed")
    if not set(given.tables) <= {TABLE, SELECTIVE} and not set(given.contenders) & set(ICEBERG_READERS):
        parser.error(f"only lineitem is a heap table too: --tables {TABLE}, or name one of {ICEBERG_READERS}")
    return Arguments(
        given.directory.resolve(), given.scale_factor, given.runs, given.contenders, given.tables, given.dsn
    )


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
        "selective queries": "as above, and the same rows unpartitioned in the order of l_orderkey, 250,000 in a file; the "
        "heap table is analyzed, its indexes are on l_orderkey and l_shipdate",
        "many files": "format version 2, partitioned by day, statistics of all 16 columns, deflate; all but "
        f"{FILES_OF_DAY} files, which the query needs, are in metadata only",
        "deletes": f"the same data files, the rows with {DELETED} deleted by Iceberg Java {ICEBERG_JAVA}",
        "Postgres": f"{shown['server_version']}, shared_buffers {shown['shared_buffers']}, jit {shown['jit']}, "
        f"max_parallel_workers_per_gather {shown['max_parallel_workers_per_gather']} where parallel",
        "DuckDB": version("duckdb"),
        "chDB": chdb.version(),
        "measured": f"contenders in turn, median of the rounds ({given.runs}) after one warm-up; "
        "below 1: the first contender is faster",
    }


def keep(
    directory: Path, measured: Sequence[tuple[Section, list[Measurement]]], conditions: dict[str, str], text: str
) -> Path:
    """Writes the report, the raw seconds and the plans of the Postgres tables into a new directory of results."""
    results = directory / "results" / datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    results.mkdir(parents=True)
    (results / "report.md").write_text(text)
    raw = [
        {
            "table": section.key,
            "query": each.query.key,
            "title": each.query.title,
            "contender": each.contender,
            "seconds": each.seconds,
        }
        for section, measurements in measured
        for each in measurements
    ]
    refused = {section.key: section.cannot for section, _ in measured if section.cannot}
    record = {"conditions": conditions, "measurements": raw, "cannot": refused}
    (results / "raw.json").write_text(json.dumps(record, indent=1))
    for section, _ in measured:
        for reader in section.readers:
            if isinstance(reader, PostgresTable):
                plans = "\n\n".join(f"-- {query.title}\n{reader.explain(query)}" for query in section.queries)
                name = "-".join(f"{section.key} {reader.name}".replace(",", "").split())
                (results / f"explain-{name}.txt").write_text(plans + "\n")
    return results


def set_up(given: Arguments, plain: Generated) -> list[Callable[[], list[Section]]]:
    """Generates what is missing and returns how to make the sections, in their order."""
    if "iceberg_fdw" in given.contenders:
        create_server(given.dsn, plain.warehouse)
        create_foreign_table(given.dsn, plain.table, plain.directory)
    steps: list[Callable[[], list[Section]]] = []
    if TABLE in given.tables:
        steps.append(lambda: [sections.without_deletes(given.contenders, given.dsn, plain)])
    if SELECTIVE in given.tables:
        by_key = generate_by_key(plain)
        steps.append(lambda: sections.selective(given.contenders, given.dsn, plain, by_key))
    if MANY_FILES in given.tables:
        many = [generate_many_files(given.directory, layout) for layout in LAYOUTS]
        steps.append(lambda: [sections.many_files(given.contenders, given.dsn, table) for table in many])
    for kind in DELETE_KINDS:
        if kind.key in given.tables:
            deleted = generate_with_deletes(plain, kind)
            steps.append(partial(with_deletes, given, plain, deleted))
    return steps


def with_deletes(given: Arguments, plain: Generated, deleted: Deleted) -> list[Section]:
    """The section of one table with deletes."""
    return [sections.with_deletes(given.contenders, given.dsn, plain, deleted)]


def say_measuring(section: Section, title: str) -> None:
    """Tells what is being measured."""
    print(f"Measuring {section.key}: {title}", file=sys.stderr)


def main() -> None:
    """Runs the benchmark and prints the report."""
    given = arguments()
    given.directory.mkdir(parents=True, exist_ok=True)
    # chDB reads nothing that is not below the directory in which the process runs.
    os.chdir(given.directory)
    plain = generate(given.directory, given.scale_factor)
    measured: list[tuple[Section, list[Measurement]]] = []
    for section in (section for step in set_up(given, plain) for section in step()):
        measurements = measure(
            section.queries,
            section.readers,
            section.table_rows,
            min(given.runs, section.rounds or given.runs),
            announce=partial(say_measuring, section),
        )
        measured.append((section, measurements))
    conditions = facts(given, plain)
    parts = [
        Part(
            section.title,
            measurements,
            [reader.name for reader in section.readers],
            section.cannot,
            section.shows_times,
        )
        for section, measurements in measured
    ]
    text = report(parts, conditions)
    results = keep(given.directory, measured, conditions, text)
    print(text)
    print(f"Seconds, plans and this report: {results}", file=sys.stderr)


if __name__ == "__main__":
    main()
