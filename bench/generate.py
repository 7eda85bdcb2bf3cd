"""Writes lineitem as an Iceberg table: DuckDB's dbgen makes the rows, PyIceberg appends them, a partition a month.

The table stands where a path catalog looks for it, `warehouse/tpch/lineitem`, and is made once per scale factor.
"""

import json
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform, MonthTransform, Transform

from bench import checksum
from bench.checksum import Answer
from bench.contenders import duckdb
from bench.lineitem import COLUMNS, KEY_COLUMN, NAMES, PARTITION_COLUMN

NAMESPACE = "tpch"
TABLE = "lineitem"

# The table in the order of its key, and how many rows each of its data files has.
BY_KEY = "lineitem_by_key"
ROWS_IN_FILE = 250_000


@dataclass(frozen=True)
class Generated:
    """Where the table is, which metadata file is its newest, and what every reader of it must find."""

    warehouse: Path
    metadata_file: Path
    answer: Answer
    table: str = TABLE

    @property
    def directory(self) -> Path:
        """The table's directory."""
        return self.warehouse / NAMESPACE / self.table


def generate(directory: Path, scale_factor: str) -> Generated:
    """Makes the table of this scale factor under `directory`, or finds the one that is there already.

    The file `answer.json` is written last: a directory without it holds a table that was not finished.
    """
    home = directory / f"sf-{scale_factor}"
    finished = home / "answer.json"
    if not finished.exists():
        print(f"Generating lineitem, scale factor {scale_factor}, in {home}", file=sys.stderr)
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        table, answer = _write(home / "warehouse", scale_factor)
        record = {"metadata_file": table.metadata_location.removeprefix("file://"), **asdict(answer)}
        finished.with_suffix(".new").write_text(json.dumps(record))
        finished.with_suffix(".new").rename(finished)
    record = json.loads(finished.read_text())
    return Generated(
        home / "warehouse", Path(record["metadata_file"]), Answer(int(record["rows"]), int(record["checksum"]))
    )


def generate_by_key(plain: Generated) -> Generated:
    """Makes the table of the same rows in the order of their key, without partitions, or finds it.

    The file `answer-by-key.json` is written last, as `generate` does.
    """
    home = plain.warehouse.parent
    finished = home / "answer-by-key.json"
    location = plain.warehouse / NAMESPACE / BY_KEY
    if not finished.exists():
        print(f"Generating {BY_KEY} in {location}", file=sys.stderr)
        shutil.rmtree(location, ignore_errors=True)
        table = create_table(plain.warehouse, BY_KEY, None)
        arrow_schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
        rows = duckdb.connect().execute(
            f"SELECT {', '.join(NAMES)} FROM {duckdb.iceberg_scan(plain.metadata_file)} ORDER BY {KEY_COLUMN}, l_linenumber"
        )
        batches = rows.to_arrow_reader(ROWS_IN_FILE)
        for batch in batches:
            table.append(pyarrow.Table.from_batches([batch]).cast(arrow_schema))
        record = {"metadata_file": table.metadata_location.removeprefix("file://"), **asdict(plain.answer)}
        finished.with_suffix(".new").write_text(json.dumps(record))
        finished.with_suffix(".new").rename(finished)
    metadata_file = Path(json.loads(finished.read_text())["metadata_file"])
    return Generated(plain.warehouse, metadata_file, plain.answer, BY_KEY)


def _write(warehouse: Path, scale_factor: str) -> tuple[Table, Answer]:
    connection = duckdb.connect()
    connection.execute(f"CALL dbgen(sf = {float(scale_factor)})")
    table = create_table(warehouse, TABLE, MonthTransform())
    arrow_schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    years = connection.execute(f"SELECT DISTINCT year({PARTITION_COLUMN}) FROM lineitem ORDER BY 1").fetchall()
    # A snapshot a year: memory holds a seventh of the table at a time.
    for (year,) in years:
        rows = connection.execute(
            f"SELECT {', '.join(NAMES)} FROM lineitem WHERE year({PARTITION_COLUMN}) = {year}"
        ).to_arrow_table()
        table.append(rows.cast(arrow_schema))
    rows, total = connection.execute(checksum.duckdb("lineitem")).fetchall()[0]
    return table, Answer(rows, int(total))


def create_table(warehouse: Path, name: str, transform: Transform[Any, Any] | None) -> Table:
    """A new table with the columns of lineitem, partitioned by this transform of the shipping date, or not at all."""
    catalog = InMemoryCatalog("bench", warehouse=f"file://{warehouse}")
    catalog.create_namespace(NAMESPACE)
    fields = [
        {"id": number, "name": column.name, "type": column.iceberg, "required": False}
        for number, column in enumerate(COLUMNS, start=1)
    ]
    schema = Schema.model_validate({"type": "struct", "schema-id": 0, "fields": fields})
    spec = UNPARTITIONED_PARTITION_SPEC
    if transform is not None:
        source_id = schema.find_field(PARTITION_COLUMN).field_id
        # The name that Iceberg Java and Spark give such a field.
        suffix = "" if isinstance(transform, IdentityTransform) else f"_{transform}"
        spec = PartitionSpec(
            PartitionField(source_id=source_id, field_id=1000, transform=transform, name=PARTITION_COLUMN + suffix)
        )
    return catalog.create_table(
        (NAMESPACE, name),
        schema=schema,
        location=f"file://{warehouse / NAMESPACE / name}",
        partition_spec=spec,
    )
