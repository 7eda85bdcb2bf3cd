"""chDB, the engine of ClickHouse, in this process."""

from functools import cache
from pathlib import Path

import chdb
from chdb.session import Session

from bench import checksum
from bench.checksum import Answer
from bench.contenders import CannotRead
from bench.queries import Query


class ChDB:
    """Reads the Iceberg table with the table function `icebergLocal`.

    chDB reads no file that is not under the directory in which the process runs.
    """

    name = "chDB"

    def __init__(self, directory: Path) -> None:
        self.session = _session()
        self.table = f"icebergLocal('{directory}/')"

    def run(self, query: Query) -> int:
        """Takes the result as Arrow record batches."""
        result = self.session.send_query(query.select_from(self.table), "Arrow")
        return sum(batch.num_rows for batch in result.record_batch())

    def answer(self) -> Answer:
        """What chDB finds in the table."""
        try:
            rows, total = str(self.session.query(checksum.clickhouse(self.table), "TabSeparated")).split()
        except RuntimeError as error:
            raise CannotRead(str(error)) from error
        return Answer(int(rows), int(total))


@cache
def _session() -> Session:
    """The only session: a process holds one ClickHouse, whatever the number of tables."""
    session = Session()
    # The other engine in this process does not compress what it hands over either.
    session.query("SET output_format_arrow_compression_method = 'none'")
    return session


def version() -> str:
    """The version of chDB and that of the ClickHouse in it."""
    return f"{chdb.__version__} (ClickHouse {chdb.engine_version})"
