"""Tests of what needs no server: the queries, the order of rounds, the report, the client's end of a result."""
