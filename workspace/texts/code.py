"""Classes and functions of source code, found without a parser for each language.

Comments and strings are replaced by spaces first. A definition is a line that begins with a keyword, such
as `class` or `def`, and a name. A line with a name, arguments and a body is also a definition. Indentation
determines which definition contains another.

The time is linear in the length of every text. Common lexers search to the end of the text again
for each mark that begins an unclosed comment.
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

MAX_SOURCE_BYTES = 1_000_000
"""Larger files have no outline, because they are usually generated."""

_SLASH_COMMENT = r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"
_DOUBLE_QUOTED = r'"(?:[^"\\\n]|\\.)*"?'
_SINGLE_QUOTED = r"'(?:[^'\\\n]|\\.)*'?"
_CHARACTER_LITERAL = r"'(?:[^'\\\n]|\\[^\n'][^\n']{0,8}|\\')'"
_BACKTICK_QUOTED = r"`(?:[^`\\]|\\[\s\S])*`?"
_TRIPLE_QUOTED = r'"""[\s\S]*?(?:"""|\Z)' + r"|'''[\s\S]*?(?:'''|\Z)"

_C_MASK = re.compile(f"{_SLASH_COMMENT}|{_DOUBLE_QUOTED}|{_CHARACTER_LITERAL}")
_GO_MASK = re.compile(rf"{_SLASH_COMMENT}|{_DOUBLE_QUOTED}|{_CHARACTER_LITERAL}|`[^`]*`?")
_TRIPLE_MASK = re.compile(rf"{_SLASH_COMMENT}|{_TRIPLE_QUOTED}|{_DOUBLE_QUOTED}|{_CHARACTER_LITERAL}")
_JS_MASK = re.compile(f"{_SLASH_COMMENT}|{_DOUBLE_QUOTED}|{_SINGLE_QUOTED}|{_BACKTICK_QUOTED}")
_PHP_MASK = re.compile(rf"{_SLASH_COMMENT}|#[^\n]*|{_DOUBLE_QUOTED}|{_SINGLE_QUOTED}")
_HASH_MASK = re.compile(rf"#[^\n]*|{_TRIPLE_QUOTED}|{_DOUBLE_QUOTED}|{_SINGLE_QUOTED}")
_LUA_MASK = re.compile(rf"--\[\[[\s\S]*?(?:\]\]|\Z)|--[^\n]*|{_DOUBLE_QUOTED}|{_SINGLE_QUOTED}")

_MODIFIERS = (
    "abstract async const data declare default export extern final implicit inline internal local open "
    "override partial private protected pub public readonly sealed static suspend unsafe virtual"
)
MODIFIER = rf"(?:(?:{'|'.join(_MODIFIERS.split())})(?:\([^()\n]{{0,80}}\))?[ \t]+)"
"""Matches a modifier before a definition, such as `public` or `pub(crate)`, and the space after it."""

_NAME = r"[^\W\d][\w$.:]*[?!]?|[$~][\w$]+"
_STATEMENT_KEYWORDS = (
    "await case catch delete do else elif except finally for foreach if in lock match new not or return "
    "sizeof switch synchronized then throw try typeof until using when while with yield"
)

# A type and a name, or a name alone. Each text matches in one way only, so there is no backtracking.
_CALLABLE = re.compile(
    rf"^([ \t]*)(?!(?:{'|'.join(_STATEMENT_KEYWORDS.split())})\b)"
    r"((?:[\w:<>,\[\].?@]+[ \t*&]+){0,8})([~\w$:#]+)[ \t]*(?=\()",
    re.MULTILINE,
)
_BODY = re.compile(
    r"[ \t\n]*(?:(?:const|noexcept|override|final)\b[ \t\n]*|(?:throws|->|:)[^;{}()=]{1,200})?\{"
)
_PARENTHESIS = re.compile(r"[()]")
_DESCRIPTION_STARTS = ("@", "//", "/*", "*", "# ", "#[", "--")


class _Language(NamedTuple):
    """The syntax of a language. `mask` matches its comments and strings.

    `definition_keywords` are the words that begin a definition. `callable_form` is the form of definitions
    such as `name(…) {`: "typed" if a type must precede the name, "bare" if not, "" without such definitions.
    """

    mask: re.Pattern[str]
    definition_keywords: str
    callable_form: str = ""


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
_LANGUAGES_BY_SUFFIX = {
    suffix: language for suffixes, language in _LANGUAGES.items() for suffix in suffixes.split()
}


def read_definitions(lines: Lines, path: str) -> list[TextHeading]:
    """Return the definitions in a source file, such as classes and functions, in order.

    Return [] for an unknown language, and for a file of more than `MAX_SOURCE_BYTES`.
    Comments, decorators and attributes on the lines directly above belong to a definition. A second
    definition on the same line is part of the first.
    """
    language = _LANGUAGES_BY_SUFFIX.get(PurePosixPath(path).suffix.lower())
    if language is None or len(lines.data) > MAX_SOURCE_BYTES:
        return []
    text = LINE_END.sub("\n", lines.data.decode("utf-8", "replace").removeprefix("\ufeff"))
    masked_text = language.mask.sub(_replace_with_spaces, text)
    definitions = dict(
        sorted(
            (
                *_find_callable_definitions(masked_text, language),
                *_find_keyword_definitions(masked_text, language),
            )
        )
    )
    starts = [0, *(line_end.end() for line_end in re.finditer("\n", text))]
    text_lines = text.split("\n")
    headings: list[TextHeading] = []
    indents: list[int] = []
    line = 0
    for offset, (indent, name) in definitions.items():
        min_line = headings[-1].line + 1 if headings else 0
        while line + 1 < len(starts) and starts[line + 1] <= offset:
            line += 1
        if line < min_line:
            continue
        while indents and indents[-1] >= indent:
            indents.pop()
        indents.append(indent)
        headings.append(TextHeading(name, len(indents), line, _find_first_line(text_lines, line, min_line)))
    return headings


def _replace_with_spaces(match: re.Match[str]) -> str:
    """Return a match with all its characters except line ends replaced by spaces."""
    text = match[0]
    if "\n" not in text:
        return " " * len(text)
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _find_keyword_definitions(masked_text: str, language: _Language) -> Iterator[tuple[int, tuple[int, str]]]:
    """Yield the offset of each definition that begins with a keyword, and its indentation and name.

    The indentation is a number of columns.
    """
    keywords = "|".join(language.definition_keywords.split())
    pattern = re.compile(
        rf"^([ \t]*){MODIFIER}{{0,8}}(?:{keywords})\b\*?[ \t]*(?:<[^<>\n]{{0,200}}>[ \t]*)?"
        rf"(?:\([^()\n]{{0,200}}\)[ \t]*)?({_NAME})",
        re.MULTILINE,
    )
    for match in pattern.finditer(masked_text):
        end = masked_text.find("\n", match.end())
        rest_of_line = masked_text[match.end() : end if end >= 0 else len(masked_text)].rstrip()
        # In languages with typed functions, a line without a body declares a function or a variable.
        if (
            language.callable_form != "typed"
            or "{" in rest_of_line
            or not rest_of_line.endswith((";", ")", ","))
        ):
            yield match.start(2), (_measure_indentation(match[1]), match[2].rstrip(".:"))


def _find_callable_definitions(
    masked_text: str, language: _Language
) -> Iterator[tuple[int, tuple[int, str]]]:
    """Yield the offset of each definition `type name(…) {`, and its indentation and name.

    Depending on the language, the type may be missing.
    """
    if not language.callable_form:
        return
    closing_offsets = _match_parentheses(masked_text)
    for match in _CALLABLE.finditer(masked_text):
        is_typed = bool(match[2]) or "::" in match[3]
        closing_offset = closing_offsets.get(match.end())
        if (
            (is_typed or language.callable_form == "bare")
            and closing_offset
            and _BODY.match(masked_text, closing_offset + 1)
        ):
            yield match.start(3), (_measure_indentation(match[1]), match[3])


def _match_parentheses(masked_text: str) -> dict[int, int]:
    """Return the offset of the closing parenthesis for each opening one."""
    open_offsets: list[int] = []
    closing_offsets: dict[int, int] = {}
    for match in _PARENTHESIS.finditer(masked_text):
        if match[0] == "(":
            open_offsets.append(match.start())
        elif open_offsets:
            closing_offsets[open_offsets.pop()] = match.start()
    return closing_offsets


def _measure_indentation(indentation: str) -> int:
    return len(indentation.expandtabs(4))


def _find_first_line(text_lines: Sequence[str], line: int, min_line: int) -> int:
    """Return the first of the comment and decorator lines directly above a definition, else its own line."""
    while line > min_line and text_lines[line - 1].lstrip().startswith(_DESCRIPTION_STARTS):
        line -= 1
    return line
