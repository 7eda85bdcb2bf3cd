"""Writes the seeds: tiny valid files of every kind, stored plainly so that a changed byte changes a value.

    pip install pyarrow fastavro cramjam && python write.py
"""

import datetime
import decimal
import gzip
import json
import pathlib
import struct

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
TESTDATA = HERE.parent.parent / "src/core/spec/testdata"


def write(target, name, content):
    directory = HERE / target
    directory.mkdir(exist_ok=True)
    (directory / name).write_bytes(content)


def field(field_id, name, arrow_type, nullable=True):
    return pa.field(name, arrow_type, nullable, {"PARQUET:field_id": str(field_id)})


def parquet(path, schema, rows, **options):
    path.parent.mkdir(exist_ok=True)
    options = {"compression": "none", "store_schema": False, "write_statistics": False} | options
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, **options)


# The data file that deletes are applied to: its schema is in src/deletes.rs.
INNER = pa.struct([field(6, "dt", pa.date32())])
DATA = pa.schema(
    [
        field(1, "id", pa.int64(), False),
        field(2, "s", pa.string()),
        field(3, "f", pa.float64()),
        field(4, "dec", pa.decimal128(9, 2)),
        field(5, "inner", INNER),
    ]
)


def data_row(number):
    return {
        "id": number,
        "s": None if number % 5 == 0 else f"s{number}",
        "f": float("nan") if number % 7 == 0 else number / 2,
        "dec": decimal.Decimal(number) / 4,
        "inner": None if number % 6 == 0 else {"dt": datetime.date.fromordinal(719163 + number)},
    }


parquet(HERE / "data.parquet", DATA, [data_row(number) for number in range(20)], row_group_size=12)

# Position deletes and equality deletes.
POSITIONS = pa.schema(
    [
        field(2147483546, "file_path", pa.string(), False),
        field(2147483545, "pos", pa.int64(), False),
    ]
)
ROWS = [
    {"file_path": path, "pos": position}
    for path, positions in [("another.parquet", [0]), ("data.parquet", [0, 3, 13, 1 << 40])]
    for position in positions
]
KEYS = pa.schema([DATA.field(1), DATA.field(2), DATA.field(3), DATA.field(4)])
KEY_ROWS = [{key: data_row(number)[key] for key in KEYS.names} for number in [0, 7, 12, 99]]
DELTA = {"use_dictionary": False, "column_encoding": {"file_path": "DELTA_BYTE_ARRAY", "pos": "DELTA_BINARY_PACKED"}}
for name, options in {
    "dictionary": {},
    "plain": {"use_dictionary": False},
    "delta": DELTA,
    "page_v2": {"data_page_version": "2.0"},
    "snappy": {"compression": "snappy"},
    "row_groups": {"row_group_size": 2, "use_dictionary": False},
}.items():
    parquet(HERE / "position_deletes" / f"{name}.parquet", POSITIONS, ROWS, **options)
    if name != "delta":
        parquet(HERE / "equality_deletes" / f"{name}.parquet", KEYS, KEY_ROWS, **options)

# Data files: the schemas are in src/data_files.rs.
UTC = datetime.timezone.utc
PRIMITIVES = pa.schema(
    [
        field(1, "id", pa.int32(), False),
        field(2, "bool", pa.bool_()),
        field(3, "i", pa.int32()),
        field(4, "l", pa.int64()),
        field(5, "f", pa.float32()),
        field(6, "d", pa.float64()),
        field(7, "dec9", pa.decimal128(9, 2)),
        field(8, "dec18", pa.decimal128(18, 4)),
        field(9, "dec38", pa.decimal128(38, 10)),
        field(10, "dt", pa.date32()),
        field(11, "tm", pa.time64("us")),
        field(12, "ts", pa.timestamp("us")),
        field(13, "tz", pa.timestamp("us", "UTC")),
        field(14, "s", pa.string()),
        field(15, "u", pa.binary(16)),
        field(16, "fx", pa.binary(4)),
        field(17, "bin", pa.binary()),
    ]
)


