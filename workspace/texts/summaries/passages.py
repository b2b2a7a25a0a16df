"""Passages: the parts of a text that a summary may keep, and their weights.

The module also removes markup that has no meaning in plain text, and splits paragraphs of any language into
sentences. It finds signatures: the lines of code that declare something or show a call of it.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.texts.code import MODIFIER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class PassageKind(StrEnum):
    """The kind of a passage; responses count passages by these names."""

    LEAD = "lead_sentences"
    DEFINITION = "definitions"
    WARNING = "warnings"
    REQUIREMENT = "requirements"
    SIGNATURE = "signatures"
    TABLE = "table_heads"
    TASK = "open_tasks"
    FIGURE = "limits_and_defaults"
    LEVEL = "log_levels"
    SENTENCE = "other_sentences"
    ROW = "table_rows"
    CODE = "code_blocks"  # only counted: code blocks are never included


class Passage(NamedTuple):
    """A part of a section: its `text` on one line, and a `note` about the text, such as "12 rows".

    `is_first` is True for the declaration or the first sentence of a section, and the first line of a log.
    """

    kind: PassageKind
    text: str
    weight: float
    note: str = ""
    is_first: bool = False


# The weight of a passage by its kind.
WEIGHTS = {
    PassageKind.LEAD: 10.0,
    PassageKind.WARNING: 7.0,
    PassageKind.TASK: 7.0,
    PassageKind.LEVEL: 7.0,
    PassageKind.REQUIREMENT: 6.0,
    PassageKind.DEFINITION: 6.0,
    PassageKind.SIGNATURE: 5.0,
    PassageKind.TABLE: 5.0,
    PassageKind.FIGURE: 4.0,
    PassageKind.SENTENCE: 2.0,
    PassageKind.ROW: 1.0,
    PassageKind.CODE: 0.0,
}

# Kinds other than ordinary sentences; a summary states how many passages of each of them it includes.
MARKED_KINDS = (
    PassageKind.WARNING,
    PassageKind.REQUIREMENT,
    PassageKind.DEFINITION,
    PassageKind.SIGNATURE,
    PassageKind.TABLE,
    PassageKind.TASK,
    PassageKind.FIGURE,
    PassageKind.LEVEL,
)

# The factor for a passage that is a repetition of an earlier one.
REPETITION_FACTOR = 0.1

# Longer sentences are cut, because most of them are lists or data.
_MAX_PASSAGE_LENGTH = 400
CUT_MARK = " …"

_WARNING = re.compile(
    r"[*_]{0,2}(?:warning|caution|danger|important|attention|note|deprecated)\b[*_]{0,2}[:!]",
    re.IGNORECASE,
)

_DEPRECATION = re.compile(
    r"\b(?:deprecated|obsolete|no longer (?:supported|available|works)|breaking change)\b", re.IGNORECASE
)

_REQUIREMENT = re.compile(
    r"\b(?:MUST|SHALL|SHOULD|REQUIRED|RECOMMENDED|must|shall|required|requires|mandatory|cannot|never"
    r"|(?:not|isn't|aren't) (?:allowed|permitted|supported))\b"
)

_TERM = re.compile(
    r"(?:\*\*[^*]+\*\*|__[^_]+__|\*`[^`]+`\*|`[^`]+`|\*[^*]+\*|_[^_]+_)\s*(?::|[-\u2013\u2014]\s|=\s)"
)

_COLON_IN_BOLD = re.compile(r"\*\*[^*]+:\*\*\s")

_DEFINITION = re.compile(
    r"(?:an?|the)?\s?(?:[\w`*\"'/+#.-]+\s){1,5}?(?:is|are) (?:an?|the|any|one of|used|called)\b"
    r"|(?:an?|the)?\s?(?:[\w`*\"'/+#.-]+\s){1,4}?(?:means|refers to|denotes|stands for|represents)\b",
    re.IGNORECASE,
)

_FIGURE = re.compile(
    r"\b(?:defaults?|maximum|minimum|at most|at least|up to|limit(?:s|ed)?)\b"
    r"|\b\d[\d,.]*\s?(?:%|ms|milliseconds?|seconds?|minutes?|hours?|days?|bytes?|[KMGT]i?B|bits?|characters|tokens)",
    re.IGNORECASE,
)

# The numbers of characters that patterns search: definitions and warnings are recognized by their beginning.
_MAX_SEARCHED_CHARACTERS = 1_000
_MAX_DEFINITION_START = 120


def classify_sentence(sentence: str) -> PassageKind:
    """Return the kind of a sentence by its words; return SENTENCE if no pattern matches."""
    text = sentence[:_MAX_SEARCHED_CHARACTERS]
    if _WARNING.match(text) or _DEPRECATION.search(text):
        return PassageKind.WARNING
    if _REQUIREMENT.search(text):
        return PassageKind.REQUIREMENT
    start = text[:_MAX_DEFINITION_START]
    if _TERM.match(start) or _COLON_IN_BOLD.match(start) or _DEFINITION.match(start):
        return PassageKind.DEFINITION
    return PassageKind.FIGURE if _FIGURE.search(text) else PassageKind.SENTENCE


def clip(text: str) -> str:
    """Return a text of limited length: a longer text is cut, if possible at a space, and has a `CUT_MARK`."""
    if len(text) <= _MAX_PASSAGE_LENGTH:
        return text
    space = text.rfind(" ", _MAX_PASSAGE_LENGTH // 2, _MAX_PASSAGE_LENGTH)
    return text[: space if space > 0 else _MAX_PASSAGE_LENGTH].rstrip() + CUT_MARK


def format_count(number: int, noun: str) -> str:
    """Return a count with its noun: "1 row", "1,200 rows"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# The end of a sentence, and marks that close after it. Full-width marks need no space after them.
