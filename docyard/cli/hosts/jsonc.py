"""Insertion and replacement of a member in JSON with comments and trailing commas.

All other bytes stay as they are. Editors accept this form in their settings, and people comment them. A
parsed and formatted file would lose the comments, so that the new member is inserted into the text. No
library fits: json-five needs eight seconds for 50 kB and accepts all of JSON5, and the grammar of tree-sitter
has no trailing commas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from docyard.cli.hosts.configurations import format_json

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+) | (?P<comment>//[^\r\n]*|/\*.*?\*/) | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
    | (?P<mark>[{}\[\]:,]) | (?P<word>[^\s{}\[\]:,"/]+)""",
    re.DOTALL | re.VERBOSE,
)


class InvalidJSON(ValueError):
    """A text is not JSON with comments, or has no place for the member."""


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


@dataclass(slots=True)
class _ObjectSpan:
    """An object of the text: its members, the offsets of their values, and those that an insertion needs.

    `content_end` is the end of the last token or comment before the closing brace.
    """

    members: dict[str, Any] = field(default_factory=dict)
    value_ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    first_key: int | None = None
    has_trailing_comma: bool = False
    last_value_end: int = 0
    content_end: int = 0
    end: int = 0


class _Parser:
    """A parser of JSON with comments; objects are returned as spans."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_scan(text))
        self._position = 0

    def parse(self) -> Any:
        value = self._parse_value(self._take())
        if self._take().kind != "end":
            raise InvalidJSON("there is text after the end of the first value")
        return value

    def _take(self) -> _Token:
        while self._tokens[self._position].kind in ("space", "comment"):
            self._position += 1
        token = self._tokens[self._position]
        if token.kind != "end":
            self._position += 1
        return token

    def _parse_value(self, token: _Token) -> Any:
        match token.text:
            case "{":
                return self._parse_object()
            case "[":
                return self._parse_array()
        if token.kind not in ("string", "word"):
            raise InvalidJSON(f"a value is missing (character {token.start + 1:,})")
        try:
            return json.loads(token.text)
        except ValueError as error:
            raise InvalidJSON(f"'{token.text[:50]}' is not a JSON value") from error

    def _parse_array(self) -> list[Any]:
        items: list[Any] = []
        while (token := self._take()).text != "]":
            items.append(self._parse_value(token))
            if (token := self._take()).text == "]":
                break
            if token.text != ",":
                raise InvalidJSON(f"a comma is missing (character {token.start + 1:,})")
        return items

    def _parse_object(self) -> _ObjectSpan:
        span = _ObjectSpan()
        while (token := self._take()).text != "}":
            if token.kind != "string":
                raise InvalidJSON(f"a key is missing (character {token.start + 1:,})")
            key = self._parse_value(token)
            if key in span.members:
                raise InvalidJSON(f"the key '{key[:50]}' exists twice")
            if span.first_key is None:
                span.first_key = token.start
            if (colon := self._take()).text != ":":
                raise InvalidJSON(f"a colon is missing (character {colon.start + 1:,})")
            value_token = self._take()
            span.members[key] = self._parse_value(value_token)
            span.last_value_end = self._tokens[self._position - 1].end
            span.value_ranges[key] = (value_token.start, span.last_value_end)
            span.has_trailing_comma = False
            if (token := self._take()).text == "}":
                break
            if token.text != ",":
                raise InvalidJSON(f"a comma is missing (character {token.start + 1:,})")
            span.has_trailing_comma = True
        span.end = token.start
        before = self._position - 2
        if self._tokens[before].kind == "space":
            before -= 1
        span.content_end = self._tokens[before].end
        return span


def _scan(text: str) -> Iterator[_Token]:
    offset = 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            raise InvalidJSON(f"the text cannot be read as JSON (character {offset + 1:,})")
        yield _Token(str(match.lastgroup), match.group(), match.start(), match.end())
        offset = match.end()
    yield _Token("end", "", offset, offset)


def read_object(text: str) -> dict[str, Any]:
    """Return the object of a text. Raises InvalidJSON if the text holds no object."""
    data: dict[str, Any] = _to_data(_parse_root(text))
    return data


def insert_member(text: str, table: str | None, name: str, value: object) -> str:
    """Return the text with a member `name` in the object `table`, which is created if it is missing.

    If `table` is None, the member is inserted in the outermost object.

    Raises InvalidJSON if the text cannot be read, `table` is not an object, or `name` exists.
    """
    root = _parse_root(text)
    expected = _to_data(root)
    span = None if table is None else root.members.get(table)
    unit = _detect_unit(text, root)
    if table is None:
        if name in root.members:
            raise InvalidJSON(f"there is already a member '{name}'")
        inserted = _insert(text, root, "", unit, name, value)
        expected[name] = value
    elif span is None and table not in root.members:
        inserted = _insert(text, root, "", unit, table, {name: value})
        expected[table] = {name: value}
    elif not isinstance(span, _ObjectSpan):
        raise InvalidJSON(f"'{table}' is not an object")
    elif name in span.members:
        raise InvalidJSON(f"'{table}' already has a member '{name}'")
    else:
        inserted = _insert(text, span, _find_indent(text, span.end), unit, name, value)
        expected[table][name] = value
    if read_object(inserted) != expected:
        raise InvalidJSON("the text has no place for another member")
    return inserted


def replace_member(text: str, table: str, name: str, value: object) -> str:
    """Return the text with another value of the member `name` of the object `table`.

    Raises InvalidJSON if the text cannot be read, or has no such member.
    """
    root = _parse_root(text)
    span = root.members.get(table)
    if not isinstance(span, _ObjectSpan) or name not in span.members:
        raise InvalidJSON(f"'{table}' has no member '{name}'")
    start, end = span.value_ranges[name]
    indent, newline = _find_indent(text, start), "\r\n" if "\r\n" in text else "\n"
    new_value = format_json(value, indent, _detect_unit(text, root)).replace("\n", newline)
    return text[:start] + new_value + text[end:]


def _parse_root(text: str) -> _ObjectSpan:
    try:
        root = _Parser(text).parse()
    except RecursionError as error:
        raise InvalidJSON("the values are nested too deeply") from error
    if not isinstance(root, _ObjectSpan):
        raise InvalidJSON("the text is not an object")
    return root


def _to_data(value: Any) -> Any:
    if isinstance(value, _ObjectSpan):
        return {key: _to_data(item) for key, item in value.members.items()}
    return [_to_data(item) for item in value] if isinstance(value, list) else value


def _insert(text: str, span: _ObjectSpan, indent: str, unit: str, key: str, value: object) -> str:
    """Insert a member after the last one, and after the comments that follow the last one."""
    member_indent = f"{indent}{unit}"
    if span.first_key is not None and _is_first_in_line(text, span.first_key):
        member_indent = _find_indent(text, span.first_key)
    newline = "\r\n" if "\r\n" in text else "\n"
    member = f"\n{member_indent}{json.dumps(key)}: {format_json(value, member_indent, unit)}"
    if "\n" not in text[span.content_end : span.end]:
        member += f"\n{indent}"
    member = member.replace("\n", newline)
    if not span.members or span.has_trailing_comma:
        return text[: span.content_end] + member + text[span.content_end :]
    between = text[span.last_value_end : span.content_end]
    return text[: span.last_value_end] + "," + between + member + text[span.content_end :]


def _detect_unit(text: str, root: _ObjectSpan) -> str:
    if root.first_key is not None and _is_first_in_line(text, root.first_key):
        return _find_indent(text, root.first_key) or "  "
    return "  "


def _is_first_in_line(text: str, offset: int) -> bool:
    return not text[text.rfind("\n", 0, offset) + 1 : offset].strip(" \t")


def _find_indent(text: str, offset: int) -> str:
    """Return the white space at the beginning of the line that contains an offset."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]