def primitive_row(number):
    if number == 2:
        return {"id": number}
    return {
        "id": number,
        "bool": number % 2 == 0,
        "i": -number,
        "l": number << 40,
        "f": number / 4,
        "d": -number / 8,
        "dec9": decimal.Decimal("1.25"),
        "dec18": decimal.Decimal("-1.2345"),
        "dec38": decimal.Decimal(10**20),
        "dt": datetime.date(1969, 12, 31),
        "tm": datetime.time(12, 34, 56, 7),
        "ts": datetime.datetime(1969, 12, 31, 23, 59, 59),
        "tz": datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC),
        "s": "text " * number,
        "u": bytes(range(16)),
        "fx": b"abcd",
        "bin": b"\0\xff" * number,
    }


NESTED = pa.schema(
    [
        field(1, "id", pa.int32(), False),
        field(
            2,
            "m",
            pa.map_(
                field(6, "key", pa.string(), False),
                field(
                    7,
                    "value",
                    pa.struct([field(8, "x", pa.int32(), False), field(9, "y", pa.list_(field(10, "element", pa.string())))]),
                ),
            ),
        ),
        field(3, "ll", pa.list_(field(11, "element", pa.list_(field(12, "element", pa.int32(), False))))),
        field(4, "s", pa.struct([field(13, "a", pa.struct([field(14, "b", pa.decimal128(20, 3))]))])),
        field(5, "mi", pa.map_(field(15, "key", pa.int32(), False), field(16, "value", pa.timestamp("us", "UTC")))),
    ]
)
NESTED_ROWS = [
    {
        "id": 1,
        "m": [("a", {"x": 1, "y": ["p", None]}), ("b", None)],
        "ll": [[1, 2], None, []],
        "s": {"a": {"b": decimal.Decimal("7.125")}},
        "mi": [(3, datetime.datetime(2024, 1, 1, tzinfo=UTC)), (4, None)],
    },
    {"id": 2},
    {"id": 3, "m": [], "ll": [], "s": {"a": None}, "mi": []},
]
PRIMITIVE_ROWS = [primitive_row(number) for number in range(4)]
NO_DICTIONARY = {"use_dictionary": False}
for name, options in {
    "dictionary": {},
    "plain": NO_DICTIONARY,
    "page_v2": NO_DICTIONARY | {"data_page_version": "2.0"},
    "int96": NO_DICTIONARY | {"use_deprecated_int96_timestamps": True},
    "delta": NO_DICTIONARY
    | {
        "column_encoding": {
            "i": "DELTA_BINARY_PACKED",
            "l": "DELTA_BINARY_PACKED",
            "s": "DELTA_BYTE_ARRAY",
            "bin": "DELTA_LENGTH_BYTE_ARRAY",
            "d": "BYTE_STREAM_SPLIT",
            "f": "BYTE_STREAM_SPLIT",
        }
    },
    "zstd": {"compression": "zstd"},
    "two_row_groups": NO_DICTIONARY | {"row_group_size": 2},
}.items():
    parquet(HERE / "parquet_file" / f"primitive_{name}.parquet", PRIMITIVES, PRIMITIVE_ROWS, **options)
for name, options in {"dictionary": {}, "plain": NO_DICTIONARY, "page_v2": {"data_page_version": "2.0"}}.items():
    parquet(HERE / "parquet_file" / f"nested_{name}.parquet", NESTED, NESTED_ROWS, **options)



# ORC names its fields' ids otherwise, has no fixed-width bytes, and keeps them of members only where
# the struct is built of fields that have them.
def orc_type(arrow_type):
    if pa.types.is_struct(arrow_type):
        return pa.struct([orc_field(member) for member in arrow_type])
    if pa.types.is_map(arrow_type):
        return pa.map_(orc_field(arrow_type.key_field), orc_field(arrow_type.item_field))
    if pa.types.is_list(arrow_type):
        return pa.list_(orc_field(arrow_type.value_field))
    return pa.binary() if pa.types.is_fixed_size_binary(arrow_type) else arrow_type


def orc_field(parquet_field):
    metadata = {"iceberg.id": parquet_field.metadata[b"PARQUET:field_id"]}
    return pa.field(parquet_field.name, orc_type(parquet_field.type), parquet_field.nullable, metadata)


def orc_file(name, schema, rows, lacking=(), **options):
    schema = pa.schema([orc_field(column) for column in schema if column.name not in lacking])
    path = HERE / "orc_file" / f"{name}.orc"
    path.parent.mkdir(exist_ok=True)
    table = pa.Table.from_pylist(rows, schema=schema)
    orc.write_table(table, path, **{"compression": "uncompressed"} | options)


