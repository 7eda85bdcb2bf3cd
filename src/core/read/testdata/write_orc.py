"""Writes the ORC files beside this program: pip install pyarrow==26.0.1; python write_orc.py"""

import os
from datetime import date, timedelta
from decimal import Decimal

import pyarrow as pa
from pyarrow import orc

HERE = os.path.dirname(os.path.abspath(__file__))


def field(number, name, kind):
    return pa.field(name, kind, metadata={"iceberg.id": str(number)})


def write(name, fields, columns, **options):
    table = pa.table(
        [pa.array(values, f.type) for f, values in zip(fields, columns)], schema=pa.schema(fields)
    )
    path = os.path.join(HERE, name)
    orc.write_table(table, path, **options)
    assert orc.read_table(path).num_rows == len(table)


def types():
    rows = range(600)
    context_free = pa.struct([field(21, "a", pa.int32()), field(22, "b", pa.string())])
    fields = [
        field(1, "i", pa.int32()),
        field(2, "l", pa.int64()),
        field(3, "small", pa.int8()),
        field(4, "f", pa.float32()),
        field(5, "d", pa.float64()),
        field(6, "b", pa.bool_()),
        field(7, "dec", pa.decimal128(38, 10)),
        field(8, "dt", pa.date32()),
        field(9, "ts", pa.timestamp("ns")),
        field(10, "tz", pa.timestamp("us", "UTC")),
        field(11, "s", pa.string()),
        field(12, "text", pa.string()),
        field(13, "bin", pa.binary()),
        field(14, "st", context_free),
        field(15, "li", pa.list_(field(23, "element", pa.int64()))),
        field(16, "ma", pa.map_(field(24, "key", pa.string()).with_nullable(False), field(25, "value", pa.int32()))),
        field(17, "dec9", pa.decimal128(9, 2)),
    ]
    columns = [
        [None if n % 7 == 0 else n for n in rows],
        [(n - 300) * n * n * 123456789 for n in rows],
        [n % 256 - 128 for n in rows],
        [n / 4 for n in rows],
        [n / 8 - 30 for n in rows],
        [None if n % 5 == 0 else n % 3 == 0 for n in rows],
        [Decimal((n - 300) * 12345678901234567890123) * Decimal("1e-10") for n in rows],
        [date(1970, 1, 1) + timedelta(days=n * 97 - 30000) for n in rows],
        [(n - 300) * 7 * 86_400_000_000_000 + n * 1_001 for n in rows],
        [(n - 300) * 7 * 86_400_000_000 + n for n in rows],
        [f"text {n % 10}" for n in rows],
        [None if n % 13 == 0 else f"row {n} \u00e9" for n in rows],
        [bytes([n % 256]) * (n % 20) for n in rows],
        [None if n % 11 == 0 else {"a": None if n % 4 == 0 else n, "b": f"b{n}"} for n in rows],
        [None if n % 9 == 0 else [None if (n + i) % 6 == 0 else n * i for i in range(n % 5)] for n in rows],
        [[(f"k{j}", n + j) for j in range(n % 3)] for n in rows],
        [Decimal(n - 300) / 100 for n in rows],
    ]
    write("types.orc", fields, columns, compression="zlib", dictionary_key_size_threshold=0.5)


def codecs():
    rows = range(6000)
    fields = [field(1, "l", pa.int64()), field(2, "text", pa.string())]
    columns = [[n * 7919 % 1000003 for n in rows], [f"row number {n}" for n in rows]]
    for codec in ["uncompressed", "zlib", "snappy", "lz4", "zstd"]:
        # More than one stripe, and more than one chunk a stream.
        write(
            f"{codec}.orc",
            fields,
            columns,
            compression=codec,
            compression_block_size=65536,
            stripe_size=8192,
            batch_size=500,
        )


def without_ids():
    pair = pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.string())])
    schema = pa.schema([pa.field("n", pa.int64()), pa.field("s", pair), pa.field("text", pa.string())])
    rows = [{"n": n, "s": {"a": -n, "b": f"b{n}"}, "text": f"row {n}"} for n in range(3)]
    orc.write_table(pa.Table.from_pylist(rows, schema=schema), os.path.join(HERE, "without_ids.orc"))


types()
codecs()
without_ids()
