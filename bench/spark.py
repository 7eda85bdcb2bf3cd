"""Writes the deletes of one table with Iceberg Java, through Spark; a program that `deletes.py` starts.

Positions and deletion vectors are what Spark makes of a DELETE that is merged on read. Spark writes no equality
deletes: those are written by Iceberg's own writer for them, a file a partition, as Flink leaves them.
"""

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from bench.deletes import DELETE_KINDS, DELETED, EQUALITY_COLUMNS, ICEBERG_JAVA, DeleteKind
from bench.generate import NAMESPACE
from bench.lineitem import PARTITION_COLUMN

PACKAGE = f"org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:{ICEBERG_JAVA}"

PROPERTIES = {
    "write.delete.mode": "merge-on-read",
    "write.delete.granularity": "file",
    "write.parquet.compression-codec": "zstd",
}


@dataclass(frozen=True)
class Arguments:
    """What the command line says."""

    kind: DeleteKind
    warehouse: Path
    plain: Path
    scratch: Path
    ivy: Path
    result: Path


def arguments() -> Arguments:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="bench.spark", description=__doc__)
    parser.add_argument("--kind", choices=[kind.key for kind in DELETE_KINDS], required=True)
    parser.add_argument("--warehouse", type=Path, required=True, help="where the new table is to stand")
    parser.add_argument("--plain", type=Path, required=True, help="the metadata file of the table without deletes")
    parser.add_argument("--scratch", type=Path, required=True, help="an empty directory that is removed afterwards")
    parser.add_argument("--ivy", type=Path, required=True, help="where downloaded jars are kept")
    parser.add_argument("--result", type=Path, required=True, help="the JSON file that tells what was written")
    given = parser.parse_args()
    (kind,) = (kind for kind in DELETE_KINDS if kind.key == given.kind)
    return Arguments(kind, given.warehouse, given.plain, given.scratch, given.ivy, given.result)


