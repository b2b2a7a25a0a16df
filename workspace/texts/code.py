"""Classes and functions of source code, found without a parser of each language.

Comments and strings are blanked first; then a definition is a line that begins with a word such as `class` or
`def` and a name, or with a name, its arguments and a body. What stands below another is told by indentation.
All of it is linear in the text, whatever the text is: lexers of the usual kind search for the end of a
comment that is not closed once for each beginning.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.lines import LINE_END
from workspace.texts.headings import TextHeading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.markdown.lines import Lines

MAX_BYTES = 1_000_000
"""What is larger was written by a program, and shows no outline."""

_SLASH_COMMENT = r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"
_DOUBLE = r'"(?:[^"\\\n]|\\.)*"?'
_SINGLE = r"'(?:[^'\\\n]|\\.)*'?"
_CHARACTER = r"'(?:[^'\\\n]|\\[^\n'][^\n']{0,8}|\\')'"
_BACKTICK = r"`(?:[^`\\]|\\[\s\S])*`?"
_TRIPLE = r'"""[\s\S]*?(?:"""|\Z)' + r"|'''[\s\S]*?(?:'''|\Z)"

_C_MASK = re.compile(f"{_SLASH_COMMENT}|{_DOUBLE}|{_CHARACTER}")
_GO_MASK = re.compile(rf"{_SLASH_COMMENT}|{_DOUBLE}|{_CHARACTER}|`[^`]*`?")
_TRIPLE_MASK = re.compile(rf"{_SLASH_COMMENT}|{_TRIPLE}|{_DOUBLE}|{_CHARACTER}")
_JS_MASK = re.compile(f"{_SLASH_COMMENT}|{_DOUBLE}|{_SINGLE}|{_BACKTICK}")
_PHP_MASK = re.compile(rf"{_SLASH_COMMENT}|#[^\n]*|{_DOUBLE}|{_SINGLE}")
_HASH_MASK = re.compile(rf"#[^\n]*|{_TRIPLE}|{_DOUBLE}|{_SINGLE}")
_LUA_MASK = re.compile(rf"--\[\[[\s\S]*?(?:\]\]|\Z)|--[^\n]*|{_DOUBLE}|{_SINGLE}")

_MODIFIERS = (
    "abstract async const data declare default export extern final implicit inline internal local open "
    "override partial private protected pub public readonly sealed static suspend unsafe virtual"
)
MODIFIER = rf"(?:(?:{'|'.join(_MODIFIERS.split())})(?:\([^()\n]{{0,80}}\))?[ \t]+)"
"""Matches a modifier before a definition, such as `public` or `pub(crate)`, and the space behind it."""

_NAME = r"[^\W\d][\w$.:]*[?!]?|[$~][\w$]+"
_NO_NAME = (
    "await case catch delete do else elif except finally for foreach if in lock match new not or return "
    "sizeof switch synchronized then throw try typeof until using when while with yield"
)

# A type and a name, or a name alone; the parts cannot be read in two ways, so nothing is tried twice.
_CALLABLE = re.compile(
    rf"^([ \t]*)(?!(?:{'|'.join(_NO_NAME.split())})\b)"
    r"((?:[\w:<>,\[\].?@]+[ \t*&]+){0,8})([~\w$:#]+)[ \t]*(?=\()",
    re.MULTILINE,
)
_BODY = re.compile(
    r"[ \t\n]*(?:(?:const|noexcept|override|final)\b[ \t\n]*|(?:throws|->|:)[^;{}()=]{1,200})?\{"
)
_PARENTHESIS = re.compile(r"[()]")
_ABOVE = ("@", "//", "/*", "*", "# ", "#[", "--")


class _Language(NamedTuple):
    """The syntax of a language: blanked parts, definition words, and its kind of `name(…) {` definitions."""

    mask: re.Pattern[str]
    words: str
    callable: str = ""


_LANGUAGES = {
    ".py .pyi": _Language(_HASH_MASK, "class def"),
    ".rb .cr": _Language(_HASH_MASK, "class def module"),
    ".ex .exs": _Language(_HASH_MASK, "def defp defmodule defmacro"),
    ".sh .bash .zsh": _Language(_HASH_MASK, "function", "bare"),
    ".js .mjs .cjs .jsx": _Language(_JS_MASK, "class function", "bare"),
    ".ts .tsx .vue .svelte": _Language(
        _JS_MASK, "class enum function interface module namespace type", "bare"
    ),
    ".go": _Language(_GO_MASK, "func type"),
    ".rs": _Language(_C_MASK, "enum fn impl mod struct trait type union"),
    ".c .h": _Language(_C_MASK, "enum struct union", "typed"),
    ".cc .cpp .cxx .hpp .hxx": _Language(_C_MASK, "class enum namespace struct union", "typed"),
    ".java": _Language(_TRIPLE_MASK, "class enum interface record", "typed"),
    ".cs": _Language(_C_MASK, "class enum interface namespace record struct", "typed"),
    ".dart": _Language(_JS_MASK, "class enum extension mixin", "typed"),
    ".kt .kts": _Language(_TRIPLE_MASK, "class fun interface object"),
    ".scala": _Language(_TRIPLE_MASK, "class def enum object trait"),
    ".swift": _Language(_TRIPLE_MASK, "actor class enum extension func protocol struct"),
    ".php": _Language(_PHP_MASK, "class function interface trait"),
    ".lua": _Language(_LUA_MASK, "function"),
    ".proto": _Language(_C_MASK, "enum message service"),
}
_BY_SUFFIX = {suffix: language for suffixes, language in _LANGUAGES.items() for suffix in suffixes.split()}


def read_headings(lines: Lines, path: str) -> list[TextHeading]:
    """Return the classes and functions of a source file in order; none if its language is not known.

    Comments, decorators and attributes on the lines just above belong to one. A second definition on the same
    line is part of the first.
    """
    language = _BY_SUFFIX.get(PurePosixPath(path).suffix.lower())
    if language is None or len(lines.data) > MAX_BYTES:
        return []
    text = LINE_END.sub("\n", lines.data.decode("utf-8", "replace").removeprefix("\ufeff"))
    masked = language.mask.sub(_blank, text)
    found = dict(sorted((*_bodies(masked, language), *_find_named(masked, language))))
    starts = [0, *(end.end() for end in re.finditer("\n", text))]
    shown = text.split("\n")
    headings: list[TextHeading] = []
    indents: list[int] = []
    line = 0
    for offset, (indent, name) in found.items():
        floor = headings[-1].line + 1 if headings else 0
        while line + 1 < len(starts) and starts[line + 1] <= offset:
            line += 1
        if line < floor:
            continue
        while indents and indents[-1] >= indent:
            indents.pop()
        indents.append(indent)
        headings.append(TextHeading(name, len(indents), line, _first_line(shown, line, floor)))
    return headings


def _blank(found: re.Match[str]) -> str:
    """Return spaces for all characters but the line ends."""
    words = found[0]
    if "\n" not in words:
        return " " * len(words)
    return "\n".join(" " * len(part) for part in words.split("\n"))


def _find_named(masked: str, language: _Language) -> Iterator[tuple[int, tuple[int, str]]]:
    """Yield the definitions that a word begins: where each stands, its indentation, its name."""
    words = "|".join(language.words.split())
    pattern = re.compile(
        rf"^([ \t]*){MODIFIER}{{0,8}}(?:{words})\b\*?[ \t]*(?:<[^<>\n]{{0,200}}>[ \t]*)?"
        rf"(?:\([^()\n]{{0,200}}\)[ \t]*)?({_NAME})",
        re.MULTILINE,
    )
    for found in pattern.finditer(masked):
        end = masked.find("\n", found.end())
        rest = masked[found.end() : end if end >= 0 else len(masked)].rstrip()
        # In languages of typed functions, this is a declaration, or a variable of the type.
        if language.callable != "typed" or "{" in rest or not rest.endswith((";", ")", ",")):
            yield found.start(2), (_width(found[1]), found[2].rstrip(".:"))


def _bodies(masked: str, language: _Language) -> Iterator[tuple[int, tuple[int, str]]]:
    """Yield the definitions of the form `type name(…) {`, or without the type."""
    if not language.callable:
        return
    closing = _pairs(masked)
    for found in _CALLABLE.finditer(masked):
        is_typed = bool(found[2]) or "::" in found[3]
        close = closing.get(found.end())
        if (is_typed or language.callable == "bare") and close and _BODY.match(masked, close + 1):
            yield found.start(3), (_width(found[1]), found[3])


def _pairs(masked: str) -> dict[int, int]:
    """Return where each parenthesis that is opened is closed."""
    opened: list[int] = []
    pairs: dict[int, int] = {}
    for found in _PARENTHESIS.finditer(masked):
        if found[0] == "(":
            opened.append(found.start())
        elif opened:
            pairs[opened.pop()] = found.start()
    return pairs


def _width(indentation: str) -> int:
    return len(indentation.expandtabs(4))


def _first_line(shown: Sequence[str], line: int, floor: int) -> int:
    """Return the first of the lines just above a definition that say something about it."""
    while line > floor and shown[line - 1].lstrip().startswith(_ABOVE):
        line -= 1
    return line
