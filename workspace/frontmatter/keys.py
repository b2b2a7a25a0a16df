"""Keys of front matter replaced: the lines of each are spliced, and the result is read again.

Every other key, comment and blank line stays byte for byte.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from workspace.frontmatter.reading import InvalidFrontMatter, loader, read, word
from workspace.frontmatter.values import are_same
from workspace.frontmatter.writing import write_value
from workspace.lines import LINE_END, line_ending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import yaml

REMOVED: Final = object()
"""In place of a value: the key goes."""

# YAML 1.1 §5.4: what ends a line.
_LINE = re.compile("[^\n\r\x85\u2028\u2029]*(?:\r\n|[\n\r\x85\u2028\u2029]|$)")
_ALIAS_COMMENT = re.compile(r"\*[^ \t]+[ \t]+(#.*?)[ \t\r\n]*$")


class KeyLines(NamedTuple):
    """The lines [first, end) of a top-level key and its value; the comment behind a value of one line.

    `is_repeated` says that the key stands there twice; then these are those that count, the last.
    """

    first: int
    end: int
    comment: str
    is_repeated: bool


def replace_key(source: str, key: str, line: str) -> str:
    """Front matter with the lines of one key replaced by `line`, or with `line` added at the end.

    `line` carries its own line ending; an empty one removes the key. A comment behind a value of one line
    stays.
    Raises InvalidFrontMatter where the source is not a block of `key: value` lines, or where another key
    would change.
    """
    wanted = dict(read(source))
    wanted.pop(key, None)
    wanted.update(read(line))
    lines = _lines(source)
    found = _key_lines(source, lines).get(key)
    return _checked(_spliced(lines, [(found, _with_comment(line, found))]), wanted, key)


def set_keys(source: str, values: Mapping[str, object], ending: str) -> str:
    """Front matter with keys set to values, or taken out where the value is REMOVED; new ones at the end.

    Within a list or mapping only what differs is written anew. Raises InvalidFrontMatter as `replace_key`
    does, and where a key that is to change stands there twice.
    """
    before = read(source)
    lines = _lines(source)
    known = _key_lines(source, lines)
    edits: list[tuple[KeyLines | None, str]] = []
    wanted = dict(before)
    for key, value in values.items():
        found = known.get(key)
        if found is not None and found.is_repeated:
            raise InvalidFrontMatter(
                "a key that is to change stands in the front matter twice",
                fix="Leave one of the two by hand.",
                line=found.first + 2,
            )
        wanted.pop(key, None)
        text = ""
        if value is not REMOVED:
            wanted[key] = value
            own = "".join(lines[found.first : found.end]) if found else ""
            text = _written(own, key, before.get(key), value, found)
        edits.append((found, LINE_END.sub(lambda _: ending, text)))
    return _checked(_spliced(lines, edits), wanted, next(iter(values), ""))


def _written(own: str, key: str, known: object, value: object, found: KeyLines | None) -> str:
    """The lines of a key: those that are there with what differs changed, else all written anew."""
    if own and isinstance(known, (dict, list)) and type(known) is type(value):
        from workspace.frontmatter.merging import merged

        text = merged(LINE_END.sub("\n", own), known, value)
        if text is not None and _says(text, key, value):
            return text
    return _with_comment(write_value(key, value), found)


def _says(text: str, key: str, value: object) -> bool:
    try:
        return are_same(dict(read(text)), {key: value})
    except InvalidFrontMatter:
        return False


def _with_comment(line: str, found: KeyLines | None) -> str:
    """A line, and behind its words the comment that stood there."""
    words = line.rstrip("\r\n")
    if not found or not found.comment or not words or "\n" in words or "\r" in words:
        return line
    return f"{words} {found.comment}{line[len(words) :]}"


def _lines(source: str) -> list[str]:
    return [text for text in _LINE.findall(source) if text]


def _spliced(lines: Sequence[str], edits: Sequence[tuple[KeyLines | None, str]]) -> str:
    """The lines with those of some keys replaced; texts of keys that are not there come at the end."""
    added = "".join(text for found, text in edits if found is None)
    parts: list[str] = []
    position = 0
    for found, text in sorted((edit for edit in edits if edit[0]), key=lambda edit: edit[0] or ()):
        assert found is not None
        parts += (*lines[position : found.first], text)
        position = found.end
    parts += lines[position:]
    before = "".join(parts)
    if added and before and not before.endswith(("\n", "\r")):
        before += line_ending("".join(lines).encode()).decode()
    return before + added


def _checked(written: str, wanted: Mapping[str, object], key: str) -> str:
    try:
        is_right = are_same(dict(read(written)), dict(wanted))
    except InvalidFrontMatter:
        is_right = False
    if not is_right:
        raise InvalidFrontMatter(
            f"'{key}' cannot be replaced without changing other front matter",
            fix="Edit the block by hand: a key stands there twice, or another value refers to this one.",
        )
    return written


def _key_lines(source: str, lines: Sequence[str]) -> dict[str, KeyLines]:
    """Where the top-level keys stand. Raises InvalidFrontMatter for a mapping in braces, or none."""
    import yaml

    node = yaml.compose(source, loader())
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        raise InvalidFrontMatter(
            "the front matter is not a block of `key: value` lines", fix="Write one key a line."
        )
    found: dict[str, KeyLines] = {}
    starts = [name.start_mark.line for name, _ in node.value]
    for (name, value), following in zip(node.value, [*starts[1:], len(lines)], strict=True):
        key = _name(name)
        found[key] = _own_lines(lines, name, value, following, is_repeated=key in found)
    return found


def _name(node: yaml.Node) -> str:
    """A key as `read` gives it: `true` and `2024` are text there."""
    from workspace.plain_yaml import NotPlain

    words = str(node.value)
    try:
        return str(word(words)) if words and getattr(node, "style", None) is None else words
    except NotPlain:
        return words


def _own_lines(
    lines: Sequence[str], name: yaml.Node, value: yaml.Node, following: int, *, is_repeated: bool
) -> KeyLines:
    """The lines of a key before the line `following`, on which the next one begins."""
    first, end, comment = name.start_mark.line, value.end_mark.line, ""
    if value.start_mark.index < name.start_mark.index:
        # An alias stands for the value itself, which is elsewhere.
        end = following
        comment = (_ALIAS_COMMENT.findall(lines[first]) or [""])[0]
    elif end == first:
        behind = lines[end][value.end_mark.column :].strip()
        comment = behind if behind.startswith("#") else ""
        end += 1
    elif value.end_mark.column > 0:
        end += 1
    # A block value ends where the next key begins; comments and blank lines above that are not its own.
    is_literal = getattr(value, "style", None) in ("|", ">")
    while end - 1 > first and _is_outside(lines[end - 1], is_literal=is_literal):
        end -= 1
    return KeyLines(first, end, comment, is_repeated)


def _is_outside(line: str, *, is_literal: bool) -> bool:
    """Whether a line at the end of a value is not its own; in a literal text `#` begins no comment."""
    stripped = line.strip()
    return not stripped or (stripped.startswith("#") and not (is_literal and line[:1] in " \t"))
