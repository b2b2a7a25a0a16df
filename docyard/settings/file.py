"""The reading of the configuration file and of the environment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from docyard.settings.fields import SettingField, find_model, mask_password
from docyard.settings.settings import (
    DatabaseSection,
    EngineSection,
    HttpSection,
    IdentitySection,
    LimitsSection,
    NotifySection,
    OperatorSection,
    RecordsSection,
    TelemetrySection,
)
from index.sources.settings import Mistake, describe_mistakes, find_setting_line, format_position
from workspace.config.toml import InvalidToml, load_toml
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest

ENVIRONMENT_PREFIX = "DOCYARD_SERVER__"
_UNUSED_PREFIX = "DOCYARD_UNUSED__"  # no variable begins with it
_MAX_FILE_BYTES = 1_000_000


class InvalidServerFile(WorkspaceError):
    """The configuration has mistakes, each with its line, if it is in the file."""

    code: ClassVar[str] = "INVALID_SERVER_FILE"

    def __init__(self, file: Path | None, mistakes: list[Mistake]) -> None:
        first = mistakes[0]
        more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
        super().__init__(f"{format_mistake(file, first)}{more}", fix=first.fix)
        self.file = file
        self.mistakes = tuple(mistakes)


def format_mistake(file: Path | None, mistake: Mistake) -> str:
    """Return a mistake with its position in the file, if it is not in a variable."""
    if file is None or mistake.setting.startswith(ENVIRONMENT_PREFIX):
        return mistake.message
    return f"{format_position(file, mistake)}: {mistake.message}"


class ServerSettings(BaseSettings):
    """All settings of a server. Variables of the environment override those of the file."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
    )

    http: HttpSection = HttpSection()
    database: DatabaseSection = DatabaseSection()
    engine: EngineSection = EngineSection()
    operator: OperatorSection = OperatorSection()
    identity: IdentitySection = IdentitySection()
    records: RecordsSection = RecordsSection()
    limits: LimitsSection = LimitsSection()
    telemetry: TelemetrySection = TelemetrySection()
    notify: NotifySection = NotifySection()

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
    return read_configuration(file).settings


class Configuration(NamedTuple):
    """The settings, and what they were read from: the file and its text, and the variables by name."""

    settings: ServerSettings
    file: Path | None
    text: str
    variables: Mapping[str, str]

    @property
    def folder(self) -> Path:
        """The folder to which the paths in the file are relative."""
        return (self.file or Path("file")).absolute().parent


def read_configuration(file: Path | None) -> Configuration:
    """Return the settings with their origins. Raises InvalidServerFile with all mistakes."""
    text = _read_text(file) if file is not None else ""
    try:
        table: Any = load_toml(text.encode())
    except InvalidToml as error:
        fix = error.fix.replace(" and commit it", "")
        raise InvalidServerFile(file, [Mistake(error.line, "", error.reason, fix)]) from error
    variables = _read_variables()
    mistakes = [*_find_variable_mistakes(variables), *_find_secrets(table, text)]
    try:
        try:
            settings = ServerSettings(**table)
        except SettingsError:  # a variable that is not JSON is among the mistakes
            settings = ServerSettings(_env_prefix=_UNUSED_PREFIX, **table)  # type: ignore[call-arg]
    except ValidationError as error:
        mistakes += [
            _name_variable(mistake, variables)
            for mistake in describe_mistakes(error, text, list_setting_names)
        ]
    if mistakes:
        mistakes = list({mistake.message: mistake for mistake in mistakes}.values())
        raise InvalidServerFile(file, sorted(mistakes, key=lambda mistake: mistake.line or 0))
    return Configuration(settings, file, text, variables)


def _read_variables() -> dict[str, str]:
    """Return the variables of the environment that begin with the prefix and are not empty, by name."""
    source = EnvSettingsSource(ServerSettings)
    return {
        name.upper(): value
        for name, value in source.env_vars.items()
        if value and name.upper().startswith(ENVIRONMENT_PREFIX)
    }


def format_variable(location: Sequence[str]) -> str:
    """Return the variable that sets a setting."""
    return ENVIRONMENT_PREFIX + "__".join(location).upper()


def _find_variable_mistakes(variables: Mapping[str, str]) -> Iterator[Mistake]:
    """Yield a mistake for each variable that names no setting, or needs JSON and has none."""
    fields = {format_variable(field.location): field for field in list_fields()}
    for name, value in variables.items():
        field = fields.get(name)
        if field is None:
            nearest = find_nearest(name, fields)
            fix = f"Did you mean {nearest[0]}?" if nearest else f"Unset it: `unset {name[:200]}`."
            yield Mistake(None, name, f"the variable {name[:200]} sets no setting", fix)
        elif field.is_list:
            try:
                is_list = isinstance(json.loads(value), list)
            except ValueError:
                is_list = False
            if not is_list:
                message = f"{name}: must be a JSON array"
                yield Mistake(None, name, message, f"Write {name}='[\"…\"]'.")


def _find_secrets(table: Mapping[str, Any], text: str) -> Iterator[Mistake]:
    """Yield a mistake for each secret in the file, which other users and backups may read."""
    for field in list_fields():
        section = table.get(field.location[0])
        value = section.get(field.location[1]) if isinstance(section, Mapping) else None
        if value is None:
            continue
        if field.is_secret or (isinstance(value, str) and mask_password(value) != value):
            setting, variable = ".".join(field.location), format_variable(field.location)
            line = find_setting_line(text, field.location)
            message = f"{setting}: must not contain a secret in the file"
            yield Mistake(line, setting, message, f"Remove it, and set the variable {variable}.")


def _name_variable(mistake: Mistake, variables: Mapping[str, str]) -> Mistake:
    """Return a mistake with the variable that it is in, if it is in one."""
    location = mistake.setting.split(".")
    variable = format_variable(location[:2])
    if len(location) < 2 or variable not in variables:
        return mistake
    message = mistake.message.replace(mistake.setting[:200], variable, 1)
    return Mistake(None, variable, message, f"Correct {variable}.")


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
        model = find_model(field.annotation) or model
    return list(model.model_fields)


def list_fields() -> Iterator[SettingField]:
    """Yield all settings, in the order of the models."""
    for section_name, section_field in ServerSettings.model_fields.items():
        section = find_model(section_field.annotation)
        assert section is not None
        for name, field in section.model_fields.items():
            yield SettingField((section_name, name), field)
