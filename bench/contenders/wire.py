"""A Postgres client that costs next to nothing: it takes a result off the socket and looks only at how it ends.

With psql or a driver, much of the time would go into keeping and formatting rows, which is the same for every table.
PostgreSQL documentation, chapter "Frontend/Backend Protocol", sections "Simple Query" and "Message Formats".
"""

import os
import re
import socket
import struct

import psycopg

# CommandComplete with a row count, ReadyForQuery outside a transaction: how the answer to one good statement ends.
END = re.compile(rb"C\x00\x00\x00.(?:SELECT|COPY) (\d+)\x00Z\x00\x00\x00\x05I\Z", re.DOTALL)
READY = re.compile(rb"Z\x00\x00\x00\x05[ITE]\Z")
TAIL = 1024


class Wire:
    """A connection whose socket was taken over from libpq after it had logged in."""

    def __init__(self, dsn: str, settings: dict[str, str], first: str = "") -> None:
        self.connection = psycopg.connect(dsn, autocommit=True, sslmode="disable", gssencmode="disable")
        for name, value in settings.items():
            self.connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        if first:
            self.connection.execute(first.encode())
        self.socket = socket.socket(fileno=os.dup(self.connection.pgconn.socket))
        self.socket.setblocking(True)
        self.buffer = bytearray(1 << 20)

    def close(self) -> None:
        """Ends the session."""
        self.socket.close()
        self.connection.close()

    def run(self, statement: str) -> int:
        """Runs a SELECT or a COPY TO STDOUT, takes the whole result and returns how many rows it had."""
        text = statement.encode()
        self.socket.sendall(b"Q" + struct.pack("!I", len(text) + 5) + text + b"\0")
        tail = b""
        while not (ready := READY.search(tail)):
            size = self.socket.recv_into(self.buffer)
            if size == 0:
                raise ConnectionError(f"the server closed the connection during: {statement}")
            tail = (tail + self.buffer[max(0, size - TAIL) : size])[-TAIL:]
        end = END.search(tail)
        if end is None:
            raise RuntimeError(f"{tail[: ready.start()]!r} is how the answer ended to: {statement}")
        return int(end[1])
