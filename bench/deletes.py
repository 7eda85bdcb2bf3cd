"""lineitem with one row in a hundred deleted, in each way that Iceberg knows.

The data files are hard links to those of the table without deletes: only the deletes make a difference. Iceberg Java
writes them (see `spark.py`), DuckDB tells which rows are left. Iceberg specification, section "Row-level Deletes".
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

from bench import checksum
from bench.checksum import Answer
from bench.contenders import duckdb
from bench.generate import NAMESPACE, TABLE, Generated
from bench.queries import Query

# The version of Iceberg Java that writes the deletes.
ICEBERG_JAVA = "1.10.2"

# Order keys are spread over all months, hence over all partitions and data files.
DELETED = "l_orderkey % 100 = 7"

# The primary key of lineitem.
EQUALITY_COLUMNS = ["l_orderkey", "l_linenumber"]


@dataclass(frozen=True)
class DeleteKind:
    """A way to delete rows; `content` and `file_format` are what manifests say about its delete files."""

    key: str
    title: str
    format_version: int
    content: int
    file_format: str

    @property
    def table(self) -> str:
        """The name of the table whose rows were deleted in this way."""
        return f"{TABLE}_{self.key.replace('-', '_')}"


DELETE_KINDS = [
    DeleteKind("position-deletes", "position deletes", 2, 1, "PARQUET"),
    DeleteKind("deletion-vectors", "deletion vectors", 3, 1, "PUFFIN"),
    DeleteKind("equality-deletes", f"equality deletes on {' and '.join(EQUALITY_COLUMNS)}", 2, 2, "PARQUET"),
]


@dataclass(frozen=True)
class Deleted:
    """A table with deletes: how many files hold them and how many rows they delete."""

    kind: DeleteKind
    generated: Generated
    delete_files: int
    deleted_rows: int

    @property
    def title(self) -> str:
        """What the table holds, for the report."""
        return (
            f"{self.kind.title} (format version {self.kind.format_version}, "
            f"{self.deleted_rows:,} rows in {self.delete_files} delete files)"
        )


def generate_with_deletes(plain: Generated, kind: DeleteKind) -> Deleted:
    """Makes the table beside the one without deletes, or finds the one that is there already.

    The file `answer-….json` is written last, as `generate` does.
    """
    home = plain.warehouse.parent
    finished = home / f"answer-{kind.key}.json"
    if not finished.exists():
        directory = plain.warehouse / NAMESPACE / kind.table
        print(f"Generating {kind.table} in {directory}", file=sys.stderr)
        rmtree(directory, ignore_errors=True)
        record = _write(plain, kind, home)
        answer = answer_without_deleted_rows(plain.metadata_file)
        if answer.rows != plain.answer.rows - int(record["deleted_rows"]):
            raise SystemExit(f"error: Iceberg Java deletes {record['deleted_rows']} rows, DuckDB leaves {answer.rows}")
        finished.with_suffix(".new").write_text(json.dumps({**record, **asdict(answer)}))
        finished.with_suffix(".new").rename(finished)
    record = json.loads(finished.read_text())
    generated = Generated(
        plain.warehouse,
        Path(record["metadata_file"]),
        Answer(int(record["rows"]), int(record["checksum"])),
        kind.table,
    )
    return Deleted(kind, generated, int(record["delete_files"]), int(record["deleted_rows"]))


def answer_without_deleted_rows(metadata_file: Path) -> Answer:
    """What is left of the table without deletes when the rows are left out by a condition."""
    rows, total = duckdb.connect().execute(checksum.duckdb(_left(metadata_file))).fetchall()[0]
    return Answer(rows, int(total))


def result_without_deleted_rows(metadata_file: Path, query: Query) -> tuple[Any, ...]:
    """The only row of an aggregate over what is left."""
    (row,) = duckdb.connect().execute(query.select_from(_left(metadata_file))).fetchall()
    return tuple(row)


def _left(metadata_file: Path) -> str:
    return f"(SELECT * FROM {duckdb.iceberg_scan(metadata_file)} WHERE NOT ({DELETED}))"


def _write(plain: Generated, kind: DeleteKind, home: Path) -> dict[str, str | int]:
    """Runs the writer in a process of its own: its virtual machine must be gone before anything is measured."""
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        result = Path(scratch) / "result.json"
        command = [sys.executable, "-m", "bench.spark", "--kind", kind.key, "--result", str(result)]
        command += ["--warehouse", str(plain.warehouse), "--plain", str(plain.metadata_file), "--scratch", scratch]
        # Jars are downloaded once for all scale factors.
        if subprocess.run([*command, "--ivy", str(home.parent / "ivy")], cwd=scratch).returncode != 0:
            raise SystemExit(f"error: Spark did not write {kind.table}; it needs Java 17 (scripts/setup --with-java)")
        record: dict[str, str | int] = json.loads(result.read_text())
    return record
