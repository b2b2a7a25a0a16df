"""Passages: the pieces of a text that a summary may keep, and what each of them is worth.

What a summary leaves out of the words that it keeps: markup that says nothing to a reader of text.

Sentences: where they end in a paragraph, told without knowing its language.

Signatures: the lines of code that declare something, or say how a thing is called.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.texts.code import MODIFIER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class PassageKind(StrEnum):
    """The kind of a passage; answers count passages by these names."""

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
    CODE = "code_blocks"  # only counted: a block is never kept whole


class Passage(NamedTuple):
    """A piece of a section: `text` as it is shown, on one line; `note` is what we say of it ("12 rows")."""

    kind: PassageKind
    text: str
    worth: float
    note: str = ""
    is_first: bool = False


# How much a passage of a kind tells of its section, against the others.
WORTH = {
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

# What tells of a text beyond its prose: the kinds of which a reader wants to know whether all were kept.
MARKED = (
    PassageKind.WARNING,
    PassageKind.REQUIREMENT,
    PassageKind.DEFINITION,
    PassageKind.SIGNATURE,
    PassageKind.TABLE,
    PassageKind.TASK,
    PassageKind.FIGURE,
    PassageKind.LEVEL,
)

# What a passage is worth that stands word for word further up already.
AGAIN = 0.1

# Longer sentences are cut between words: they are lists or data more often than prose.
_MAX_LENGTH = 400
CUT = " …"

_WARNS = re.compile(
    r"[*_]{0,2}(?:warning|caution|danger|important|attention|note|deprecated)\b[*_]{0,2}[:!]",
    re.IGNORECASE,
)

_ENDS_OF_LIFE = re.compile(
    r"\b(?:deprecated|obsolete|no longer (?:supported|available|works)|breaking change)\b", re.IGNORECASE
)

_REQUIRES = re.compile(
    r"\b(?:MUST|SHALL|SHOULD|REQUIRED|RECOMMENDED|must|shall|required|requires|mandatory|cannot|never"
    r"|(?:not|isn't|aren't) (?:allowed|permitted|supported))\b"
)

_TERM = re.compile(
    r"(?:\*\*[^*]+\*\*|__[^_]+__|\*`[^`]+`\*|`[^`]+`|\*[^*]+\*|_[^_]+_)\s*(?::|[-\u2013\u2014]\s|=\s)"
)

_COLON_IN_BOLD = re.compile(r"\*\*[^*]+:\*\*\s")

_DEFINES = re.compile(
    r"(?:an?|the)?\s?(?:[\w`*\"'/+#.-]+\s){1,5}?(?:is|are) (?:an?|the|any|one of|used|called)\b"
    r"|(?:an?|the)?\s?(?:[\w`*\"'/+#.-]+\s){1,4}?(?:means|refers to|denotes|stands for|represents)\b",
    re.IGNORECASE,
)

_STATES_FIGURE = re.compile(
    r"\b(?:defaults?|maximum|minimum|at most|at least|up to|limit(?:s|ed)?)\b"
    r"|\b\d[\d,.]*\s?(?:%|ms|milliseconds?|seconds?|minutes?|hours?|days?|bytes?|[KMGT]i?B|bits?|characters|tokens)",
    re.IGNORECASE,
)

# Patterns look at so much of a sentence; what makes it a definition or a warning stands at its beginning.
_LOOKED_AT = 1_000
_BEGINNING = 120


def classify_sentence(sentence: str) -> PassageKind:
    """Return what a sentence is, by its words; Kind.SENTENCE where nothing marks it."""
    text = sentence[:_LOOKED_AT]
    if _WARNS.match(text) or _ENDS_OF_LIFE.search(text):
        return PassageKind.WARNING
    if _REQUIRES.search(text):
        return PassageKind.REQUIREMENT
    start = text[:_BEGINNING]
    if _TERM.match(start) or _COLON_IN_BOLD.match(start) or _DEFINES.match(start):
        return PassageKind.DEFINITION
    return PassageKind.FIGURE if _STATES_FIGURE.search(text) else PassageKind.SENTENCE


def clip(text: str) -> str:
    """Return a passage of bounded length: a longer one is cut between words, and says so."""
    if len(text) <= _MAX_LENGTH:
        return text
    space = text.rfind(" ", _MAX_LENGTH // 2, _MAX_LENGTH)
    return text[: space if space > 0 else _MAX_LENGTH].rstrip() + CUT


def format_count(number: int, noun: str) -> str:
    """Return a number of things: "1 row", "1,200 rows"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# What a sentence ends with, and the marks that may close around it. Full-width marks need no space behind.
