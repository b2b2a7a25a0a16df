"""Logs as JSON or text, one line for each message, without content.

A message keeps numbers, identifiers, such as the name of a tool, each `StateText`, and the code of an error.
Other parts are replaced by `…`, because they may be questions, texts, or paths of documents. Of a message of
a library only its place in the code is logged. An exception is logged as its type and the places in the code.
`log_content = true` logs messages as they are.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from types import TracebackType
from typing import Any, NamedTuple, TextIO

from docyard.telemetry.request_ids import get_request_id
from workspace.errors import WorkspaceError

FIELDS = "docyard_fields"
"""The attribute of a log record with further fields: `log.info("request", extra={FIELDS: {...}})`."""

ACCESS_LOGGER = "docyard.access"
PROGRESS_LOGGER = "docyard.progress"

_OWN_LOGGERS = ("docyard", "index", "tools", "workspace")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HIDDEN = "…"
_MAX_FRAMES = 30
_MAX_CAUSES = 5
_PLACE_PARTS = 3  # of a file's path: package, folder, module

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class StateText(str):
    """A text about the state of the server, without content, so that logs keep it as an argument."""

    __slots__ = ()


class ContentFreeFormatter(logging.Formatter):
    """The formatter of all logs: JSON objects, or text. `includes_content` keeps messages as they are."""

    def __init__(self, *, is_json: bool, includes_content: bool = False) -> None:
        super().__init__()
        self._is_json = is_json
        self._includes_content = includes_content

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._format_message(record),
        }
        if (request_id := get_request_id()) is not None:
            fields["request_id"] = request_id
        own_fields = getattr(record, FIELDS, None)
        if isinstance(own_fields, Mapping):
            fields.update(own_fields)
        if record.exc_info and record.exc_info[1] is not None:
            fields["exceptions"] = self._describe_exceptions(record.exc_info)
        if self._is_json:
            return json.dumps(fields, ensure_ascii=False, default=str)
        return _format_text(fields)

    def _format_message(self, record: logging.LogRecord) -> str:
        if self._includes_content:
            return _escape_controls(record.getMessage())
        if record.name.partition(".")[0] not in _OWN_LOGGERS:
            return f"{_HIDDEN} ({_format_place(record.pathname, record.lineno)})"
        arguments = record.args
        if not arguments:
            return _escape_controls(str(record.msg))
        hidden: Any = (
            {name: _hide_content(value) for name, value in arguments.items()}
            if isinstance(arguments, Mapping)
            else tuple(map(_hide_content, arguments))
        )
        return _escape_controls(str(record.msg) % hidden)

    def _describe_exceptions(self, exc_info: _ExcInfo) -> list[dict[str, Any]]:
        """Return an exception and its causes: the types, and the places in the code."""
        descriptions: list[dict[str, Any]] = []
        error: BaseException | None = exc_info[1]
        while error is not None and len(descriptions) < _MAX_CAUSES:
            frames = traceback.extract_tb(error.__traceback__)[-_MAX_FRAMES:]
            description: dict[str, Any] = {
                "type": type(error).__qualname__,
                "frames": [f"{_format_place(frame.filename, frame.lineno)} {frame.name}" for frame in frames],
            }
            if self._includes_content:
                description["message"] = _escape_controls(str(error))
            descriptions.append(description)
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return descriptions


def _hide_content(value: object) -> object:
    """Return a number or an identifier unchanged, the code of an error, and a placeholder else."""
    if isinstance(value, WorkspaceError):
        return value.code
    if value is None or isinstance(value, bool | int | float | StateText):
        return value
    return value if isinstance(value, str) and _IDENTIFIER.fullmatch(value) else _HIDDEN


def _escape_controls(text: str) -> str:
    """Return a text on one line, so that no content can forge a line of the log."""
    return "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)


def _format_place(path: str, line: int | None) -> str:
    return f"{'/'.join(PurePath(path).parts[-_PLACE_PARTS:])}:{line}"


def _format_text(fields: dict[str, Any]) -> str:
    head = " ".join(str(fields.pop(name)) for name in ("time", "level", "logger"))
    message = fields.pop("message")
    exceptions = fields.pop("exceptions", [])
    pairs = "".join(f" {name}={_escape_controls(str(value))}" for name, value in fields.items())
    lines = [f"{head}: {message}{pairs}"]
    for exception in exceptions:
        lines.append(
            f"    {exception['type']}{': ' if 'message' in exception else ''}{exception.get('message', '')}"
        )
        lines += [f"        {frame}" for frame in exception["frames"]]
    return "\n".join(lines)


class LogOptions(NamedTuple):
    """The settings of logs. `level` applies to Docyard's own messages."""

    is_json: bool = False
    level: str = "warning"
    has_access_log: bool = False
    includes_content: bool = False


def configure_logs(options: LogOptions, stream: TextIO | None = None) -> None:
    """Write all logs of the process to standard error, in the format and from the level of the options."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(
        ContentFreeFormatter(is_json=options.is_json, includes_content=options.includes_content)
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in _OWN_LOGGERS:
        logging.getLogger(name).setLevel(options.level.upper())
    logging.getLogger(PROGRESS_LOGGER).setLevel(logging.NOTSET)  # the level of the options applies
    access_level = logging.INFO if options.has_access_log else logging.CRITICAL
    logging.getLogger(ACCESS_LOGGER).setLevel(access_level)
