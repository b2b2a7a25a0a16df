"""The change of settings in a server's file: only the lines of the settings change, and comments stay.

The new text is parsed before it is written. A file in which a setting is not in a line of its own is not
changed.
"""

from __future__ import annotations

import json
import re
import tomllib
from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from index.sources.settings import find_setting_line
from workspace.errors import WorkspaceError
from workspace.file_replacement import ContentChanged, replace_file

_SETTING_LINE = re.compile(
    r"""(?P<key>\s*[A-Za-z0-9_-]+\s*=\s*)(?P<value>"(?:[^"\\\n]|\\.)*"|'[^'\n]*')(?P<comment>\s*(?:\#.*)?)"""
)


class UneditableFile(WorkspaceError):
    """The file of a server cannot be changed by a command."""

    code: ClassVar[str] = "UNEDITABLE_FILE"

    def __init__(self, file: Path, reason: str, fix: str) -> None:
        super().__init__(f"{file.name} was not changed: {reason}", fix=fix)


def edit_settings(file: Path, text: str, table: str, values: Mapping[str, str | None]) -> str:
    """Return the text of a file with other values in a table; None removes a setting.

    Raises UneditableFile.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    new_text = text.replace("\r\n", "\n")
    expected: dict[str, Any] = tomllib.loads(text)
    section = expected.get(table, {})
    fix = _describe_edit(table, values)
    if not isinstance(section, dict):
        raise UneditableFile(file, f"'{table}' is not a table", fix)
    for name, value in values.items():
        if name in section:
            edited_text = _replace_line(new_text, table, name, value)
        elif value is None:
            continue
        else:
            edited_text = _insert_line(new_text, table, name, value, has_table=table in expected)
        if edited_text is None:
            raise UneditableFile(file, f"{table}.{name} is not in a line of its own", fix)
        new_text = edited_text
        section = {key: item for key, item in section.items() if key != name}
        section |= {} if value is None else {name: value}
        expected[table] = section
    try:
        is_right = tomllib.loads(new_text) == expected
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise UneditableFile(file, f"the form of its table '{table}' is unusual", fix)
    return new_text.replace("\n", newline)


def _describe_edit(table: str, values: Mapping[str, str | None]) -> str:
    """Return the fix for a file that a person must edit."""
    lines = [f"{name} = {_format(value)}" for name, value in values.items() if value is not None]
    if not lines:
        return f"Remove {' and '.join(values)} from [{table}] yourself."
    return "\n".join([f"Edit {table} yourself, so that the file contains:", "", f"[{table}]", *lines])


def _replace_line(text: str, table: str, name: str, value: str | None) -> str | None:
    """Return the text with another value in the line of a setting; None if the line has another form."""
    number = find_setting_line(text, (table, name))
    lines = text.split("\n")
    match = _SETTING_LINE.fullmatch(lines[number - 1]) if number is not None else None
    if match is None or number is None:
        return None
    comment = match["comment"].strip()
    if value is not None:
        lines[number - 1] = f"{match['key']}{_format(value)}{match['comment']}"
    elif comment:
        lines[number - 1] = comment
    else:
        del lines[number - 1]
    return "\n".join(lines)


def _insert_line(text: str, table: str, name: str, value: str, *, has_table: bool) -> str | None:
    """Return the text with a new setting; None if there is no line of its table."""
    line = f"{name} = {_format(value)}"
    if not has_table:
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[{table}]\n{line}\n"
    number = find_setting_line(text, (table,))
    if number is None:
        return None
    lines = text.split("\n")
    return "\n".join([*lines[:number], line, *lines[number:]])


def _format(value: str | None) -> str:
    # The escapes of JSON are those of TOML.
    return json.dumps(value, ensure_ascii=False)


def write_settings(file: Path, old_text: str, new_text: str) -> None:
    """Replace a file in one step, with its mode and its owner. Raises UneditableFile."""
    target = file.resolve()
    try:
        before = target.read_bytes()
        mark = BOM_UTF8 if before.startswith(BOM_UTF8) else b""
        if before != mark + old_text.encode():
            raise ContentChanged
        replace_file(target, mark + new_text.encode(), before)
    except ContentChanged:
        raise UneditableFile(file, "it has changed meanwhile", "Run the command again.") from None
    except OSError as error:
        reason = f"it cannot be written ({error.strerror or type(error).__name__})"
        fix = "Make the file and its folder writable, and run the command again."
        raise UneditableFile(file, reason, fix) from error
