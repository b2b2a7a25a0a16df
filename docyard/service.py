"""The content that a server offers: a repository, or an artifact and its replacements."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from docyard import environment
from index.postgres.options import FILE_ENGINE, hash_remote_url
from index.vectors.options import NO_EMBEDDING
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.forges.webhooks.receiver import WebhookTarget
    from docyard.mcp_server.calls import CallObserver
    from docyard.nodes.node import Node
    from index.artifacts.search_index import ArtifactSearchIndex
    from index.postgres.options import EngineOptions
    from index.service import SearchIndex
    from index.storage.metadata import MetadataProblem
    from index.vectors.options import EmbeddingOptions
    from tools.dispatcher import Dispatcher
    from workspace.policy.tokens import Tokens
    from workspace.workspace import Workspace

    Progress = Callable[[int, int, str], None]

log = logging.getLogger("docyard")
progress_log = logging.getLogger("docyard.progress")
"""The log of long work. `docyard serve` shows its messages of the level INFO unless a level is configured."""

_PROGRESS_INTERVAL_S = 1.0


class SharedIndex(Protocol):
    """An index of a node that other nodes share. `open` yields it for one call."""

    @property
    def name(self) -> str:
        """The name of the source; empty for a repository."""

    def open(self) -> AbstractContextManager[SearchIndex]:
        """Yield the index. Raises WorkspaceError."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class RepositoryIndex:
    """The shared index of a repository."""

    index: SearchIndex
    name: str = ""

    def open(self) -> AbstractContextManager[SearchIndex]:
        """Return a context with the index, which stays open after it."""
        return nullcontext(self.index)


@dataclass(frozen=True, slots=True)
class Service:
    """The content that one server offers.

    `load` opens the existing index. `warm` updates the index, may be slow, and is called with a progress
    function. Both run in the background. `close` is called once, when the server ends. `get_index` returns
    the index for a new request; it is None for many sources, which have no pages. `get_tokens` returns the
    tokens of people, or None if an artifact is served. `notify_write` is called after a possible write.
    `build_webhook_target` returns the reaction to webhooks; it is None if the server has no remote.
    `build_reading_dispatcher` returns a dispatcher without the tools that write; it is None if none writes.
    `describe_sources` returns the state of each source of a server of many. `observer` limits and records
    calls. `list_shared_indexes` returns the indexes that other nodes share; it is None if they are in files.
    `node` is this server as one of several nodes that write the repository; None if it writes alone.
    `shared_engine` is the engine in whose database nodes share people and sessions, with the repository; None
    if this server has its own.
    """

    dispatcher: Dispatcher
    may_write: bool
    load: Callable[[], object]
    warm: Callable[[Any], object]
    close: Callable[[], object]
    get_index: Callable[[], SearchIndex] | None
    get_tokens: Callable[[], Tokens | None]
    notify_write: Callable[[], object]
    build_webhook_target: Callable[[], WebhookTarget] | None = None
    describe_sources: Callable[[], Sequence[dict[str, Any]]] | None = None
    build_reading_dispatcher: Callable[[], Dispatcher] | None = None
    observer: CallObserver | None = None
    list_shared_indexes: Callable[[], Iterable[SharedIndex]] | None = None
    node: Node | None = None
    shared_engine: EngineOptions | None = None


