"""The base class of all errors that a user can act on.

Each error is defined next to the code that raises it. It has a stable `code` for programs, a `message` and a
`fix` for people, and `details` as data. A message never contains document text, an absolute path or a stack.

No error names a tool or a command, because both agents and people read it. `suggestion_source` is the list
that contains the intended name. The code that formats the error for its reader adds the call or the command
that shows this list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple


class SuggestionKind(StrEnum):
    """The kind of the names in the list from which a name is suggested."""

    DOCUMENTS = "documents"
    SECTIONS = "sections"
    TASKS = "tasks"
    COMMITS = "commits"
    MISSING = "missing"


class SuggestionSource(NamedTuple):
    """The list that contains a name: all documents, or the sections, tasks or commits of a document.

    `path` is the path of the document, `slug` the slug of the section with the tasks or commits. MISSING
    means a document to be created at the path.
    """

    kind: SuggestionKind
    path: str = ""
    slug: str | None = None


class WorkspaceError(Exception):
    """An error: an expected failure, with a fix."""

    code: ClassVar[str] = "WORKSPACE_ERROR"

    def __init__(
        self,
        message: str,
        *,
        fix: str = "",
        suggestion_source: SuggestionSource | None = None,
        **details: object,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.suggestion_source = suggestion_source
        self.details: dict[str, Any] = details

    def __reduce__(self) -> tuple[Callable[..., WorkspaceError], tuple[object, ...]]:
        # By default, pickle calls the constructor with `args`, which are not the arguments of subclasses.
        return _restore_error, (type(self), self.args, self.__dict__)


def _restore_error(
    error_class: type[WorkspaceError], args: tuple[object, ...], state: Mapping[str, object]
) -> WorkspaceError:
    error = error_class.__new__(error_class, *args)
    error.__dict__.update(state)
    return error


class SettingMistake(NamedTuple):
    """A mistake in `docyard.toml`: the parts of the setting's name, what is wrong, and a fix.

    `line` is that of a file which is not TOML, from 1; None if it is unknown.
    """

    location: tuple[str, ...]
    message: str
    fix: str
    line: int | None = None


class InvalidConfig(WorkspaceError):
    """An error: `docyard.toml` cannot be read, or a setting (`field`) is unknown or out of range.

    The message names the first mistake; `mistakes` has all of them.
    """

    code = "INVALID_CONFIG"
    mistakes: tuple[SettingMistake, ...] = ()


class LimitExceeded(WorkspaceError):
    """An error: an object exceeds a limit of the workspace. `limit` and `actual`, if given, are numbers."""

    code = "LIMIT_EXCEEDED"


class ConcurrentChange(WorkspaceError):
    """An error: another writer changed the text that this call changes.

    `theirs` is the current text, `base` the text that the caller has read, `ours` the text after the call.
    If an address cannot be mapped, `candidates` are its possible current addresses.
    """

    code = "CONFLICT"
