"""The organization `default` in the database of a server whose sources are not in a database.

Its rows follow the sources, so that records refer to them. The database may be unavailable when the server
starts, so its tables and rows are created at the first access.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docyard.database.database import Database
from docyard.database.schema import check_schema
from docyard.organizations.directory import read_directory
from docyard.organizations.sources_file import DEFAULT_NAME, import_sources_file
from docyard.records.rows import RecordTarget
from index.sources.settings import SourcesFile


class DefaultOrganization:
    """The rows of a server. `get_content` returns its current sources.

    Paths are relative to `folder`.
    """

    def __init__(self, database: Database, folder: Path, get_content: Callable[[], SourcesFile]) -> None:
        self._database = database
        self._folder = folder
        self._get_content = get_content
        self._content: SourcesFile | None = None
        self._target: RecordTarget | None = None

    def get_target(self) -> RecordTarget:
        """Return the ids of the rows, which are written again if the sources have changed.

        Raises DatabaseUnavailable and SchemaMismatch.
        """
        content = self._get_content()
        if self._target is None or content is not self._content:
            if self._target is None:
                check_schema(self._database)
            import_sources_file(self._database, content, self._folder)
            organization = read_directory(self._database).organizations[DEFAULT_NAME]
            namespace_ids = {name: organization.namespace_ids[name] for name in content.sources}
            server = organization.servers[DEFAULT_NAME]
            self._target = RecordTarget(organization.id, server.id, namespace_ids)
            self._content = content
        return self._target
