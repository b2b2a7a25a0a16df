"""The opened database and sources of a server of organizations, and the threads that follow both."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from docyard import environment
from docyard.database.database import Database, open_database
from docyard.database.errors import DatabaseUnavailable
from docyard.database.schema import SchemaMismatch, check_schema
from docyard.hosting.organization_sources import OrganizationFolders, OrganizationSources
from docyard.settings.file import ServerSettings
from docyard.sources.follower import Follower
from index.vectors.options import NO_EMBEDDING, EmbeddingOptions
from workspace.git.remotes.credentials import Access

RELOAD_INTERVAL_S = 1.0
"""The time between two looks for changes of the database."""


def restrict_access(access: Access, url_hosts: Sequence[str]) -> Access:
    """Return the credentials for the URLs that administrators of organizations may name.

    A token that belongs to no host would be sent to each host that they name, also to their own. So it is
    used only if they can name a single one.
    """
    hosts = {entry.partition("/")[0].lower() for entry in url_hosts}
    if access.token is None or not hosts or (len(hosts) == 1 and "{" not in next(iter(hosts))):
        return access
    return replace(access, token=None)


class OrganizationsService:
    """The content of a server of organizations, followed from `start` to `close`."""

    def __init__(
        self, settings: ServerSettings, folder: Path, embedding: EmbeddingOptions = NO_EMBEDDING
    ) -> None:
        from platformdirs import user_cache_path, user_data_path

        self.settings = settings
        self.folder = folder
        self.database: Database = open_database(settings.database.url, folder)
        self.engine = settings.engine.create_options()
        folders = OrganizationFolders(
            folder,
            user_data_path("docyard", appauthor=False) / "organizations",
            user_cache_path("docyard", appauthor=False) / "organizations",
        )
        self.hosting = OrganizationSources(
            self.database,
            folders,
            embedding,
            engine=self.engine,
            shares_groups=settings.identity.shared_groups,
        )
        self._is_schema_checked = False
        self._follower: Follower | None = None

    def start(self, *, leads: bool = True) -> None:
        """Read the organizations, and follow them and their sources.

        If `leads` is False, another process fetches the sources and builds their indexes. An unavailable
        database is waited for while the server runs. Raises SchemaMismatch. Must be called in the main
        thread, because it listens to SIGHUP.
        """
        self._check_schema()
        self.hosting.reload()
        self._follower = Follower(
            self.hosting, self._read_remote_access, self._reload, RELOAD_INTERVAL_S, leads=leads
        )
        self._follower.listen_to_hangup()
        self._follower.start()

    def read(self) -> None:
        """Read the organizations once, without following them. Raises SchemaMismatch, DatabaseUnavailable."""
        self._check_schema()
        self.hosting.reload()
        if self.hosting.failure is not None:
            raise self.hosting.failure

    def _read_remote_access(self) -> Access:
        return restrict_access(environment.read_remote_access(), self.settings.operator.url_hosts)

    def _reload(self) -> None:
        """Read the organizations if they have changed. The state of the database is logged."""
        try:
            self._check_schema()
        except SchemaMismatch as error:  # the database was unavailable at the start
            self.hosting.report_failure(error)
            return
        self.hosting.reload()

    def _check_schema(self) -> None:
        """Check the schema once, when the database is available. Raises SchemaMismatch."""
        if not self._is_schema_checked:
            with suppress(DatabaseUnavailable):
                check_schema(self.database)
                self._is_schema_checked = True

    def close(self) -> None:
        """Stop following, and close the sources and the database."""
        if self._follower is not None:
            self._follower.close()
        self.hosting.close()
        self.database.close()
