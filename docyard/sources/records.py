"""The records of a server with a file of sources, as its table [analytics] says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from docyard.database.database import open_database
from docyard.records.problem_reports import build_report_receiver
from docyard.records.recorder import Recorder
from docyard.settings.settings import RecordsSection
from docyard.sources.default_organization import DefaultOrganization

if TYPE_CHECKING:
    from index.postgres.options import EngineOptions
    from index.sources.settings import Analytics
    from index.sources.sources import Sources


class SourcesRecords:
    """The recorder, and the observer and the receiver of reports that use it.

    The database is opened by the thread that writes, so that a server starts without it. Raises
    InvalidDatabaseURL.
    """

    def __init__(self, analytics: Analytics, sources: Sources, folder: Path, engine: EngineOptions) -> None:
        self._database = open_database(analytics.database_url, folder)
        organization = DefaultOrganization(self._database, folder, lambda: sources.file)
        settings = RecordsSection(mode=analytics.mode, retention_days=analytics.retention_days)
        self.recorder = Recorder(self._database, settings, prepare=organization.get_target, engine=engine)
        self.observer = self.recorder.observe_server(organization.get_target)
        self.receive_report = build_report_receiver(self._database, organization.get_target)

    def close(self) -> None:
        """Record the calls that wait, and close the database."""
        self.recorder.close()
        self._database.close()