def build_repository_service(
    workspace: Workspace,
    toolsets: tuple[str, ...] | None,
    *,
    read_only: bool,
    syncs: bool,
    max_text_tokens: int | None = None,
    embedding: EmbeddingOptions = NO_EMBEDDING,
    engine: EngineOptions = FILE_ENGINE,
    node_url: str | None = None,
) -> Service:
    """Return the service of a branch of a repository; with `syncs`, it synchronises with a remote.

    With `node_url`, other nodes write the repository too, and reach this one at that URL.

    Raises InvalidConfig if the settings are invalid, because every call would fail. With `node_url`, raises
    the errors of `Node`.
    """
    from docyard.forges.forge_checker import ForgeChecker
    from docyard.forges.pull_request_report import build_pull_request_opener
    from docyard.sync import Synchronizer
    from index.service import SearchIndex
    from tools.dispatcher import ToolDispatcher

    shared_engine = None
    if engine.database is not None:
        from index.postgres.shared_tokens import share_tokens

        share_tokens(workspace, engine)
        # Without a remote, it may be another repository on each node.
        if (repository := hash_remote_url(workspace.git)) is not None:
            shared_engine = engine._replace(repository=repository)
    workspace.check_settings()
    workspace.pull_request_opener = build_pull_request_opener(
        workspace, environment.read_forge_access, environment.read_remote_access
    )
    index = SearchIndex(workspace, embedding=embedding, engine=engine)
    shared_index = RepositoryIndex(index)
    workspace.inbound_links = index
    dispatcher = ToolDispatcher(workspace, index, toolsets, read_only, max_text_tokens)
    forge_checker = ForgeChecker(workspace, environment.read_forge_access)
    synchronizer = Synchronizer(workspace, environment.read_remote_access, forge_checker)
    dispatcher.on_write = synchronizer.notify_commit
    if syncs:
        dispatcher.request_fetch = synchronizer.request_fetch
    node = None
    if node_url is not None and engine.database is not None:
        from docyard.nodes.node import Node

        node = Node(workspace, environment.read_remote_access, engine.database, node_url)
        dispatcher.route_write = node.route

    def load() -> None:
        # `update_to_tip` rebuilds an index that cannot be opened, or raises the error of the rebuild.
        with suppress(WorkspaceError):
            index.preload()

    def warm(progress: Progress) -> None:
        load()
        try:
            workspace.recover()
        except WorkspaceError as error:  # each write recovers first, and then raises this error
            log.warning("the recovery after a crash failed: %s", error)
        index.update_to_tip(progress)
        index.links.update_in_background(workspace.snapshot())

    def start_and_warm(progress: Progress) -> None:
        if syncs:
            synchronizer.start()
        warm(progress)

    def close() -> None:
        synchronizer.close()
        if node is not None:
            node.close()
        index.close()

    def get_tokens() -> Tokens:
        return workspace.tokens

    def build_reading_dispatcher() -> Dispatcher:
        reading_dispatcher = ToolDispatcher(workspace, index, toolsets, True, max_text_tokens)
        reading_dispatcher.request_fetch = dispatcher.request_fetch
        return reading_dispatcher

    def build_webhook_target() -> WebhookTarget:
        from docyard.forges.webhooks.branch import BranchWebhooks
        from docyard.forges.webhooks.exchange_queue import ExchangeQueue

        exchanges = ExchangeQueue(
            workspace, environment.read_remote_access, forge_checker, synchronizer.notify_commit
        )
        return BranchWebhooks(workspace, exchanges, environment.read_forge_access)

    return Service(
        dispatcher,
        not read_only,
        load,
        start_and_warm,
        close,
        lambda: index,
        get_tokens,
        synchronizer.notify_commit,
        build_webhook_target if syncs else None,
        build_reading_dispatcher=None if read_only else build_reading_dispatcher,
        list_shared_indexes=(lambda: [shared_index]) if engine.database is not None else None,
        node=node,
        shared_engine=shared_engine,
    )


def build_artifact_service(
    folder: Path,
    key: Path | None,
    toolsets: tuple[str, ...] | None,
    *,
    max_text_tokens: int | None = None,
    embedding: EmbeddingOptions = NO_EMBEDDING,
) -> Service:
    """Return the service of an artifact and of its replacements. Raises WorkspaceError if it is invalid."""
    from index.artifacts.swap import Artifacts
    from index.storage.keys import read_key_file
    from tools.dispatcher import ToolDispatcher

    artifacts = Artifacts(
        folder,
        read_key_file(key) if key else None,
        _log_refusal,
        build_log_progress(),
        _log_problem,
        embedding,
    )
    dispatcher = ToolDispatcher.for_changing_index(
        artifacts.get_open_index, artifacts.get_index, toolsets, max_text_tokens
    )
    index = artifacts.get_index()
    index.workspace.check_settings()
    artifact_embedding = index.metadata().embedding
    if artifact_embedding is not None and embedding.provider is None:
        log.warning(
            "the artifact has vectors of %s %s, which are used only with the same --embedding-provider and "
            "--embedding-model",
            artifact_embedding.provider,
            artifact_embedding.model,
        )
    if not index.artifact.is_trusted:
        # Without a key, the operator has not chosen to use the artifact's own index.
        level = logging.INFO if key is None else logging.WARNING
        reason = _explain_distrust(index, key)
        log.log(
            level, "the artifact's own index is not used (%s); an index is built from its documents", reason
        )

    def load() -> None:
        with suppress(WorkspaceError):  # the next request raises this error
            artifacts.get_open_index()

    def warm(progress: Progress) -> None:
        load()
        artifacts.get_open_index().update_to_tip(progress)

    return Service(
        dispatcher, False, load, warm, artifacts.close, artifacts.get_open_index, lambda: None, lambda: None
    )


def _explain_distrust(index: ArtifactSearchIndex, key: Path | None) -> str:
    """Return the reason why an artifact's own index is not used."""
    from index.storage.location import SCHEMA_VERSION

    if key is None:
        return "no --key was given"
    if index.artifact.manifest.schema != SCHEMA_VERSION:
        return "it was built by another version of docyard"
    return "its seal does not match this key"


def build_log_progress() -> Progress:
    """Return a progress function that logs its arguments at most once a second."""
    last_log_time = time.monotonic()

    def report(count: int, total: int, message: str) -> None:
        nonlocal last_log_time
        if (now := time.monotonic()) - last_log_time >= _PROGRESS_INTERVAL_S:
            last_log_time = now
            if total:
                progress_log.info("%s: %s of %s", message, f"{count:,}", f"{total:,}")
            else:
                progress_log.info("%s", message)

    return report


def _log_problem(problem: MetadataProblem) -> None:
    log.warning(
        "metadata.json is invalid at %s, and this field is ignored: %s", problem.field, problem.reason
    )


def _log_refusal(error: WorkspaceError) -> None:
    log.warning("the new artifact is not served: %s. %s", error.message, error.fix)
