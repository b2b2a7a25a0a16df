"""The errors of a database. This module needs no library of databases."""

from __future__ import annotations

from typing import ClassVar, Self

from workspace.errors import WorkspaceError


class InvalidDatabaseURL(WorkspaceError):
    """The URL of a database is invalid, or its driver is not installed."""

    code: ClassVar[str] = "INVALID_DATABASE_URL"


class DatabaseUnavailable(WorkspaceError):
    """The database cannot be used now.

    `reason` is one of down, locked, full, read-only, damaged, and schema for a missing table.
    """

    code: ClassVar[str] = "DATABASE_UNAVAILABLE"

    def __init__(self, reason: str, message: str, fix: str) -> None:
        super().__init__(message, fix=fix, reason=reason)
        self.reason = reason

    @classmethod
    def from_engine(cls, error: WorkspaceError) -> Self:
        """Return the error for one of the engine's database, in which nodes share sessions and tokens."""
        return cls("down", error.message, error.fix)


class CannotCopyDatabase(WorkspaceError):
    """The database cannot be copied to this file."""

    code: ClassVar[str] = "CANNOT_COPY_DATABASE"