def session(given: Arguments) -> SparkSession:
    """Spark with Iceberg, and two Hadoop catalogs: `lake` is the warehouse, `scratch` is thrown away."""
    settings = {
        "spark.jars.packages": PACKAGE,
        "spark.jars.ivy": str(given.ivy),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.local.dir": str(given.scratch),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    }
    for name, warehouse in (("lake", given.warehouse), ("scratch", given.scratch / "warehouse")):
        settings[f"spark.sql.catalog.{name}"] = "org.apache.iceberg.spark.SparkCatalog"
        settings[f"spark.sql.catalog.{name}.type"] = "hadoop"
        settings[f"spark.sql.catalog.{name}.warehouse"] = f"file://{warehouse}"
        settings[f"spark.sql.catalog.{name}.cache-enabled"] = "false"
    builder = SparkSession.builder.master("local[2]").appName("bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Writer:
    """Iceberg Java's objects, reached through Spark's virtual machine."""

    def __init__(self, spark: SparkSession, given: Arguments) -> None:
        self.spark = spark
        self.name = f"lake.{NAMESPACE}.{given.kind.table}"
        self.directory = given.warehouse / NAMESPACE / given.kind.table
        context: Any = spark.sparkContext
        self.jvm: Any = context._jvm
        self.gateway: Any = context._gateway
        self.configuration: Any = context._jsc.hadoopConfiguration()
        self.tables: Any = self.jvm.org.apache.iceberg.hadoop.HadoopTables(self.configuration)
        self.iceberg: Any = self.jvm.org.apache.iceberg

    def load(self) -> Any:
        """The new table as it is now."""
        return self.tables.load(f"file://{self.directory}")

    def create(self, plain: Path, format_version: int) -> None:
        """A table with the schema, the partitioning and hard links of the data files of the table without deletes."""
        io = self.iceberg.hadoop.HadoopFileIO(self.configuration)
        operations = self.iceberg.StaticTableOperations(f"file://{plain}", io)
        source = self.iceberg.BaseTable(operations, "plain")
        properties = self.jvm.java.util.HashMap()
        for key, value in {**PROPERTIES, "format-version": str(format_version)}.items():
            properties.put(key, value)
        table = self.tables.create(source.schema(), source.spec(), properties, f"file://{self.directory}")
        if not table.schema().sameSchema(source.schema()):
            raise SystemExit("error: the new table numbers its columns in another way than the data files do")
        append = table.newAppend()
        (self.directory / "data").mkdir(parents=True, exist_ok=True)
        for task in source.newScan().includeColumnStats().planFiles().iterator():
            file = task.file()
            path = Path(file.location().removeprefix("file://"))
            link = self.directory / "data" / path.relative_to(plain.parent.parent / "data")
            link.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, link)
            builder = self.iceberg.DataFiles.builder(table.spec()).copy(file)
            append.appendFile(builder.withPath(f"file://{link}").build())
        append.commit()

    def delete(self) -> None:
        """DELETE by Spark: position deletes in format version 2, deletion vectors in format version 3."""
        self.spark.sql(f"DELETE FROM {self.name} WHERE {DELETED}")

    def delete_by_equality(self) -> None:
        """Equality deletes with the keys of the rows to delete, in each partition a file with the keys found there."""
        keys = f"scratch.{NAMESPACE}.keys"
        self.spark.sql(
            f"CREATE TABLE {keys} USING iceberg PARTITIONED BY (months({PARTITION_COLUMN})) AS "
            f"SELECT {', '.join(EQUALITY_COLUMNS)}, {PARTITION_COLUMN} FROM {self.name} WHERE {DELETED}"
        )
        spark_tables: Any = self.iceberg.spark.Spark3Util
        java_session: Any = self.spark._jsparkSession
        source = spark_tables.loadIcebergTable(java_session, keys)

        table = self.load()
        parquet = self.iceberg.FileFormat.PARQUET
        key_schema = table.schema().select(EQUALITY_COLUMNS)
        field_ids = self.gateway.new_array(self.jvm.int, len(EQUALITY_COLUMNS))
        for position, column in enumerate(EQUALITY_COLUMNS):
            field_ids[position] = table.schema().findField(column).fieldId()
        factory = self.iceberg.data.GenericAppenderFactory(
            table, table.schema(), table.spec(), self.jvm.java.util.HashMap(), field_ids, key_schema, None
        )
        files = self.iceberg.io.OutputFileFactory.builderFor(table, 1, 1).format(parquet).suffix("deletes").build()
        row_delta = table.newRowDelta()
        for partition in self._partitions(source):
            month = self.iceberg.expressions.Expressions.month(PARTITION_COLUMN)
            in_partition = self.iceberg.expressions.Expressions.equal(month, partition.get(0, self._class("Integer")))
            rows = self.iceberg.data.IcebergGenerics.read(source).where(in_partition).select(EQUALITY_COLUMNS).build()
            writer = factory.newEqDeleteWriter(files.newOutputFile(table.spec(), partition), parquet, partition)
            self._write_all(writer, rows)
            writer.close()
            rows.close()
            row_delta.addDeletes(writer.toDeleteFile())
        row_delta.commit()

    def summary(self, kind: DeleteKind) -> dict[str, str | int]:
        """Where the table is and what its manifests say about deletes, if it is what was asked for."""
        found = self.spark.sql(
            f"SELECT content, file_format, count(*) AS files, sum(record_count) AS rows "
            f"FROM {self.name}.delete_files GROUP BY content, file_format"
        ).collect()
        if [(row.content, row.file_format) for row in found] != [(kind.content, kind.file_format)]:
            raise SystemExit(f"error: these are not {kind.title}: {found}")
        (deletes,) = found
        left = self.spark.table(self.name).where(DELETED).count()
        if left != 0:
            raise SystemExit(f"error: Iceberg Java still finds {left} of the deleted rows")
        metadata_file = self.load().operations().current().metadataFileLocation().removeprefix("file:")
        return {
            # A URI of Hadoop's local file system has one slash or three.
            "metadata_file": "/" + metadata_file.lstrip("/"),
            "delete_files": int(deletes.files),
            "deleted_rows": int(deletes.rows),
        }

    def _write_all(self, writer: Any, rows: Any) -> None:
        """Calls `write(Iterable)`, which a plain call takes for `write(T)`: row by row takes minutes from here."""
        types = self.gateway.new_array(self.jvm.java.lang.Class, 1)
        types[0] = self.jvm.java.lang.Class.forName("java.lang.Iterable")
        arguments = self.gateway.new_array(self.jvm.java.lang.Object, 1)
        arguments[0] = rows
        writer.getClass().getMethod("write", types).invoke(writer, arguments)

    def _partitions(self, table: Any) -> list[Any]:
        """The partitions of a table that have rows, each once."""
        partitions: dict[str, Any] = {}
        for task in table.newScan().planFiles().iterator():
            partition = task.file().partition()
            partitions.setdefault(table.spec().partitionToPath(partition), partition)
        return list(partitions.values())

    def _class(self, name: str) -> Any:
        return self.jvm.java.lang.Class.forName(f"java.lang.{name}")


def main() -> None:
    """Writes the table."""
    given = arguments()
    spark = session(given)
    writer = Writer(spark, given)
    writer.create(given.plain, given.kind.format_version)
    if given.kind.content == 2:
        writer.delete_by_equality()
    else:
        writer.delete()
    given.result.write_text(json.dumps(writer.summary(given.kind)))
    spark.stop()


if __name__ == "__main__":
    main()
