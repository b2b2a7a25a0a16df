"""The service of a server of many sources."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from docyard import environment
from docyard.service import Service
from docyard.sources.follower import Follower
from docyard.sources.record import record_applied
from docyard.sources.report import describe_sources
from docyard.telemetry.logs import StateText
from index.postgres.options import FILE_ENGINE, EngineOptions
from index.sources.settings import (
    InvalidSourcesFile,
    Mistake,
    SourcesFile,
    find_setting_line,
    read_sources_file,
)
from index.sources.sources import SourceFolders, Sources
from index.vectors.options import NO_EMBEDDING, EmbeddingOptions
from tools.retrieval.dispatcher import SourcesDispatcher

log = logging.getLogger("docyard")

if TYPE_CHECKING:
    from docyard.forges.webhooks.receiver import WebhookTarget
    from docyard.mcp_server.calls import CallObserver
    from docyard.sources.records import SourcesRecords


def create_sources(
    file: Path,
    content: SourcesFile | None = None,
    embedding: EmbeddingOptions = NO_EMBEDDING,
    engine: EngineOptions = FILE_ENGINE,
) -> Sources:
    """Return the sources of a file; each is opened when it is first asked for. Raises InvalidSourcesFile.

    `embedding` is the provider of vectors, unless the file names another one.
    """
    from platformdirs import user_cache_path, user_data_path

    folders = SourceFolders(
        settings_folder=file.parent,
        clone_folder=user_data_path("docyard", appauthor=False) / "sources",
        index_folder=user_cache_path("docyard", appauthor=False) / "sources",
    )
    content = content or read_sources_file(file)
    return Sources(content, folders, _read_embedding(file, content, embedding), engine=engine)


def _read_embedding(file: Path, content: SourcesFile, default: EmbeddingOptions) -> EmbeddingOptions:
    """Return the provider of a file. Raises InvalidSourcesFile if its settings contradict each other."""
    settings = content.embedding
    if settings is None:
        return default
    from docyard.embedding.errors import InvalidProvider
    from docyard.embedding.provider import ProviderOptions, create_embedder

    options = ProviderOptions(
        settings.provider, settings.model, settings.url, environment.read_embedding_key(), settings.dimensions
    )
    try:
        embedder = create_embedder(options, file.parent)
    except InvalidProvider as error:
        field = error.details.get("field", "provider")
        fix = f"Correct or set `{field}` in [embedding]."
        line = _find_line(file, field)
        mistake = Mistake(line, "embedding", f"embedding: {error.message}", fix)
        raise InvalidSourcesFile(file, [mistake]) from error
    if embedder is None:
        return EmbeddingOptions()
    from index.vectors.provider import QUESTION_TIMEOUT_S, Provider

    return EmbeddingOptions(Provider(embedder, settings.timeout or QUESTION_TIMEOUT_S))


def _find_line(file: Path, field: str) -> int | None:
    """Return the line of a setting of [embedding]; that of the table if the setting is missing."""
    try:
        return find_setting_line(file.read_text("utf-8"), ("embedding", field))
    except (OSError, UnicodeDecodeError):  # the file was changed after it was read
        return None


def build_sources_service(
    file: Path,
    toolsets: tuple[str, ...] | None,
    *,
    max_text_tokens: int | None = None,
    embedding: EmbeddingOptions = NO_EMBEDDING,
    engine: EngineOptions = FILE_ENGINE,
    leads: bool = True,
) -> Service:
    """Return the service of a file of sources. Raises InvalidSourcesFile.

    If `leads` is False, another process fetches the sources and builds their indexes. Must be called in the
    main thread, because it listens to SIGHUP.
    """
    sources = create_sources(file, embedding=embedding, engine=engine)
    records = None
    if sources.file.analytics is not None:
        # The libraries of the database are installed by the extra `server` only.
        from docyard.sources.records import SourcesRecords

        records = SourcesRecords(sources.file.analytics, sources, file.parent, engine)
    receive_report = records.receive_report if records is not None and records.recorder.is_recording else None
    dispatcher = SourcesDispatcher(sources, toolsets, max_text_tokens, receive_report)

    def reload() -> None:
        if _reload_sources(sources, file):
            dispatcher.on_list_change()

    follower = Follower(sources, environment.read_remote_access, reload, leads=leads)
    follower.listen_to_hangup()

    def warm(progress: object) -> None:
        record_applied(file, sources.file)
        follower.start()
        if records is not None:
            records.recorder.start()

    def close() -> None:
        follower.close()
        sources.close()
        if records is not None:
            records.close()

    def build_webhook_target() -> WebhookTarget:
        from docyard.sources.webhooks import SourceWebhooks

        return SourceWebhooks(sources, follower.request_fetch)

    return Service(
        dispatcher,
        may_write=False,
        load=lambda: None,
        warm=warm,
        close=close,
        get_index=None,
        get_tokens=lambda: None,
        notify_write=lambda: None,
        build_webhook_target=build_webhook_target,
        describe_sources=partial(describe_sources, sources),
        observer=_build_observer(sources, dispatcher, records),
        list_shared_indexes=(lambda: sources) if engine.database is not None else None,
    )


def _build_observer(
    sources: Sources, dispatcher: SourcesDispatcher, records: SourcesRecords | None
) -> CallObserver | None:
    """Return the limits and the records of a file as it is at the start; None if it has neither."""
    searches_per_minute = sources.file.limits.searches_per_minute
    is_recording = records is not None and records.recorder.is_recording
    if searches_per_minute is None and not is_recording:
        return None
    from docyard.limits.limiter import LimitedServer, Limiter
    from docyard.limits.observer import LimitingObserver
    from docyard.settings.settings import LimitsSection

    def list_namespaces() -> list[str]:
        return [source.name for source in sources]

    return LimitingObserver(
        Limiter(LimitsSection(searches_per_minute=searches_per_minute)),
        LimitedServer("", dispatcher.find_tool, list_namespaces),
        [records.observer] if records is not None and is_recording else [],
    )


def _reload_sources(sources: Sources, file: Path) -> bool:
    """Read the file of sources again; return True if it was applied. The mistakes of a file are logged."""
    old_file = sources.file
    try:
        plan = sources.replace(read_sources_file(file))
    except InvalidSourcesFile as error:
        log.warning(
            "the file of sources is invalid, and the sources stay as they are: %s", StateText(error.message)
        )
        return False
    record_applied(file, sources.file)
    log.warning(
        "the file of sources was read again: %s added, %s changed, %s removed%s",
        *(len(names) for names in plan[:3]),
        "" if _has_same_options(old_file, sources.file) else "; other settings have changed",
    )
    return True


def _has_same_options(old: SourcesFile, new: SourcesFile) -> bool:
    return (old.features, old.limits) == (new.features, new.limits)
