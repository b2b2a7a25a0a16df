"""The name of an author in answers, with the client that wrote."""

from __future__ import annotations


def name_author(name: str, client: str | None) -> str:
    """Return the name of an author; with the client that wrote for this person, if there is one."""
    return f"{name}, by client {client}" if client else name
