"""Writes decimals.*.parquet beside this program: pip install pyarrow==26.0.1; python write_parquet.py"""

import os
from decimal import Decimal, getcontext

import pyarrow as pa
from pyarrow import parquet

# Python rounds to 28 digits if it is not told.
getcontext().prec = 40
HERE = os.path.dirname(os.path.abspath(__file__))


def field(number, name, kind):
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


SCHEMA = pa.schema(
    [
        field(1, "d9", pa.decimal128(9, 2)),
        field(2, "d18", pa.decimal128(18, 4)),
        field(3, "d38", pa.decimal128(38, 10)),
    ]
)


def unscaled(scale, number):
    return Decimal(number).scaleb(-scale)


ROWS = [
    {
        "d9": None if n % 7 == 0 else unscaled(2, (n - 150) * 6_660_001),
        "d18": unscaled(4, (n - 150) * 6_660_000_000_000_001),
        "d38": unscaled(10, (n - 150) * 660_000_000_000_000_000_000_000_000_000_000_001),
    }
    for n in range(300)
]

# As numbers and as bytes of a fixed length.
for name, encoding, as_numbers in [
    ("delta_byte_array", "DELTA_BYTE_ARRAY", False),
    ("byte_stream_split", "BYTE_STREAM_SPLIT", False),
    ("byte_stream_split_numbers", "BYTE_STREAM_SPLIT", True),
    ("delta_binary_packed", "DELTA_BINARY_PACKED", True),
]:
    encodings = {column: encoding for column in SCHEMA.names}
    if encoding == "DELTA_BINARY_PACKED":
        encodings["d38"] = "PLAIN"
    path = os.path.join(HERE, f"decimals.{name}.parquet")
    parquet.write_table(
        pa.Table.from_pylist(ROWS, schema=SCHEMA),
        path,
        use_dictionary=False,
        column_encoding=encodings,
        store_decimal_as_integer=as_numbers,
        store_schema=False,
        data_page_size=1024,
    )
    assert parquet.read_table(path).to_pylist() == ROWS
