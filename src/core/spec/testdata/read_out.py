"""Writes read_out.json: what fastavro finds in the Avro files beside this program.

Values that JSON has no form for: {"decimal": unscaled}, {"date": days}, {"timestamp": microseconds},
{"bytes": hexadecimal}, {"uuid": text}. Maps with int keys become {key: value}.

    pip install fastavro && python read_out.py
"""

import datetime
import decimal
import json
import pathlib
import uuid

import fastavro

HERE = pathlib.Path(__file__).parent
EPOCH = datetime.datetime(1970, 1, 1)


def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, dict) and set(item) == {"key", "value"} for item in value):
            return {str(item["key"]): plain(item["value"]) for item in value}
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, decimal.Decimal):
        return {"decimal": str(value).replace(".", "")}
    if isinstance(value, datetime.datetime):
        naive = value.astimezone(datetime.timezone.utc).replace(tzinfo=None) if value.tzinfo else value
        return {"timestamp": (naive - EPOCH) // datetime.timedelta(microseconds=1)}
    if isinstance(value, datetime.date):
        return {"date": (value - EPOCH.date()).days}
    if isinstance(value, uuid.UUID):
        return {"uuid": str(value)}
    return value


entries = []
for path in sorted(HERE.glob("*.avro")):
    with path.open("rb") as file:
        records = [json.dumps(plain(record), ensure_ascii=False, separators=(",", ":")) for record in fastavro.reader(file)]
    entries.append(f"{json.dumps(path.name)}: [\n" + ",\n".join(records) + "\n]")
(HERE / "read_out.json").write_text("{" + ",\n".join(entries) + "}\n")
