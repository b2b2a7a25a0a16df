"""The reading of the configuration file and of the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from docyard.settings.settings import (
    DatabaseSection,
    HttpSection,
    IdentitySection,
    LimitsSection,
    OperatorSection,
    RecordsSection,
    TelemetrySection,
)
from index.sources.settings import Mistake, describe_mistakes, format_position
from workspace.config.toml import InvalidToml, load_toml
from workspace.errors import WorkspaceError

ENVIRONMENT_PREFIX = "DOCYARD_SERVER__"
_MAX_FILE_BYTES = 1_000_000


class InvalidServerFile(WorkspaceError):
    """The configuration has mistakes, each with its line, if it is in the file."""

    code: ClassVar[str] = "INVALID_SERVER_FILE"

    def __init__(self, file: Path | None, mistakes: list[Mistake]) -> None:
        first = mistakes[0]
        more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
        position = f"{format_position(file, first)}: " if file is not None else ""
        super().__init__(f"{position}{first.message}{more}", fix=first.fix)
        self.mistakes = tuple(mistakes)


class ServerSettings(BaseSettings):
    """All settings of a server. Variables of the environment override those of the file."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True
    )

    http: HttpSection = HttpSection()
    database: DatabaseSection = DatabaseSection()
    operator: OperatorSection = OperatorSection()
    identity: IdentitySection = IdentitySection()
    records: RecordsSection = RecordsSection()
    limits: LimitsSection = LimitsSection()
    telemetry: TelemetrySection = TelemetrySection()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources, the most important first: the environment, then the values of the file."""
        assert isinstance(init_settings, InitSettingsSource)
        return env_settings, init_settings


def read_server_file(file: Path | None) -> ServerSettings:
    """Return the settings of a file and of the environment; None reads the environment alone.

    Raises InvalidServerFile with all mistakes.
    """
    text = _read_text(file) if file is not None else ""
    try:
        table: Any = load_toml(text.encode())
    except InvalidToml as error:
        fix = error.fix.replace(" and commit it", "")
        raise InvalidServerFile(file, [Mistake(error.line, "", error.reason, fix)]) from error
    try:
        return ServerSettings(**table)
    except ValidationError as error:
        mistakes = list(describe_mistakes(error, text, list_setting_names))
        raise InvalidServerFile(file, sorted(mistakes, key=lambda mistake: mistake.line or 0)) from None


def _read_text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_FILE_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        reason = f"the file cannot be read ({error.strerror})"
        raise InvalidServerFile(file, [Mistake(None, "", reason, "Name a readable file.")]) from None
    except UnicodeDecodeError:
        mistake = Mistake(None, "", "the file is not UTF-8", "Save it as UTF-8.")
        raise InvalidServerFile(file, [mistake]) from None
    if len(data) > _MAX_FILE_BYTES:
        mistake = Mistake(
            None, "", f"the file has more than {_MAX_FILE_BYTES:,} bytes", "Name a configuration file."
        )
        raise InvalidServerFile(file, [mistake])
    return text


def list_setting_names(location: tuple[str, ...]) -> list[str]:
    """Return the names of the settings of a table, or those of the tables."""
    model: Any = ServerSettings
    for part in location:
        field = None if part.isdigit() else model.model_fields.get(part)
        if field is None:
            continue
        annotation = field.annotation
        arguments = [*getattr(annotation, "__args__", ()), annotation]
        model = next(
            (item for item in arguments if isinstance(item, type) and issubclass(item, BaseModel)), model
        )
    return list(model.model_fields)
