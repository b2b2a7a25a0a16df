"""The origin of each setting: a line of the file, a variable, or the default."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from docyard.settings.fields import to_plain
from docyard.settings.file import Configuration, format_variable, list_fields
from index.sources.settings import find_setting_line

DEFAULT_ORIGIN = "default"


class SettingValue(NamedTuple):
    """The value of a setting as JSON, without secrets, and where it comes from."""

    name: str
    value: Any
    origin: str


def list_values(configuration: Configuration) -> Iterator[SettingValue]:
    """Yield the value and the origin of each setting."""
    table = tomllib.loads(configuration.text)
    for field in list_fields():
        section, name = field.location
        value = getattr(getattr(configuration.settings, section), name)
        variable = format_variable(field.location)
        if variable in configuration.variables:
            origin = variable
        elif configuration.file is not None and name in table.get(section, {}):
            line = find_setting_line(configuration.text, field.location)
            origin = f"{configuration.file.name}:{line}"
        else:
            origin = DEFAULT_ORIGIN
        yield SettingValue(f"{section}.{name}", to_plain(value), origin)
