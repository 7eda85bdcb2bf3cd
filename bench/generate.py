"""Writes lineitem as an Iceberg table: DuckDB's dbgen makes the rows, PyIceberg appends them, a partition a month.

The table stands where a path catalog looks for it, `warehouse/tpch/lineitem`, and is made once per scale factor.
"""

import json
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import MonthTransform

from bench import checksum
from bench.checksum import Answer
from bench.contenders import duckdb
from bench.lineitem import COLUMNS, NAMES, PARTITION_COLUMN

NAMESPACE = "tpch"
TABLE = "lineitem"


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


def _write(warehouse: Path, scale_factor: str) -> tuple[Table, Answer]:
    connection = duckdb.connect()
    connection.execute(f"CALL dbgen(sf = {float(scale_factor)})")
    table = _create(warehouse)
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


def _create(warehouse: Path) -> Table:
    location = warehouse / NAMESPACE / TABLE
    catalog = InMemoryCatalog("bench", warehouse=f"file://{warehouse}")
    catalog.create_namespace(NAMESPACE)
    fields = [
        {"id": number, "name": column.name, "type": column.iceberg, "required": False}
        for number, column in enumerate(COLUMNS, start=1)
    ]
    schema = Schema.model_validate({"type": "struct", "schema-id": 0, "fields": fields})
    month = PartitionField(
        source_id=schema.find_field(PARTITION_COLUMN).field_id,
        field_id=1000,
        transform=MonthTransform(),
        name=f"{PARTITION_COLUMN}_month",
    )
    return catalog.create_table(
        (NAMESPACE, TABLE), schema=schema, location=f"file://{location}", partition_spec=PartitionSpec(month)
    )
