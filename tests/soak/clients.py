"""The clients of a writer: a workspace in its process, a server over stdio, and several nodes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from templates import builtin_types
from tests.acceptance.server import Server, ToolResponse, serve_repository
from tests.nodes import NodeUnreachable, call_node
from workspace.document.addresses import resolve_section
from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.operation import Operation
from workspace.edits.sections import AddSection, RemoveSection
from workspace.edits.tasks import AddTask, CompleteTask
from workspace.edits.text import AppendContent, UpdateContent
from workspace.errors import WorkspaceError
from workspace.workspace import Workspace
from workspace.writing.idempotency import KeyedRequest
from workspace.writing.plan import BatchMode

# A writer retries after these error codes: another process wrote first, or has a lock.
RETRYABLE_CODES = frozenset({"BUSY", "LOCKED", "WORKTREE_CONFLICT", "WORKTREE_BUSY"})


class WriteRefused(Exception):
    """The write was refused because of other writers, and had no effect."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class UnexpectedResponse(Exception):
    """A response that is neither a success nor a refusal after which a writer retries."""


class WriterClient(Protocol):
    """A client of one workspace. A write runs operations of one name; `items` has the fields of each."""

    def read(self, path: str, slug: str) -> tuple[str, str]:
        """Return the text of a section, and the commit of that text."""
        ...

    def write(
        self, operation_name: str, items: Sequence[Mapping[str, str]], *, base: str | None, key: str
    ) -> str:
        """Run all operations or none; return the commit id. Raises WriteRefused, UnexpectedResponse."""
        ...


_OPERATIONS: Mapping[str, Callable[..., Operation]] = {
    **{
        operation_class.name: operation_class
        for operation_class in (
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
    """A client that opens the workspace in this process."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def read(self, path: str, slug: str) -> tuple[str, str]:
        """Return the text of a section, and the commit of that text."""
        snapshot = self._workspace.snapshot()
        document = snapshot.document(path)
        assert snapshot.commit is not None
        return document.source(resolve_section(document, slug)).decode(), snapshot.commit

    def write(
        self, operation_name: str, items: Sequence[Mapping[str, str]], *, base: str | None, key: str
    ) -> str:
        """Run all operations or none; return the commit id. Raises WriteRefused, UnexpectedResponse."""
        operations = [_OPERATIONS[operation_name](**item) for item in items]
        try:
            write_result = self._workspace.write(
                operations,
                mode=BatchMode.ALL,
                tool=operation_name,
                client="soak",
                base_commit=base,
                keyed_request=KeyedRequest(
                    key, hashlib.sha256(repr((operation_name, items)).encode()).hexdigest(), lambda _: {}
                ),
            )
        except WorkspaceError as error:
            if error.code in RETRYABLE_CODES:
                raise WriteRefused(error.code) from error
            raise
        if write_result.recorded_request is not None:
            return write_result.recorded_request.commit
        for step in write_result.steps:
            if step.error is not None:
                raise UnexpectedResponse(f"{operation_name} {items}: {step.error.code} {step.error.message}")
        if not write_result.is_committed or write_result.commit is None:
            raise UnexpectedResponse(f"{operation_name} {items}: no commit")
        return write_result.commit


# The tool for each operation, and the fields that have a different name in the tool.
_TOOL_AND_FIELD_NAMES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "create_document": ("create_document", {"content": "initial_content"}),
    "complete_task": ("complete_task", {}),
    "remove_document": ("remove_document", {}),
    "remove_section": ("remove_document", {}),
}


class ServerClient:
    """A client of a separate server over stdio, or of several nodes over HTTP."""

    def __init__(self, server: Server | NodeConnection) -> None:
        self._server = server

    def read(self, path: str, slug: str) -> tuple[str, str]:
        """Return the text of a section, and the commit of that text."""
        response = self._server.call("view_document", file=path, slug=slug)
        assert not response.is_error, response.text
        return response.data["content"], response.data["commit"]

    def write(
        self, operation_name: str, items: Sequence[Mapping[str, str]], *, base: str | None, key: str
    ) -> str:
        """Run all operations or none; return the commit id. Raises WriteRefused, UnexpectedResponse."""
        tool, tool_fields = _TOOL_AND_FIELD_NAMES.get(operation_name, ("edit_document", {}))
        fixed_fields = {"operation": operation_name} if tool == "edit_document" else {}
        if operation_name == "create_document":
            fixed_fields = {"doc_type": "document"}
        calls = [
            {**fixed_fields, **{tool_fields.get(field, field): item[field] for field in item}}
            for item in items
        ]
        arguments: dict[str, Any] = calls[0] if len(calls) == 1 else {"operations": calls, "mode": "all"}
        if base is not None:
            arguments["base_commit"] = base
        response = self._server.call(tool, **arguments, idempotency_key=key)
        if response.is_error:
            code = response.data.get("code")
            if code in RETRYABLE_CODES:
                raise WriteRefused(str(code))
            raise UnexpectedResponse(f"{operation_name} {items}: {response.text}")
        return str(response.data["commit"])


_NODE_TIMEOUT_S = 40.0  # longer than a node waits for another one
# The result of the call is unknown, or nothing can be written now. Each call has a key, so it is sent again.
_RETRYABLE_NODE_CODES = frozenset({"RESULT_UNKNOWN", "ENGINE_UNAVAILABLE", "REMOTE_UNREACHABLE"})


class NodeConnection:
    """Calls of one node, and of the next one after it does not answer.

    Another node may lag behind. So reads are at the last commit of this client, which may have to arrive.
    """

    def __init__(self, urls: Sequence[str], number: int) -> None:
        self._urls = urls
        self._number = number
        self._commit: str | None = None

    def call(self, tool: str, /, **arguments: Any) -> ToolResponse:
        """Call a tool and return its response. Raises WriteRefused."""
        is_read = tool == "view_document"
        if is_read and self._commit is not None:
            arguments["ref"] = self._commit
        deadline = time.monotonic() + _NODE_TIMEOUT_S
        while True:
            try:
                response = call_node(
                    self._urls[self._number % len(self._urls)], tool, _NODE_TIMEOUT_S, **arguments
                )
            except NodeUnreachable as error:
                self._number += 1
                if is_read:
                    continue
                raise WriteRefused("UNREACHABLE") from error
            if is_read and response.is_error and time.monotonic() < deadline:
                time.sleep(0.2)
                continue
            if response.data.get("code") in _RETRYABLE_NODE_CODES:
                raise WriteRefused(response.data["code"])
            if not is_read and not response.is_error:
                self._commit = response.data["commit"]
            return response


@contextmanager
def open_client(
    repo: Path, *, home: Path | None, durable: bool, urls: Sequence[str] = (), number: int = 0
) -> Iterator[WriterClient]:
    """Yield a client of a repository.

    With a home folder of the user, the client calls a server. With `urls`, it calls the node with its number.
    """
    if urls:
        yield ServerClient(NodeConnection(urls, number))
        return
    if home is None:
        yield DirectClient(Workspace.open(repo, durable=durable))
        return
    with serve_repository(repo, home) as server:
        yield ServerClient(server)