# No type of ORC that Arrow's writer knows is a time of day.
LACKING = ["tm"]
for name, options in {
    "plain": {},
    "dictionary": {"dictionary_key_size_threshold": 1.0},
    "zlib": {"compression": "zlib"},
    "snappy": {"compression": "snappy"},
}.items():
    orc_file(f"primitive_{name}", PRIMITIVES, PRIMITIVE_ROWS, LACKING, **options)
LONG_ROWS = [primitive_row(number % 50) for number in range(280)]
orc_file("primitive_long_runs", PRIMITIVES, LONG_ROWS, [*LACKING, "bin", "u", "fx", "dec38"], dictionary_key_size_threshold=1.0)
orc_file("nested_plain", NESTED, NESTED_ROWS)
orc_file("nested_zstd", NESTED, NESTED_ROWS, compression="zstd")


# Avro schemas as Iceberg writes them.
def avro_type(field_id, arrow_type):
    if pa.types.is_struct(arrow_type):
        return {"type": "record", "name": f"r{field_id}", "fields": [avro_field(member) for member in arrow_type]}
    if pa.types.is_list(arrow_type):
        element = arrow_type.value_field
        return {"type": "array", "element-id": id_of(element), "items": avro_column(element)}
    if pa.types.is_map(arrow_type):
        key, value = arrow_type.key_field, arrow_type.item_field
        if pa.types.is_string(key.type):
            return {"type": "map", "key-id": id_of(key), "value-id": id_of(value), "values": avro_column(value)}
        entry = {"type": "record", "name": f"k{id_of(key)}_v{id_of(value)}", "fields": [avro_field(key), avro_field(value)]}
        return {"type": "array", "logicalType": "map", "items": entry}
    if pa.types.is_decimal(arrow_type):
        precision, scale = arrow_type.precision, arrow_type.scale
        fixed = {"type": "fixed", "name": f"d{field_id}", "size": 16}
        return fixed | {"logicalType": "decimal", "precision": precision, "scale": scale}
    if pa.types.is_fixed_size_binary(arrow_type):
        return {"type": "fixed", "name": f"f{field_id}", "size": arrow_type.byte_width}
    if pa.types.is_timestamp(arrow_type):
        return {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": arrow_type.tz is not None}
    return {
        pa.bool_(): "boolean",
        pa.int32(): "int",
        pa.int64(): "long",
        pa.float32(): "float",
        pa.float64(): "double",
        pa.string(): "string",
        pa.binary(): "bytes",
        pa.date32(): {"type": "int", "logicalType": "date"},
        pa.time64("us"): {"type": "long", "logicalType": "time-micros"},
    }[arrow_type]


def id_of(column):
    return int(column.metadata[b"PARQUET:field_id"])


def avro_column(column):
    inner = avro_type(id_of(column), column.type)
    return ["null", inner] if column.nullable else inner


def avro_field(column):
    described = {"name": column.name, "type": avro_column(column), "field-id": id_of(column)}
    return described | ({"default": None} if column.nullable else {})


# Avro's maps are Python's, where pyarrow takes pairs.
def avro_value(value, arrow_type):
    if value is None:
        return None
    if pa.types.is_struct(arrow_type):
        return {member.name: avro_value(value.get(member.name), member.type) for member in arrow_type}
    if pa.types.is_list(arrow_type):
        return [avro_value(element, arrow_type.value_type) for element in value]
    if pa.types.is_map(arrow_type):
        pairs = [(key, avro_value(inner, arrow_type.item_type)) for key, inner in value]
        return dict(pairs) if pa.types.is_string(arrow_type.key_type) else [{"key": key, "value": inner} for key, inner in pairs]
    return value


def avro_file(name, schema, rows, **options):
    described = fastavro.parse_schema({"type": "record", "name": "table", "fields": [avro_field(column) for column in schema]})
    rows = [avro_value(row, pa.struct(list(schema))) for row in rows]
    path = HERE / "avro_file" / f"{name}.avro"
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        fastavro.writer(file, described, rows, sync_marker=bytes(16), **options)


for name, options in {
    "plain": {},
    "deflate": {"codec": "deflate"},
    "snappy": {"codec": "snappy"},
    "blocks": {"sync_interval": 1},
}.items():
    avro_file(f"primitive_{name}", PRIMITIVES, PRIMITIVE_ROWS, **options)
avro_file("nested_plain", NESTED, NESTED_ROWS)
avro_file("nested_blocks", NESTED, NESTED_ROWS, sync_interval=1)

# Manifests and manifest lists: those of the reference implementations, not packed.
for target, names in {
    "manifest_list": ["v1_list", "v2_list", "v3_list"],
    "manifest": ["v1_void_and_bucket", "v2_decimal", "v2_equality_deletes", "v2_string", "v3_deletion_vectors"],
}.items():
    (HERE / target).mkdir(exist_ok=True)
    for name in names:
        with (TESTDATA / f"{name}.avro").open("rb") as packed:
            reader = fastavro.reader(packed)
            rows = list(reader)[:3]
        metadata = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
        with (HERE / target / f"{name}.avro").open("wb") as file:
            schema = json.loads(reader.metadata["avro.schema"])
            fastavro.writer(file, schema, rows, codec="null", metadata=metadata, sync_marker=bytes(16))

# Deletion vectors without what is around their bitmaps, as Roaring's format spec lays these out.
NO_RUNS, RUNS = 12346, 12347


def bitmaps(*keys_and_bitmaps):
    parts = [struct.pack("<I", key) + bitmap for key, bitmap in keys_and_bitmaps]
    return struct.pack("<Q", len(parts)) + b"".join(parts)


def array(*values):
    return struct.pack(f"<IIHHI{len(values)}H", NO_RUNS, 1, 0, len(values) - 1, 16, *values)


def runs(*starts_and_lengths):
    header = struct.pack("<IBHH", RUNS, 1, 0, sum(length for _, length in starts_and_lengths) - 1)
    pairs = [struct.pack("<HH", start, length - 1) for start, length in starts_and_lengths]
    return header + struct.pack("<H", len(pairs)) + b"".join(pairs)


def bitset(count):
    filled = ((1 << count) - 1).to_bytes(8192, "little")
    return struct.pack("<IIHHI", NO_RUNS, 1, 0, count - 1, 16) + filled


for name, content in {
    "none": bitmaps(),
    "array": bitmaps((0, array(1, 3, 700))),
    "runs": bitmaps((0, runs((2, 5), (100, 3)))),
    "bitset": bitmaps((0, bitset(5000))),
    "high": bitmaps((0, array(0)), (1, array(5)), (0x7FFFFFFF, runs((65535, 1)))),
}.items():
    write("deletion_vector", name, content)

# Names of metadata files and what is in them.
UUID = "9c12d441-03fe-4693-9a96-a0705ddf69c1"
METADATA = json.loads((TESTDATA / "v1_first_writers.metadata.json").read_text())
METADATA = {key: METADATA[key] for key in METADATA if key not in ("snapshots", "current-snapshot-id")}
NEWER = METADATA | {"table-uuid": UUID, "last-updated-ms": METADATA["last-updated-ms"] + 1}
METADATA["table-uuid"] = UUID


def directory(named, files):
    return b"\n--\n".join([named] + [part for name, content in files for part in (name, content)])


OLD, NEW = (json.dumps(metadata, separators=(",", ":")).encode() for metadata in (METADATA, NEWER))
PACKED = gzip.compress(NEW, mtime=0)
for name, content in {
    "versions": directory(b"v1.metadata.json", [(b"v9.metadata.json", OLD), (b"v10.metadata.json", NEW)]),
    "uuids": directory(UUID.encode(), [(f"00002-{UUID}.metadata.json".encode(), NEW)]),
    "equal": directory(b"metadata/v2.metadata.json", [(b"v2.metadata.json", OLD), (f"2-{UUID}.metadata.json".encode(), NEW)]),
    "hint": directory(b"file:///a/%20b/../c", [(b"version-hint.text", b"1\n"), (b"v1.gz.metadata.json", PACKED), (b"v1.metadata.json", OLD)]),
}.items():
    write("metadata_file", name, content)

write(
    "name_mapping",
    "nested.json",
    json.dumps(
        [
            {"field-id": 1, "names": ["id", "record_id"]},
            {"names": ["a.b"]},
            {"field-id": 3, "names": ["location"], "fields": [{"field-id": 4, "names": ["latitude", "lat"]}]},
            {"field-id": 5, "names": ["l"], "fields": [{"field-id": 6, "names": ["element"]}]},
        ]
    ).encode(),
)

(HERE / "table_metadata").mkdir(exist_ok=True)
for file in TESTDATA.glob("*.metadata.json"):
    write("table_metadata", file.name, file.read_bytes())
