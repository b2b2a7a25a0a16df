"""A server of one repository with a configuration file: its limits, records, metrics and notifications."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from docyard.caller import is_operator
from docyard.database.database import open_database
from docyard.http.monitoring import Monitoring
from docyard.notifications.channels import build_senders
from docyard.notifications.events import EventReader
from docyard.notifications.notifier import Notifier
from docyard.notifications.queue import NotificationQueue, QueueOwner
from docyard.records.summary import read_daily_searches
from docyard.sources.default_organization import DefaultOrganization
from docyard.web.records.proposals import build_document_proposer
from docyard.web.records.records import RecordsAccess
from docyard.web.records.routes import build_records_routes
from docyard.web.urls import PageUrls
from index.sources.settings import SourceSettings, SourcesFile

if TYPE_CHECKING:
    from datetime import date

    from starlette.routing import BaseRoute

    from docyard.caller import Caller
    from docyard.http.health import PartState
    from docyard.http.operations import Operations
    from docyard.mcp_server.calls import CallObserver
    from docyard.settings.file import ServerSettings
    from docyard.web.site import Site
    from index.postgres.options import EngineOptions
    from tools.dispatcher import Dispatcher

_OTHER_CHARACTER = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_NAME_CHARACTERS = 64
_DEFAULT_NAME = "documents"


class ConfiguredRepository:
    """The settings of a server, and what they enable for its repository: start it, and close it at the end.

    In the records the repository is a namespace with the name of its folder. Raises InvalidDatabaseURL.
    """

    def __init__(
        self, settings: ServerSettings, folder: Path, repository: Path, engine: EngineOptions
    ) -> None:
        self.settings = settings
        self._name = name = build_namespace_name(repository)
        content = SourcesFile(sources={name: SourceSettings(repo=str(repository.absolute()))})
        self._database = open_database(settings.database.url, folder)
        self._organization = DefaultOrganization(self._database, folder, lambda: content)
        self._monitoring = Monitoring(settings, self._database, engine, self._organization.get_target)
        self._notifier: Notifier | None = None

    def start(self, site: Site | None) -> None:
        """Start to record, and to notify of the proposals that the pages show."""
        self._monitoring.start()
        if self.settings.notify.is_enabled and site is not None:
            self._notifier = self._build_notifier(site)
            self._notifier.start()

    def close(self) -> None:
        """Record the calls that wait, end the running delivery, and close the database."""
        if self._notifier is not None:
            self._notifier.close()
        self._monitoring.close()
        self._database.close()

    def observe(self, dispatcher: Dispatcher) -> CallObserver:
        """Return the limits and the records of the tools of a dispatcher."""
        return self._monitoring.observe_server("", dispatcher.find_tool, tuple, self._organization.get_target)

    def build_operations(self, parts: Mapping[str, Callable[[], PartState]]) -> Operations:
        """Return the operation of the server. `parts` return their states for `/readyz`."""
        return self._monitoring.build_operations(parts)

    @property
    def has_records(self) -> bool:
        """True if the server records searches, and has a page of them."""
        return self.settings.records.mode != "off"

    def read_searches(self, first_day: date, last_day: date) -> dict[date, tuple[int, int]]:
        """Return the recorded searches of each day, and those that found nothing.

        Raises DatabaseUnavailable and SchemaMismatch.
        """
        organization_id = self._organization.get_target().organization_id
        with self._database.connect() as connection:
            return read_daily_searches(connection, organization_id, first_day, last_day)

    def build_routes(self, site: Site | None) -> list[BaseRoute]:
        """Return the routes of the pages of records, which operators see."""
        if not self.has_records:
            return []
        propose = None if site is None or site.read_only else build_document_proposer(site)
        access = RecordsAccess(
            self._database,
            self.settings.records.mode,
            self._list_organization_ids,
            propose,
            (("Library", "/"), ("Tasks", "/tasks"), ("Proposals", "/proposals"), ("Records", "/records")),
        )
        return build_records_routes(access)

    def _build_notifier(self, site: Site) -> Notifier:
        section, workspace = self.settings.notify, site.index().workspace
        return Notifier(
            workspace,
            section,
            EventReader(workspace, self._name, PageUrls().proposal),
            NotificationQueue(self._database, self._get_queue_owner),
            build_senders(section, site.page_url or ""),
            lambda: site.list_proposals(workspace, site.versions.get_current(workspace)),
        )

    def _get_queue_owner(self) -> QueueOwner:
        target = self._organization.get_target()
        return QueueOwner(target.organization_id, target.namespace_ids[self._name])

    def _list_organization_ids(self, caller: Caller) -> Collection[str]:
        return [self._organization.get_target().organization_id] if is_operator(caller) else []


def build_namespace_name(repository: Path) -> str:
    """Return the name of a repository's folder as the name of a namespace."""
    name = _OTHER_CHARACTER.sub("-", repository.absolute().name.removesuffix(".git"))
    return name.strip("._-")[:_MAX_NAME_CHARACTERS] or _DEFAULT_NAME