_END = re.compile(r"[.!?][\"'\u201d\u2019)\]*_]*(?=\s)|[\u3002\uff01\uff1f]")
CODE_SPAN = re.compile(r"(?<!`)(?:``(?!`)(?:[^`]|`(?!`))+``|`[^`]+`)(?!`)")
_WHITESPACE = re.compile(r"\s*")
_LAST_WORD = re.compile(r"[^\s(\[*_\"']*$")
_WORD_LENGTH = 40

# English ones, and the most usual of German.
_ABBREVIATIONS = re.compile(
    r"(?:e\.g|i\.e|etc|vs|cf|al|approx|ca|dr|eqs?|figs?|incl?|jr|ltd|mrs?|ms|nos?|nr|pp?|prof|refs?|resp"
    r"|sect?|sr|st|vol|viz|bzw|usw|z\.b|d\.h|u\.a)$",
    re.IGNORECASE,
)


def split_sentences(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, in order, as they stand in it, without the white space around them.

    A full stop ends none in a code span, after an abbreviation or an initial, or before a small letter.
    """
    start = 0
    spans = CODE_SPAN.finditer(paragraph)
    span = next(spans, None)
    for found in _END.finditer(paragraph):
        while span is not None and span.end() <= found.start():
            span = next(spans, None)
        if span is not None and span.start() <= found.start():
            continue
        if paragraph[found.start()] == "." and not _ends(paragraph, start, found):
            continue
        if sentence := paragraph[start : found.end()].strip():
            yield sentence
        start = found.end()
    if rest := paragraph[start:].strip():
        yield rest


def _ends(paragraph: str, start: int, found: re.Match[str]) -> bool:
    """Return True if a full stop ends a sentence, by the word before it and the letter behind it."""
    before = paragraph[max(start, found.start() - _WORD_LENGTH) : found.start()]
    last = _LAST_WORD.search(before)
    word = last[0] if last else ""
    if _ABBREVIATIONS.match(word) or (len(word) == 1 and word.isalpha() and word.isupper()):
        return False
    if word.isdigit() and found.start() - start < _WORD_LENGTH and not before.removesuffix(word).strip():
        return False  # the number of a list item
    space = _WHITESPACE.match(paragraph, found.end())
    following = paragraph[space.end() : space.end() + 1] if space else ""
    return not following.islower()


_SPACE = re.compile(r"\s+")
_IMAGE = re.compile(r"!\[([^\[\]\n]*)\]\([^()\n]*\)")

# Behind a word, brackets side by side are indexes more often than a link.
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*\)|(?<!\w)\[([^\[\]\n]*)\]\[[^\[\]\n]*\]")

_TAG = re.compile(
    r"</?(?:a|abbr|b|br|center|details|div|em|font|i|img|kbd|li|ol|p|span|strong|sub|summary|sup|"
    r"table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)

_SHORTCODE = re.compile(r"\{\{[<%]([^{}]*)[>%]\}\}")
_TEXT_OF = re.compile(r"\btext=\"([^\"]*)\"")
_ANCHOR = re.compile(r"\{#[^{}\s]*\}")

# A role of reStructuredText before what it is of.
_ROLE = re.compile(r"(?<![\w:`]):(?:[a-z]+:)?[a-z]+:(?=`)")

# What stands for a code span while markup is left out around it: a private character, rare in texts.
_MARK = "\ue000"
_PUT_ASIDE = re.compile(rf"`{_MARK}(\d+)`")


def strip_markup(source: str) -> str:
    """Return inline text on one line, without the destinations of links, images, comments, tags and anchors.

    Every word that a reader of the rendered text sees is kept as it is, and so are emphasis and code spans.
    Each pattern stops at the mark with which it begins, so the time is linear in the text.
    """
    if "`" not in source or _MARK in source:
        return _SPACE.sub(" ", _without_markup(source)).strip()
    spans: list[str] = []

    def put_aside(found: re.Match[str]) -> str:
        spans.append(found[0])
        return f"`{_MARK}{len(spans) - 1}`"

    marked = _without_markup(CODE_SPAN.sub(put_aside, source))
    shown = _PUT_ASIDE.sub(lambda found: spans[int(found[1])], marked)
    return _SPACE.sub(" ", shown).strip()


def _without_markup(text: str) -> str:
    if "<" in text:
        text = _TAG.sub(" ", _without_comments(text))
    if "](" in text or "][" in text:
        text = _LINK.sub(r"\1\2", _IMAGE.sub(" ", text))
    if "{" in text:
        text = _ANCHOR.sub("", _SHORTCODE.sub(_of_shortcode, text))
    if ":`" in text:
        text = _ROLE.sub("", text)
    return text


def _without_comments(text: str) -> str:
    """Return a text without its HTML comments; one that nothing closes is none."""
    pieces: list[str] = []
    place = 0
    while (start := text.find("<!--", place)) >= 0 and (end := text.find("-->", start)) >= 0:
        pieces.append(text[place:start])
        place = end + len("-->")
    return " ".join((*pieces, text[place:]))


def _of_shortcode(found: re.Match[str]) -> str:
    """Return the text that a shortcode of Hugo carries."""
    text = _TEXT_OF.search(found[1])
    return text[1] if text else " "


_DECLARES = re.compile(
    rf"[ \t]*{MODIFIER}{{0,5}}"
    r"(?:class|def|defp|enum|fn|func|fun|function|impl|interface|macro|message|module|namespace|package|proc|rpc"
    r"|service|struct|sub|trait|type|typedef|union|CREATE[ \t]+TABLE)\b[ \t]+[\w(*&<\"]"
)

_TEMPLATE = re.compile(r"[ \t]*template[ \t]*<")
_ENDPOINT = re.compile(r"[ \t]*(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)[ \t]+(?:/|https?:)\S*")
_USAGE = re.compile(r"[ \t]*(?:usage:|synopsis:|\$[ \t]+\S)", re.IGNORECASE)

# A type, and a name with an opening parenthesis: a declaration in C and what descends from it. No word may be
# one of those that begin a statement.
_C_LIKE = re.compile(
    r"[ \t]*(?!return\b|else\b|new\b|delete\b|throw\b|if\b|while\b|for\b|switch\b|await\b|yield\b|print\b)"
    r"(?:[\w:<>,*&\[\]~]+[ \t]+){1,6}[*&]*[\w:~]+(?:[ \t]?[-+*/%&|^!=<>\[\]]{1,3})?[ \t]*\("
)

_COMMENT = re.compile(r"[ \t]*(?://|#(?!define|pragma|include)|/\*|\*|--|;|@\w|<!--)")

# So many lines are looked at for a declaration, which goes over so many more.
_FIRST_LINES = 6
_MOST_LINES = 12
_LINE = 300


def find_signature(lines: Sequence[str]) -> str | None:
    """Return the declaration, endpoint or command that begins a block of code, on one line, or None.

    It ends where its parentheses are closed.
    """
    looked_at = [line[:_LINE] for line in lines[: _FIRST_LINES + _MOST_LINES]]
    for place, line in enumerate(looked_at[:_FIRST_LINES]):
        if not line.strip() or _COMMENT.match(line):
            continue
        if _ENDPOINT.match(line) or _USAGE.match(line):
            return " ".join(line.split())
        if _DECLARES.match(line) or _TEMPLATE.match(line) or _is_c_declaration(line):
            return join_declaration(looked_at[place:])
        return None
    return None


def _is_c_declaration(line: str) -> bool:
    before = line.partition("(")[0]
    return ("=" not in before or "operator" in before) and _C_LIKE.match(line) is not None


def join_declaration(lines: Sequence[str]) -> str:
    """Return the lines of a declaration, joined, up to where its parentheses are closed."""
    kept: list[str] = []
    depth = 0
    for line in lines[:_MOST_LINES]:
        if not line.strip() and kept:
            break
        kept.append(line)
        depth += line.count("(") - line.count(")")
        is_open = _TEMPLATE.match(line) and "(" not in line and ";" not in line
        if depth <= 0 and not is_open:
            break
    return " ".join(" ".join(kept).split())
