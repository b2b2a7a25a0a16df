"""The file of organizations: TOML, read with all mistakes, and written from a state.

    [organizations.acme]
    name = "Acme"

    [organizations.acme.servers.docs]
    host = "docs.acme.example"
    contextual_search = true
    tool_prefix = "docs_"
    max_tokens = 5000
    namespaces = ["api-reference"]           the namespaces that the server searches

    [organizations.acme.namespaces.api-reference]
    repo = "/srv/git/acme/api.git"           the settings of a source, as in a file of sources

    [[organizations.acme.rules]]
    group = "engineers"                      or "*" for everyone
    namespace_prefix = "api-"                empty for all namespaces
    role = "reader"                          or none, writer, admin

Relative paths are relative to the folder of the configuration file of the server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ValidationError

from docyard.organizations.objects import (
    Kind,
    ObjectKey,
    OrganizationsTable,
    OrganizationTable,
    RuleTable,
    ServerTable,
    State,
    build_tables,
    find_contradictions,
    list_objects,
)
from index.sources.settings import (
    Mistake,
    SourceSettings,
    describe_mistakes,
    find_setting_line,
    format_position,
)
from workspace.config.toml import InvalidToml, load_toml
from workspace.errors import WorkspaceError

MAX_FILE_BYTES = 1024 * 1024
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TABLES_BY_NAME: Mapping[str, type[BaseModel]] = {
    "servers": ServerTable,
    "namespaces": SourceSettings,
    "rules": RuleTable,
}


class InvalidOrganizations(WorkspaceError):
    """Fields of organizations are invalid; `mistakes` has every mistake, in the order of the file.

    `file` is None for fields that are in no file.
    """

    code: ClassVar[str] = "INVALID_ORGANIZATIONS"

    def __init__(self, file: Path | None, mistakes: list[Mistake]) -> None:
        prefixes = ["" if file is None else f"{format_position(file, item)}: " for item in mistakes]
        message = "; ".join(
            f"{prefix}{item.message}" for prefix, item in zip(prefixes, mistakes, strict=True)
        )
        super().__init__(message, fix=mistakes[0].fix, field=mistakes[0].setting)
        self.mistakes = tuple(mistakes)


class OrganizationsFile:
    """The content of a file. `find_mistakes` reports the contradictions of a state that contains it."""

    def __init__(self, path: Path, text: str, table: OrganizationsTable) -> None:
        self.path = path
        self.state: State = list_objects(table)
        self._text = text

    def check(self, state: State) -> None:
        """Raise InvalidOrganizations if an object of the file contradicts another object of a state."""
        mistakes = []
        for contradiction in find_contradictions(state, (key for key in self.state if key in state)):
            location = _locate(contradiction.key)
            if contradiction.field:
                location += (contradiction.field,)
            setting = ".".join(location)
            line = find_setting_line(self._text, location)
            mistakes.append(Mistake(line, setting, f"{setting}: {contradiction.message}", contradiction.fix))
        if mistakes:
            raise InvalidOrganizations(self.path, sorted(mistakes, key=lambda mistake: mistake.line or 0))


def read_organizations_file(path: Path) -> OrganizationsFile:
    """Return the checked content of a file. Raises InvalidOrganizations with all mistakes."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        reason = f"the file cannot be read ({error.strerror})"
        raise InvalidOrganizations(path, [Mistake(None, "", reason, "Name a readable file.")]) from None
    try:
        tables = load_toml(data, MAX_FILE_BYTES)
    except InvalidToml as error:
        mistake = Mistake(error.line, "", f"the file {error.reason}", error.fix.replace(" and commit it", ""))
        raise InvalidOrganizations(path, [mistake]) from error
    text = data.decode("utf-8-sig")
    file = OrganizationsFile(path, text, parse_tables(tables, path, text))
    mistakes = list(_find_repeated_rules(tables, text))
    if mistakes:
        raise InvalidOrganizations(path, mistakes)
    return file


def parse_tables(tables: object, path: Path | None = None, text: str = "") -> OrganizationsTable:
    """Return checked nested tables. Raises InvalidOrganizations with all mistakes."""
    try:
        return OrganizationsTable.model_validate(tables)
    except ValidationError as error:
        mistakes = list(describe_mistakes(error, text, _list_setting_names))
        raise InvalidOrganizations(path, sorted(mistakes, key=lambda mistake: mistake.line or 0)) from None


def _find_repeated_rules(tables: Any, text: str) -> Iterator[Mistake]:
    for slug, organization in tables.get("organizations", {}).items():
        names = set()
        for number, rule in enumerate(organization.get("rules", ())):
            name = rule["group"], rule.get("namespace_prefix", "")
            if name in names:
                location = ("organizations", slug, "rules", str(number), "group")
                message = f"the group '{name[0]}' has two rules for the prefix '{name[1]}'"
                yield Mistake(
                    find_setting_line(text, location), ".".join(location), message, "Remove one of them."
                )
            names.add(name)


def _list_setting_names(location: tuple[str, ...]) -> list[str]:
    match location:
        case ():
            return list(OrganizationsTable.model_fields)
        case (_, _):
            return list(OrganizationTable.model_fields)
        case (_, _, name, *_):
            return list(_TABLES_BY_NAME[name].model_fields)
    return []


def _locate(key: ObjectKey) -> tuple[str, ...]:
    """Return the location of the table of an object; that of all rules for a rule."""
    location = ("organizations", key.organization)
    match key.kind:
        case Kind.ORGANIZATION:
            return location
        case Kind.RULE:
            return (*location, "rules")
    return (*location, f"{key.kind}s", key.name)


def format_organizations_file(state: State) -> str:
    """Return the file of a state, which gives the same state when it is read."""
    lines: list[str] = []
    for slug, organization in build_tables(state)["organizations"].items():
        path = ("organizations", slug)
        lines += _format_table(f"[{_format_path(path)}]", organization)
        for name in ("servers", "namespaces"):
            for key, fields in organization.get(name, {}).items():
                lines += _format_table(f"[{_format_path((*path, name, key))}]", fields)
        for rule in organization.get("rules", ()):
            lines += _format_table(f"[[{_format_path((*path, 'rules'))}]]", rule)
    return "\n".join(lines[:-1]) + "\n" if lines else ""


def _format_table(heading: str, fields: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table, without its nested tables."""
    values = {
        name: value for name, value in fields.items() if name not in _TABLES_BY_NAME or _is_names(value)
    }
    return [heading, *(f"{name} = {_format_value(value)}" for name, value in values.items()), ""]


def _is_names(value: object) -> bool:
    """Return True for the namespaces of a server, which are names and not tables."""
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _format_path(path: tuple[str, ...]) -> str:
    return ".".join(part if _BARE_KEY.fullmatch(part) else _format_value(part) for part in path)


def _format_value(value: object) -> str:
    """Return a value as TOML, whose strings, numbers and lists are like those of JSON, except for DEL."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False).replace(
        "\x7f", "\\u007f"
    )
