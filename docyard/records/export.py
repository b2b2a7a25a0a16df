"""The export of recorded searches as CSV, JSON or Parquet, in parts, so that memory stays flat."""

from __future__ import annotations

import csv
import io
import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO, ClassVar

from sqlalchemy import and_, or_, select

from docyard.database.database import Database
from docyard.database.tables import NAMESPACES, ORGANIZATIONS, SEARCH_QUERIES, SERVERS
from workspace.errors import WorkspaceError

COLUMNS = {
    "id": "string",
    "time": "string",
    "organization": "string",
    "server": "string",
    "namespace": "string",
    "namespace_count": "int64",
    "caller": "string",
    "session": "string",
    "question": "string",
    "search_type": "string",
    "result_count": "int64",
    "response_time_ms": "int64",
    "walkthrough": "string",
    "step": "string",
    "commit": "string",
    "cache_hit": "bool",
    "clicked": "bool",
    "missing_words": "string list",
    "embedding": "float list",
}
"""The columns of an export, and their types."""

_PART_ROWS = 2_000
# A program of spreadsheets evaluates a cell that begins so (OWASP, CSV injection).
# The last four are the wide forms of the first four, which some programs accept.
_FORMULA_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class ParquetUnavailable(WorkspaceError):
    """The library that writes Parquet is not installed."""

    code: ClassVar[str] = "PARQUET_UNAVAILABLE"

    def __init__(self) -> None:
        super().__init__(
            "the library for Parquet is not installed (pyarrow)",
            fix="Install it with `pip install 'docyard[parquet]'`, or use --format csv.",
        )


def iterate_searches(
    database: Database, since_ms: int = 0, organization_id: str | None = None
) -> Iterator[list[dict[str, Any]]]:
    """Yield parts of the recorded searches by organization, the oldest first. Raises DatabaseUnavailable.

    Each part is read in a transaction of its own, so that an export delays no writer.
    """
    if organization_id is None:
        with database.connect() as connection:
            ids = (
                connection.execute(select(ORGANIZATIONS.c.id).order_by(ORGANIZATIONS.c.slug)).scalars().all()
            )
    else:
        ids = [organization_id]
    for id in ids:
        yield from _iterate_organization(database, since_ms, id)


def _iterate_organization(
    database: Database, since_ms: int, organization_id: str
) -> Iterator[list[dict[str, Any]]]:
    table = SEARCH_QUERIES
    last_time, last_id = since_ms - 1, "\uffff"
    while True:
        statement = (
            select(table, ORGANIZATIONS.c.slug, SERVERS.c.slug.label("server"), NAMESPACES.c.name)
            .join(ORGANIZATIONS, ORGANIZATIONS.c.id == table.c.organization_id)
            .join(SERVERS, SERVERS.c.id == table.c.mcp_server_id)
            .join(NAMESPACES, NAMESPACES.c.id == table.c.namespace_id)
            .where(
                table.c.organization_id == organization_id,
                table.c.created_at >= last_time,
                or_(
                    table.c.created_at > last_time,
                    and_(table.c.created_at == last_time, table.c.id > last_id),
                ),
            )
            .order_by(table.c.created_at, table.c.id)
            .limit(_PART_ROWS)
        )
        with database.connect() as connection:
            rows = connection.execute(statement).mappings().all()
        if not rows:
            return
        last_time, last_id = rows[-1]["created_at"], rows[-1]["id"]
        yield [_describe_row(row) for row in rows]


def format_time(time_ms: int) -> str:
    """Return a time in UTC with milliseconds, such as `2026-01-31T12:00:00.000Z`."""
    time = datetime.fromtimestamp(time_ms / 1_000, UTC)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time_ms % 1_000:03}Z"


def _describe_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    embedding = row["query_embedding"]
    return {
        "id": row["id"],
        "time": format_time(row["created_at"]),
        "organization": row["slug"],
        "server": row["server"],
        "namespace": row["name"],
        "namespace_count": row["namespace_count"],
        "caller": row["mcp_server_user_id"],
        "session": row["mcp_server_session_id"],
        "question": row["query_text"],
        "search_type": row["search_type"],
        "result_count": row["result_count"],
        "response_time_ms": row["response_time_ms"],
        "walkthrough": row["walkthrough_id"],
        "step": row["walkthrough_step_id"],
        "commit": row["commit"],
        "cache_hit": row["cache_hit"],
        "clicked": row["clicked"],
        "missing_words": row["missing_words"],
        "embedding": None if embedding is None else array("f", embedding).tolist(),
    }


def write_csv(parts: Iterator[list[dict[str, Any]]], stream: BinaryIO) -> int:
    """Write CSV (RFC 4180, UTF-8) without vectors, and return the number of searches.

    A text that a program of spreadsheets would evaluate gets an apostrophe at its beginning.
    """
    columns = [name for name in COLUMNS if name != "embedding"]
    text_stream = io.TextIOWrapper(stream, "utf-8", "replace", newline="", write_through=True)
    writer = csv.writer(text_stream)
    writer.writerow(columns)
    count = 0
    for rows in parts:
        writer.writerows([_format_cell(row[name]) for name in columns] for row in rows)
        count += len(rows)
    text_stream.flush()
    text_stream.detach()
    return count


def _format_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        value = " ".join(value)
    if isinstance(value, str) and value.startswith(_FORMULA_BEGINNINGS):
        return f"'{value}"
    return value


def write_json(parts: Iterator[list[dict[str, Any]]], stream: BinaryIO) -> int:
    """Write a JSON array with one search on each line, and return the number of searches."""
    count = 0
    stream.write(b"[")
    for rows in parts:
        for row in rows:
            line = json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")
            stream.write((b",\n" if count else b"\n") + line)
            count += 1
    stream.write(b"\n]\n")
    return count


def write_parquet(parts: Iterator[list[dict[str, Any]]], stream: BinaryIO) -> int:
    """Write Parquet, and return the number of searches. Raises ParquetUnavailable."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise ParquetUnavailable from None
    types = {
        "string": pyarrow.string(),
        "int64": pyarrow.int64(),
        "bool": pyarrow.bool_(),
        "string list": pyarrow.list_(pyarrow.string()),
        "float list": pyarrow.list_(pyarrow.float32()),
    }
    schema = pyarrow.schema([(name, types[type_name]) for name, type_name in COLUMNS.items()])
    count = 0
    with pyarrow.parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        for rows in parts:
            writer.write_table(pyarrow.Table.from_pylist(rows, schema))
            count += len(rows)
    return count


WRITERS: Mapping[str, Callable[[Iterator[list[dict[str, Any]]], BinaryIO], int]] = {
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
}
"""The writers by the name of their format."""
