"""Tables of 100,000 data files in 1,000 manifests, for how long it takes to find the few files that a query needs.

Only the partition that is asked for has data files, a handful of tiny ones that PyIceberg wrote; of all others there
is only what manifests say: full statistics of all 16 columns. Iceberg specification, section "Scan Planning".
"""

import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from pyiceberg.conversions import to_bytes
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, SnapshotLogEntry, Summary
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record

from bench.contenders import duckdb
from bench.generate import NAMESPACE, create_table
from bench.lineitem import NAMES, PARTITION_COLUMN

MANIFESTS = 1_000
FILES_IN_MANIFEST = 100

# The partition that is asked for, and how many data files it has.
DAY = date(1995, 6, 17)
FILES_OF_DAY = 5

# How many entries stand in one Avro block: some 64 KB of them, as with Avro's own writers.
ENTRIES_IN_BLOCK = 90

# How many days a table covers, the one that is asked for in the middle.
DAYS = {"day": MANIFESTS, "mixed": FILES_IN_MANIFEST}

INSTRUCTIONS = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"]
MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]


@dataclass(frozen=True)
class Layout:
    """How files are spread over manifests."""

    key: str
    title: str

    @property
    def table(self) -> str:
        """The name of the table."""
        return f"many_files_{self.key}"


LAYOUTS = [
    Layout("day", "each manifest has the files of a day"),
    Layout("mixed", "each manifest has files of every day"),
]


@dataclass(frozen=True)
class ManyFiles:
    """A table: where it is, its newest metadata file, and how many rows the partition has that is asked for."""

    layout: Layout
    directory: Path
    metadata_file: Path
    rows: int


class BlockWriter(ManifestWriterV2):
    """Writes entries in blocks of a size that other writers make; PyIceberg itself makes a block of each."""

    def add_entries(self, entries: Iterable[ManifestEntry]) -> None:
        """Adds these entries, which must be all."""
        sink, prepared = self._writer, Collected()
        self._writer = prepared  # type: ignore[assignment]
        for entry in entries:
            self.add_entry(entry)
        self._writer = sink
        for start in range(0, len(prepared.entries), ENTRIES_IN_BLOCK):
            sink.write_block(prepared.entries[start : start + ENTRIES_IN_BLOCK])


class Collected:
    """Stands for the file while entries are prepared."""

    def __init__(self) -> None:
        self.entries: list[ManifestEntry] = []

    def write_block(self, entries: list[ManifestEntry]) -> None:
        """Keeps the entries."""
        self.entries += entries


def generate_many_files(directory: Path, layout: Layout) -> ManyFiles:
    """Makes the table under `directory`, or finds the one that is there already.

    The file `answer-….json` is written last, as `generate` does.
    """
    home = directory / "many-files"
    finished = home / f"answer-{layout.key}.json"
    warehouse = home / "warehouse"
    location = warehouse / NAMESPACE / layout.table
    if not finished.exists():
        print(f"Generating {layout.table} in {location}", file=sys.stderr)
        shutil.rmtree(location, ignore_errors=True)
        warehouse.mkdir(parents=True, exist_ok=True)
        table, rows = _with_real_files(warehouse, layout)
        metadata_file = _commit(table, layout)
        finished.with_suffix(".new").write_text(json.dumps({"metadata_file": metadata_file, "rows": rows}))
        finished.with_suffix(".new").rename(finished)
    record = json.loads(finished.read_text())
    return ManyFiles(layout, location, Path(record["metadata_file"]), int(record["rows"]))


