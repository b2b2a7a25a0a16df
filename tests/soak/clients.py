"""The two clients of a writer: a workspace in its own process, and a server over stdio."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from templates import builtin_types
from tests.acceptance.server import Server, serving
from workspace.document.addresses import resolve_section
from workspace.edits import (
    AddSection,
    AddTask,
    AppendContent,
    CompleteTask,
    CreateDocument,
    Operation,
    RemoveDocument,
    RemoveSection,
    UpdateContent,
)
from workspace.errors import WorkspaceError
from workspace.workspace import Workspace
from workspace.writing.idempotency import Request
from workspace.writing.plan import Mode

# Error codes after which a writer retries, because a different writer or a user was first.
REFUSALS = frozenset({"BUSY", "LOCKED", "WORKTREE_CONFLICT", "WORKTREE_BUSY"})


class Refused(Exception):
    """The write was refused because of other writers, and had no effect."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Unexpected(Exception):
    """A response that is neither a success nor a refusal to retry."""


class WriterClient(Protocol):
    """A client of one workspace. `tool` is the name of an operation; each item has its fields."""

    def read(self, path: str, slug: str) -> tuple[str, str]:
        """Return the text of a section, and the commit of that text."""
        ...

    def write(self, tool: str, items: Sequence[Mapping[str, str]], *, base: str | None, key: str) -> str:
        """Run operations as one commit, all or none, and return its id. Raises Refused, Unexpected."""
        ...


_OPERATIONS: Mapping[str, Callable[..., Operation]] = {
    **{
        kind.name: kind
        for kind in (
            AddSection,
            AddTask,
            AppendContent,
            UpdateContent,
            CompleteTask,
            RemoveSection,
            RemoveDocument,
        )
    },
    CreateDocument.name: lambda title, content, folder: CreateDocument(
        type=builtin_types()["document"], title=title, content=content, folder=folder
    ),
}


class DirectClient:
    """A workspace opened in this process."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def read(self, path: str, slug: str) -> tuple[str, str]:
        """Return the text of a section, and the commit of that text."""
        snapshot = self._workspace.snapshot()
        document = snapshot.document(path)
        assert snapshot.commit is not None
        return document.source(resolve_section(document, slug)).decode(), snapshot.commit

    def write(self, tool: str, items: Sequence[Mapping[str, str]], *, base: str | None, key: str) -> str:
        """Run operations as one commit, all or none, and return its id. Raises Refused, Unexpected."""
        operations = [_OPERATIONS[tool](**item) for item in items]
        try:
            written = self._workspace.write(
                operations,
                mode=Mode.ALL,
                tool=tool,
                client="soak",
                base_commit=base,
                request=Request(key, hashlib.sha256(repr((tool, items)).encode()).hexdigest(), lambda _: {}),
            )
        except WorkspaceError as error:
            if error.code in REFUSALS:
                raise Refused(error.code) from error
            raise
        if written.recorded_request is not None:
            return written.recorded_request.commit
        for step in written.steps:
            if step.error is not None:
                raise Unexpected(f"{tool} {items}: {step.error.code} {step.error.message}")
        if not written.is_committed or written.commit is None:
            raise Unexpected(f"{tool} {items}: no commit")
        return written.commit


# For each operation, the tool that runs it and the fields that the tool names differently.
_TOOLS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "create_document": ("create_document", {"content": "initial_content"}),
    "complete_task": ("complete_task", {}),
    "remove_document": ("remove_document", {}),
    "remove_section": ("remove_document", {}),
}


class ServerClient:
    """A client of a separate server over stdio."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def read(self, path: str, slug: str) -> tuple[str, str]:
        """Return the text of a section, and the commit of that text."""
        reply = self._server.call("view_document", file=path, slug=slug)
        assert not reply.is_error, reply.text
        return reply.data["content"], reply.data["commit"]

    def write(self, tool: str, items: Sequence[Mapping[str, str]], *, base: str | None, key: str) -> str:
        """Run operations as one commit, all or none, and return its id. Raises Refused, Unexpected."""
        name, renamed = _TOOLS.get(tool, ("edit_document", {}))
        fixed = {"operation": tool} if name == "edit_document" else {}
        if tool == "create_document":
            fixed = {"doc_type": "document"}
        calls = [{**fixed, **{renamed.get(field, field): item[field] for field in item}} for item in items]
        arguments: dict[str, Any] = calls[0] if len(calls) == 1 else {"operations": calls, "mode": "all"}
        if base is not None:
            arguments["base_commit"] = base
        reply = self._server.call(name, **arguments, idempotency_key=key)
        if reply.is_error:
            code = reply.data.get("code")
            if code in REFUSALS:
                raise Refused(str(code))
            raise Unexpected(f"{tool} {items}: {reply.text}")
        return str(reply.data["commit"])


@contextmanager
def open_client(repo: Path, *, home: Path | None, durable: bool) -> Iterator[WriterClient]:
    """Yield a client of a repository; with a home for the user, the client calls a server."""
    if home is None:
        yield DirectClient(Workspace.open(repo, durable=durable))
        return
    with serving(repo, home) as server:
        yield ServerClient(server)
