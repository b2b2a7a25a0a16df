"""The sources of all organizations, which follow the database, and the tools of a view.

The dispatcher of a view knows only the namespaces of the view, so no answer, list, hint or error can depend
on others. Sources of two organizations share neither indexes nor clones.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from docyard.caller import Principal
from docyard.database.database import Database
from docyard.database.errors import DatabaseUnavailable
from docyard.hosting.views import View, build_view
from docyard.organizations.directory import (
    EMPTY_DIRECTORY,
    Directory,
    read_directory,
    read_directory_version,
)
from docyard.telemetry.logs import StateText
from index.postgres.options import FILE_ENGINE, EngineOptions
from index.sources.source import Source
from index.sources.sources import SourceFolders, Sources
from index.vectors.options import NO_EMBEDDING, EmbeddingOptions
from tools.records.problem_reports import ReceiveReport
from tools.retrieval.dispatcher import SourcesDispatcher
from workspace.errors import WorkspaceError

log = logging.getLogger("docyard")


class OrganizationFolders(NamedTuple):
    """The folder of the settings, and those in which each organization gets a folder of its own."""

    settings_folder: Path
    clones_folder: Path
    indexes_folder: Path

    def select(self, organization_id: str) -> SourceFolders:
        """Return the folders of an organization."""
        return SourceFolders(
            self.settings_folder, self.clones_folder / organization_id, self.indexes_folder / organization_id
        )


class OrganizationSources:
    """The organizations of a database and their sources. Safe to use from threads; `reload` from one only.

    With `shares_groups` the organizations share the groups of the identity provider, as does the only
    organization of a server. `on_change` is called with the ids of the changed and removed organizations
    after a change of the database was applied.
    """

    def __init__(
        self,
        database: Database,
        folders: OrganizationFolders,
        embedding: EmbeddingOptions = NO_EMBEDDING,
        *,
        engine: EngineOptions = FILE_ENGINE,
        shares_groups: bool = False,
    ) -> None:
        self._shares_groups = shares_groups
        self._database = database
        self._folders = folders
        self._embedding = embedding
        self._engine = engine
        self._directory = EMPTY_DIRECTORY
        self._sources: Mapping[str, Sources] = {}
        self._failure: WorkspaceError | None = None
        self.on_change: Callable[[frozenset[str]], object] = lambda organization_ids: None

    @property
    def directory(self) -> Directory:
        """The directory that was read last."""
        return self._directory

    @property
    def failure(self) -> WorkspaceError | None:
        """The reason why the database could not be read at the last attempt; None if it was read."""
        return self._failure

    @property
    def is_ready(self) -> bool:
        """True if a directory was read since the start, also if the database is unavailable now."""
        return self._directory is not EMPTY_DIRECTORY

    def __iter__(self) -> Iterator[Source]:
        for sources in tuple(self._sources.values()):
            yield from sources

    def reload(self) -> None:
        """Read the directory if it has changed. Without the database, the last directory stays in use."""
        try:
            if read_directory_version(self._database) != self._directory.version:
                self._apply(read_directory(self._database))
        except DatabaseUnavailable as error:
            self.report_failure(error)
            return
        if self._failure is not None:
            log.warning("the organizations can be read again")
            self._failure = None

    def report_failure(self, error: WorkspaceError) -> None:
        """Store the reason why the database cannot be read, and log it once until the reason changes."""
        if self._failure is None or self._failure.message != error.message:
            reason = StateText(f"{error.message}. {error.fix}")
            log.warning("the organizations cannot be read: %s", reason)
        self._failure = error

    def find_view(self, organization: str, server: str, principal: Principal | None) -> View | None:
        """Return the view that a caller has of a server; None if it does not exist for this caller."""
        found = self._directory.find_server(organization, server)
        return build_view(self._directory, *found, principal) if found is not None else None

    def find_host_view(self, host: str, principal: Principal | None) -> View | None:
        """Return the view that a caller has of the server with a host; None if it does not exist for them."""
        found = self._directory.find_host(host)
        return build_view(self._directory, *found, principal) if found is not None else None

    def list_views(self, principal: Principal | None) -> list[View]:
        """Return the views that a caller has of all servers."""
        directory = self._directory
        views = (build_view(directory, *entries, principal) for entries in directory)
        return [view for view in views if view is not None]

    def build_dispatcher(
        self,
        view: View,
        toolsets: tuple[str, ...] | None = None,
        receive_report: ReceiveReport | None = None,
    ) -> SourcesDispatcher | None:
        """Return the tools of a view; None if the view is older than the sources.

        `receive_report` stores reports of problems; without it there is no tool for them.
        """
        server, sources = view.server, self._sources.get(view.organization.id)
        is_current = self._directory.organizations.get(view.organization.slug) is view.organization
        if sources is None or not is_current:
            return None
        view_sources = sources.restrict(view.namespaces, server.features, server.limits)
        return SourcesDispatcher(view_sources, toolsets, receive_report=receive_report)

    def close(self) -> None:
        """Close the files of all sources."""
        for sources in self._sources.values():
            sources.close()

    def _apply(self, directory: Directory) -> None:
        """Replace the sources that have changed; the others stay open."""
        old_sources = self._sources
        new_sources: dict[str, Sources] = {}
        for organization in directory.organizations.values():
            sources = old_sources.get(organization.id)
            if sources is None:
                folders = self._folders.select(organization.id)
                sources = Sources(
                    organization.build_sources_file(), folders, self._embedding, organization.id, self._engine
                )
            else:
                sources.replace(organization.build_sources_file())
            new_sources[organization.id] = sources
        old_organizations = self._directory.organizations
        # Unchanged entries stay the same objects, so that their views stay current.
        organizations = {
            slug: old_entry if (old_entry := old_organizations.get(slug)) == entry else entry
            for slug, entry in directory.organizations.items()
        }
        changed_ids = frozenset(
            entry.id for slug, entry in old_organizations.items() if organizations.get(slug) is not entry
        )
        self._sources = new_sources
        shares_groups = self._shares_groups or len(organizations) == 1
        self._directory = replace(directory, organizations=organizations, shares_groups=shares_groups)
        self.on_change(changed_ids)