def days_of(layout: Layout, manifest: int) -> list[date]:
    """The partition of each file of a manifest, in order; those of the day that is asked for come to FILES_OF_DAY."""
    count = DAYS[layout.key]
    first = DAY - timedelta(days=count // 2)
    if layout.key == "day":
        days = [first + timedelta(days=manifest)] * FILES_IN_MANIFEST
        keep = range(FILES_OF_DAY)
    else:
        days = [first + timedelta(days=number % count) for number in range(FILES_IN_MANIFEST)]
        every = MANIFESTS // FILES_OF_DAY
        keep = range(FILES_IN_MANIFEST) if manifest % every == every // 2 else range(0)
    # Where there would be more files of that day, the day before has them.
    return [
        DAY - timedelta(days=1) if day == DAY and number not in keep else day for number, day in enumerate(days)
    ]


def _with_real_files(warehouse: Path, layout: Layout) -> tuple[Table, int]:
    """The table with nothing but the files of the day that is asked for, and how many rows they have."""
    connection = duckdb.connect()
    connection.execute("CALL dbgen(sf = 0.1)")
    rows = connection.execute(
        f"SELECT {', '.join(NAMES)} FROM lineitem WHERE {PARTITION_COLUMN} = DATE '{DAY}'"
    ).to_arrow_table()
    table = create_table(warehouse, layout.table, IdentityTransform())
    arrow_schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    for part in range(FILES_OF_DAY):
        some = rows.take(list(range(part, rows.num_rows, FILES_OF_DAY)))
        table.append(some.cast(arrow_schema))
    return table, rows.num_rows


def _real_files(table: Table) -> Iterator[DataFile]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    for manifest in snapshot.manifests(table.io):
        for entry in manifest.fetch_manifest_entry(table.io):
            yield entry.data_file


def _commit(table: Table, layout: Layout) -> str:
    """Adds the snapshot of all files to the table and returns the name of the metadata file that says so."""
    random = Random(layout.key)
    real = _real_files(table)
    manifests = [
        _write_manifest(table, number, [_file(table, random, day, real) for day in days_of(layout, number)])
        for number in range(MANIFESTS)
    ]
    if next(real, None) is not None:
        raise SystemExit(f"error: not every data file of {layout.table} found its place in a manifest")
    metadata = table.metadata
    sequence_number, snapshot_id = MANIFESTS, MANIFESTS
    list_path = f"{table.location()}/metadata/snap-{snapshot_id}-0-{_uuid(random)}.avro"
    with write_manifest_list(
        2, table.io.new_output(list_path), snapshot_id, snapshot_id - 1, sequence_number, "deflate"
    ) as writer:
        writer.add_manifests(manifests)
    timestamp_ms = metadata.last_updated_ms + 1
    snapshot = Snapshot(
        snapshot_id=snapshot_id,
        sequence_number=sequence_number,
        timestamp_ms=timestamp_ms,
        manifest_list=list_path,
        summary=Summary(Operation.APPEND, **{"total-data-files": str(MANIFESTS * FILES_IN_MANIFEST)}),
        schema_id=metadata.current_schema_id,
    )
    newest = metadata.model_copy(
        update={
            "snapshots": [snapshot],
            "current_snapshot_id": snapshot_id,
            "last_sequence_number": sequence_number,
            "last_updated_ms": timestamp_ms,
            "refs": {"main": SnapshotRef(snapshot_id=snapshot_id, snapshot_ref_type=SnapshotRefType.BRANCH)},
            "snapshot_log": [SnapshotLogEntry(snapshot_id=snapshot_id, timestamp_ms=timestamp_ms)],
        }
    )
    metadata_path = f"{table.location()}/metadata/{FILES_OF_DAY + 1:05}-{_uuid(random)}.metadata.json"
    ToOutputFile.table_metadata(newest, table.io.new_output(metadata_path))
    return metadata_path.removeprefix("file://")


def _write_manifest(table: Table, number: int, files: list[DataFile]) -> ManifestFile:
    """Writes the manifest of one commit, whose snapshot id and sequence number are both `number + 1`."""
    commit = number + 1
    path = f"{table.location()}/metadata/{_uuid(Random(number))}-m0.avro"
    with BlockWriter(table.spec(), table.schema(), table.io.new_output(path), commit, "deflate") as writer:
        writer.add_entries(
            ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=commit, data_file=file)
            for file in files
        )
    manifest = copy(writer.to_manifest_file())
    manifest.sequence_number = commit
    manifest.min_sequence_number = commit
    return manifest


def _file(table: Table, random: Random, day: date, real: Iterator[DataFile]) -> DataFile:
    """The next real file for the day that is asked for; for any other, what would be said of a file of that day."""
    if day == DAY:
        return next(real)
    rows = random.randrange(500_000, 2_000_000)
    sizes = {number: random.randrange(100_000, 9_000_000) for number in range(1, len(NAMES) + 1)}
    lower, upper = _bounds(table, random, day)
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{table.location()}/data/l_shipdate={day}/00000-0-{_uuid(random)}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record((day - date(1970, 1, 1)).days),
        record_count=rows,
        file_size_in_bytes=sum(sizes.values()) + 20_000,
        column_sizes=sizes,
        value_counts=dict.fromkeys(sizes, rows),
        null_value_counts=dict.fromkeys(sizes, 0),
        nan_value_counts={},
        lower_bounds=lower,
        upper_bounds=upper,
        key_metadata=None,
        split_offsets=[4],
        equality_ids=None,
        sort_order_id=None,
    )


def _bounds(table: Table, random: Random, day: date) -> tuple[dict[int, bytes], dict[int, bytes]]:
    """Bounds as lineitem has them: keys and comments of their own, few flags, days near that of shipping."""
    order = random.randrange(6_000_000_000)
    bounds: dict[str, tuple[Any, Any]] = {
        "l_orderkey": (order, order + random.randrange(1_000_000_000)),
        "l_partkey": (random.randrange(1_000), 200_000_000 - random.randrange(1_000)),
        "l_suppkey": (random.randrange(100), 10_000_000 - random.randrange(100)),
        "l_linenumber": (1, 7),
        "l_quantity": (_money(100), _money(5_000)),
        "l_extendedprice": (_money(90_000 + random.randrange(900)), _money(10_490_000 + random.randrange(4_000))),
        "l_discount": (_money(0), _money(10)),
        "l_tax": (_money(0), _money(8)),
        "l_returnflag": ("A", "R"),
        "l_linestatus": ("F", "O"),
        "l_shipdate": (day, day),
        "l_commitdate": (day - timedelta(days=90), day + timedelta(days=90)),
        "l_receiptdate": (day + timedelta(days=1), day + timedelta(days=30)),
        "l_shipinstruct": (INSTRUCTIONS[0], INSTRUCTIONS[-1]),
        "l_shipmode": (MODES[0], MODES[-1]),
        "l_comment": (f" Tiresias about t{_letters(random)}"[:16], f"zzle? slyly {_letters(random)}"[:16]),
    }
    fields = table.schema().fields
    sides = [{field.field_id: to_bytes(field.field_type, bounds[field.name][side]) for field in fields} for side in (0, 1)]
    return sides[0], sides[1]


def _money(cents: int) -> Decimal:
    return Decimal(cents).scaleb(-2)


def _letters(random: Random) -> str:
    return "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=4))


def _uuid(random: Random) -> UUID:
    return UUID(int=random.getrandbits(128), version=4)