_SENTENCE_END = re.compile(r"[.!?][\"'\u201d\u2019)\]*_]*(?=\s)|[\u3002\uff01\uff1f]")
CODE_SPAN = re.compile(r"(?<!`)(?:``(?!`)(?:[^`]|`(?!`))+``|`[^`]+`)(?!`)")
_WHITESPACE = re.compile(r"\s*")
_LAST_WORD = re.compile(r"[^\s(\[*_\"']*$")
_MAX_WORD_LENGTH = 40

# English abbreviations, and the most common German ones.
_ABBREVIATIONS = re.compile(
    r"(?:e\.g|i\.e|etc|vs|cf|al|approx|ca|dr|eqs?|figs?|incl?|jr|ltd|mrs?|ms|nos?|nr|pp?|prof|refs?|resp"
    r"|sect?|sr|st|vol|viz|bzw|usw|z\.b|d\.h|u\.a)$",
    re.IGNORECASE,
)


def split_sentences(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph in order, without surrounding white space.

    No mark ends a sentence in a code span. A full stop does not end a sentence after an abbreviation, an
    initial or the number of a list item, or before a lower-case letter.
    """
    start = 0
    spans = CODE_SPAN.finditer(paragraph)
    span = next(spans, None)
    for match in _SENTENCE_END.finditer(paragraph):
        while span is not None and span.end() <= match.start():
            span = next(spans, None)
        if span is not None and span.start() <= match.start():
            continue
        if paragraph[match.start()] == "." and not _ends_sentence(paragraph, start, match):
            continue
        if sentence := paragraph[start : match.end()].strip():
            yield sentence
        start = match.end()
    if last_sentence := paragraph[start:].strip():
        yield last_sentence


def _ends_sentence(paragraph: str, start: int, match: re.Match[str]) -> bool:
    """Return True if a full stop ends a sentence, by the word before it and the letter after it."""
    text_before = paragraph[max(start, match.start() - _MAX_WORD_LENGTH) : match.start()]
    last_word = _LAST_WORD.search(text_before)
    word = last_word[0] if last_word else ""
    if _ABBREVIATIONS.match(word) or (len(word) == 1 and word.isalpha() and word.isupper()):
        return False
    if (
        word.isdigit()
        and match.start() - start < _MAX_WORD_LENGTH
        and not text_before.removesuffix(word).strip()
    ):
        return False  # the number of a list item
    space = _WHITESPACE.match(paragraph, match.end())
    next_character = paragraph[space.end() : space.end() + 1] if space else ""
    return not next_character.islower()


_SPACE = re.compile(r"\s+")
_IMAGE = re.compile(r"!\[([^\[\]\n]*)\]\([^()\n]*\)")

# After a word, adjacent brackets are indexes more often than a link.
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*\)|(?<!\w)\[([^\[\]\n]*)\]\[[^\[\]\n]*\]")

_TAG = re.compile(
    r"</?(?:a|abbr|b|br|center|details|div|em|font|i|img|kbd|li|ol|p|span|strong|sub|summary|sup|"
    r"table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)

_SHORTCODE = re.compile(r"\{\{[<%]([^{}]*)[>%]\}\}")
_SHORTCODE_TEXT = re.compile(r"\btext=\"([^\"]*)\"")
_ANCHOR = re.compile(r"\{#[^{}\s]*\}")

# A role of reStructuredText, before its text.
_ROLE = re.compile(r"(?<![\w:`]):(?:[a-z]+:)?[a-z]+:(?=`)")

# The placeholder of a code span while markup is removed around it: a private character, rare in texts.
_PLACEHOLDER = "\ue000"
_REPLACED_SPAN = re.compile(rf"`{_PLACEHOLDER}(\d+)`")


def strip_markup(source: str) -> str:
    """Return inline text on one line, without link destinations, images, comments, tags, anchors and roles.

    Every word of the rendered text is preserved, and so are emphasis and code spans. Each pattern stops at
    the mark with which it begins, so the time is linear in the text.
    """
    if "`" not in source or _PLACEHOLDER in source:
        return _SPACE.sub(" ", _remove_markup(source)).strip()
    spans: list[str] = []

    def replace_span(match: re.Match[str]) -> str:
        spans.append(match[0])
        return f"`{_PLACEHOLDER}{len(spans) - 1}`"

    text_without_markup = _remove_markup(CODE_SPAN.sub(replace_span, source))
    text_with_spans = _REPLACED_SPAN.sub(lambda match: spans[int(match[1])], text_without_markup)
    return _SPACE.sub(" ", text_with_spans).strip()


def _remove_markup(text: str) -> str:
    if "<" in text:
        text = _TAG.sub(" ", _remove_comments(text))
    if "](" in text or "][" in text:
        text = _LINK.sub(r"\1\2", _IMAGE.sub(" ", text))
    if "{" in text:
        text = _ANCHOR.sub("", _SHORTCODE.sub(_read_shortcode_text, text))
    if ":`" in text:
        text = _ROLE.sub("", text)
    return text


def _remove_comments(text: str) -> str:
    """Return a text without its HTML comments; an unclosed comment is text."""
    pieces: list[str] = []
    position = 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start)) >= 0:
        pieces.append(text[position:start])
        position = end + len("-->")
    return " ".join((*pieces, text[position:]))


def _read_shortcode_text(shortcode: re.Match[str]) -> str:
    """Return the text in a shortcode of Hugo."""
    text = _SHORTCODE_TEXT.search(shortcode[1])
    return text[1] if text else " "


_DECLARATION = re.compile(
    rf"[ \t]*{MODIFIER}{{0,5}}"
    r"(?:class|def|defp|enum|fn|func|fun|function|impl|interface|macro|message|module|namespace|package|proc|rpc"
    r"|service|struct|sub|trait|type|typedef|union|CREATE[ \t]+TABLE)\b[ \t]+[\w(*&<\"]"
)

_TEMPLATE = re.compile(r"[ \t]*template[ \t]*<")
_ENDPOINT = re.compile(r"[ \t]*(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)[ \t]+(?:/|https?:)\S*")
_USAGE = re.compile(r"[ \t]*(?:usage:|synopsis:|\$[ \t]+\S)", re.IGNORECASE)

# A type, and a name with an opening parenthesis: a declaration in C and related languages. The first word
# must not begin a statement.
_C_DECLARATION = re.compile(
    r"[ \t]*(?!return\b|else\b|new\b|delete\b|throw\b|if\b|while\b|for\b|switch\b|await\b|yield\b|print\b)"
    r"(?:[\w:<>,*&\[\]~]+[ \t]+){1,6}[*&]*[\w:~]+(?:[ \t]?[-+*/%&|^!=<>\[\]]{1,3})?[ \t]*\("
)

_COMMENT = re.compile(r"[ \t]*(?://|#(?!define|pragma|include)|/\*|\*|--|;|@\w|<!--)")

# The number of lines to search for a declaration, and the maximum number of its lines.
_MAX_SEARCHED_LINES = 6
_MAX_DECLARATION_LINES = 12
_MAX_LINE_LENGTH = 300


def find_signature(lines: Sequence[str]) -> str | None:
    """Return the declaration, endpoint or command at the beginning of a code block, on one line.

    A declaration ends where its parentheses are closed. Return None if there is no signature.
    """
    searched_lines = [
        line[:_MAX_LINE_LENGTH] for line in lines[: _MAX_SEARCHED_LINES + _MAX_DECLARATION_LINES]
    ]
    for index, line in enumerate(searched_lines[:_MAX_SEARCHED_LINES]):
        if not line.strip() or _COMMENT.match(line):
            continue
        if _ENDPOINT.match(line) or _USAGE.match(line):
            return " ".join(line.split())
        if _DECLARATION.match(line) or _TEMPLATE.match(line) or _is_c_declaration(line):
            return join_declaration(searched_lines[index:])
        return None
    return None


def _is_c_declaration(line: str) -> bool:
    text_before = line.partition("(")[0]
    return ("=" not in text_before or "operator" in text_before) and _C_DECLARATION.match(line) is not None


def join_declaration(lines: Sequence[str]) -> str:
    """Return the lines of a declaration, joined, up to the line that closes its parentheses.

    At most 12 lines are joined; a blank line also ends the declaration.
    """
    declaration: list[str] = []
    depth = 0
    for line in lines[:_MAX_DECLARATION_LINES]:
        if not line.strip() and declaration:
            break
        declaration.append(line)
        depth += line.count("(") - line.count(")")
        is_open = _TEMPLATE.match(line) and "(" not in line and ";" not in line
        if depth <= 0 and not is_open:
            break
    return " ".join(" ".join(declaration).split())
