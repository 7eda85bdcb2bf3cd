"""Writes one small manifest list per Avro codec, in several blocks.

    pip install fastavro cramjam backports.zstd && python write.py
"""

import pathlib

import fastavro

HERE = pathlib.Path(__file__).parent
SCHEMA = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        {"name": "manifest_path", "type": "string", "field-id": 500},
        {"name": "manifest_length", "type": "long", "field-id": 501},
        {"name": "partition_spec_id", "type": "int", "field-id": 502},
        {"name": "added_files_count", "type": ["int", "null"], "field-id": 504},
    ],
}
ROWS = [
    {
        "manifest_path": f"/t/metadata/manifest-{number}.avro",
        "manifest_length": number * 1_000_000_007,
        "partition_spec_id": number % 3,
        "added_files_count": None if number % 4 == 0 else number,
    }
    for number in range(50)
]

for codec in ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"]:
    with (HERE / f"{codec}.avro").open("wb") as file:
        fastavro.writer(file, SCHEMA, ROWS, codec=codec, sync_interval=500)
