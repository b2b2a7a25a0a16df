"""The settings of the configuration file that the server over HTTP needs, checked before it starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from docyard.http.settings import InvalidOptions, build_http_settings, parse_page_url
from docyard.settings.file import format_variable
from index.sources.settings import Mistake, find_setting_line
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.http.settings import HttpSettings
    from docyard.settings.file import Configuration
    from docyard.settings.settings import (
        HttpSection,
        MissingHalf,
        NotifySection,
        TelemetrySection,
    )
    from docyard.telemetry.logs import LogOptions

_SETTINGS_BY_OPTION = {"--http": "listen", "--allow-host": "allow_hosts", "--page-url": "page_url"}


class InvalidHttpSection(WorkspaceError):
    """A setting of [http] is invalid; `setting` is its name."""

    code = "INVALID_SERVER_FILE"

    def __init__(self, setting: str, reason: str) -> None:
        super().__init__(f"http.{setting}: {reason}", fix=f"Correct http.{setting}.")
        self.setting = setting


class IncompleteNotifySection(WorkspaceError):
    """A setting of [notify] lacks its secret, or a secret lacks its setting, whose name is `setting`."""

    code = "INVALID_SERVER_FILE"

    def __init__(self, half: MissingHalf) -> None:
        super().__init__(f"notify: {half.message}", fix=half.fix)
        self.setting = half.setting


def build_configured_settings(
    section: HttpSection, token_file: Path | None = None, *, no_token: bool, read_only: bool
) -> HttpSettings:
    """Return the settings of a server for a section of the file. Raises InvalidHttpSection, CommandError."""
    try:
        page_url = None if section.page_url is None else parse_page_url(section.page_url)
    except ValueError as error:
        raise InvalidHttpSection("page_url", str(error)) from None
    try:
        return build_http_settings(
            section.listen,
            section.allow_hosts,
            token_file,
            no_token=no_token,
            read_only=read_only,
            page_url=page_url,
        )
    except InvalidOptions as error:
        option, _, reason = str(error).partition(" ")
        setting = _SETTINGS_BY_OPTION.get(option.rstrip(":"), "listen")
        reason = reason.replace("--allow-host NAME", "http.allow_hosts")
        raise InvalidHttpSection(setting, reason) from None


def build_log_options(section: TelemetrySection) -> LogOptions:
    """Return the options of logs for a section of the file."""
    from docyard.telemetry.logs import LogOptions

    return LogOptions(
        section.log_format == "json", section.log_level, section.access_log, section.log_content
    )


def check_notify_section(section: NotifySection, page_url: str | None) -> None:
    """Raise an error if a secret is missing, or if notifications would have no URLs.

    `page_url` is that of the pages. Raises IncompleteNotifySection, InvalidHttpSection.
    """
    for half in section.find_missing_halves():
        raise IncompleteNotifySection(half)
    _check_notification_urls(section, page_url)


def _check_notification_urls(section: NotifySection, page_url: str | None) -> None:
    """Raise InvalidHttpSection if notifications would have no URLs."""
    if section.is_enabled and page_url is None:
        raise InvalidHttpSection("page_url", "must be set, because notifications have URLs of pages")


def check_configuration(configuration: Configuration) -> Iterator[Mistake]:
    """Yield the mistakes that only the parts of a server find: addresses, the database, and folders."""
    settings = configuration.settings
    try:
        http_settings = build_configured_settings(settings.http, no_token=True, read_only=True)
    except InvalidHttpSection as error:
        yield _build_mistake(configuration, ("http", error.setting), error.message, error.fix)
    else:
        from docyard.identity.identity import IncompleteIdentity, check_identity

        page_url = http_settings.build_page_url(http_settings.address.port)
        for half in settings.notify.find_missing_halves():
            line = find_setting_line(configuration.text, ("notify", half.setting))
            yield Mistake(line, "notify", f"notify: {half.message}", half.fix)
        try:
            _check_notification_urls(settings.notify, page_url)
        except InvalidHttpSection as error:
            yield _build_mistake(configuration, ("http", error.setting), error.message, error.fix)
        try:
            check_identity(settings.identity, page_url)
        except IncompleteIdentity as error:
            line = find_setting_line(configuration.text, ("identity",))
            yield Mistake(line, "identity", error.message, error.fix)
    from docyard.database.database import open_database
    from docyard.database.errors import DatabaseUnavailable, InvalidDatabaseURL

    try:
        database = open_database(settings.database.url, configuration.folder)
        database.close()
        database.check_writable()
    except DatabaseUnavailable as error:
        yield _build_mistake(configuration, ("database", "url"), f"database.url: {error.message}", error.fix)
    except InvalidDatabaseURL as error:
        yield _build_mistake(configuration, ("database", "url"), f"database.url: {error.message}", error.fix)
    for root in settings.operator.roots:
        fixed_part = root.partition("{")[0]
        if not (configuration.folder / Path(fixed_part).expanduser()).is_dir():
            message = f"operator.roots: the folder does not exist ({root})"
            yield _build_mistake(configuration, ("operator", "roots"), message, "Create it, or remove it.")


def _build_mistake(
    configuration: Configuration, location: tuple[str, str], message: str, fix: str
) -> Mistake:
    """Return a mistake with its line, or with the variable that sets the setting."""
    setting, variable = ".".join(location), format_variable(location)
    if variable in configuration.variables:
        return Mistake(None, variable, message.replace(setting, variable, 1), fix)
    return Mistake(find_setting_line(configuration.text, location), setting, message, fix)
