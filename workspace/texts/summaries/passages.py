"""Passages: the pieces of a text that a summary may keep, and what each of them is worth."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a passage is; the names under which answers count them."""

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

    kind: Kind
    text: str
    worth: float
    note: str = ""
    is_first: bool = False


# How much a passage of a kind tells of its section, against the others.
WORTH = {
    Kind.LEAD: 10.0,
    Kind.WARNING: 7.0,
    Kind.TASK: 7.0,
    Kind.LEVEL: 7.0,
    Kind.REQUIREMENT: 6.0,
    Kind.DEFINITION: 6.0,
    Kind.SIGNATURE: 5.0,
    Kind.TABLE: 5.0,
    Kind.FIGURE: 4.0,
    Kind.SENTENCE: 2.0,
    Kind.ROW: 1.0,
    Kind.CODE: 0.0,
}

# What tells of a text beyond its prose: the kinds of which a reader wants to know whether all were kept.
MARKED = (
    Kind.WARNING,
    Kind.REQUIREMENT,
    Kind.DEFINITION,
    Kind.SIGNATURE,
    Kind.TABLE,
    Kind.TASK,
    Kind.FIGURE,
    Kind.LEVEL,
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


def kind_of(sentence: str) -> Kind:
    """What a sentence is, by its words; Kind.SENTENCE where nothing marks it."""
    text = sentence[:_LOOKED_AT]
    if _WARNS.match(text) or _ENDS_OF_LIFE.search(text):
        return Kind.WARNING
    if _REQUIRES.search(text):
        return Kind.REQUIREMENT
    start = text[:_BEGINNING]
    if _TERM.match(start) or _COLON_IN_BOLD.match(start) or _DEFINES.match(start):
        return Kind.DEFINITION
    return Kind.FIGURE if _STATES_FIGURE.search(text) else Kind.SENTENCE


def clipped(text: str) -> str:
    """A passage of bounded length: a longer one is cut between words, and says so."""
    if len(text) <= _MAX_LENGTH:
        return text
    space = text.rfind(" ", _MAX_LENGTH // 2, _MAX_LENGTH)
    return text[: space if space > 0 else _MAX_LENGTH].rstrip() + CUT


def counted(number: int, noun: str) -> str:
    """A number of things: "1 row", "1,200 rows"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
