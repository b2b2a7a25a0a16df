"""The operators of the query syntax: a lexer and a parser to a `Condition`.

    auth*   retry~1   retry~2                    words that begin so, or that are similar
    title:x  heading:x  path:docs  tag:x  KEY:x  conditions on a field; a value can be quoted, or end with *
    KEY:2026-01-31  KEY:>2026-01  KEY:[A TO B]   conditions on a date of the front matter
    a AND b   a OR b   NOT a   ( )               the conditions and words that a section must satisfy

AND, OR and NOT count only in capitals, and only if the query also has a lower-case letter. NOT binds most
tightly, then AND. Words side by side are joined by OR, and conditions by AND. A part that is not correct is
searched for as words, and a note reports it.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from index.analysis import STOP_WORDS, TOKEN, expand
from index.analysis.expansion import is_name
from index.analysis.words import fold
from index.conditions import (
    AllOf,
    AnyOf,
    Condition,
    HasDate,
    HasPhrase,
    HasPrefix,
    HasSimilarWord,
    HasValue,
    HasWord,
    IsUnder,
    Negation,
    WordField,
)
from index.phrases import split_words

WORD_FIELDS: tuple[WordField, ...] = ("title", "heading")
PATH = "path"
ALIASES = {"tag": "tags"}
"""Names of fields that mean a taxonomy key."""

MAX_EDITS = 2
MAX_DEPTH = 20
"""The largest depth of nested brackets."""

_QUOTE = '"\u201c\u201d\u201e\u201f\u00ab\u00bb'
# The text has an operator only if this matches.
_TRIGGER = re.compile(r"(?<!\S)\(*(?:AND|OR|NOT)(?!\S)|\w\*(?![^\s)])|\w~\d|\w:\S|\w:$")
_PART = re.compile(
    rf"""
    (?P<bracket> [()] )
  | (?P<dash> - )?+ (?P<name> [A-Za-z][\w.-]* ) :
    (?: [{_QUOTE}] (?P<quoted_value> [^{_QUOTE}]*+ ) [{_QUOTE}]
      | (?P<range> \[ [^\]\n]*+ \] )
      | (?P<value> (?! [/:] ) [^\s(){_QUOTE}]++ )
      | (?= \s | [)] | $ ) )
  | (?P<minus> - )?+ [{_QUOTE}] (?P<phrase> [^{_QUOTE}]*+ ) [{_QUOTE}]
  | (?P<word> [^\s()]++ (?: \( [^\s()]*+ \) [^\s()]*+ )*+ )
    """,
    re.VERBOSE,
)
_PREFIX = re.compile(r"(\w[\w.-]*)\*")
_SIMILAR = re.compile(r"(\w+)~(\d+)")
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_COMPARED = re.compile(r"(>=|<=|>|<)(.*)", re.DOTALL)
_BETWEEN = re.compile(r"\[\s*(\S+)\s+TO\s+(\S+)\s*\]")


@dataclass(slots=True)
class Operators:
    """The operators of a query, and the text that remains of it.

    `text` is still to be parsed as words. If `is_boolean`, the words, phrases and exclusions are also in the
    condition. With `selects_all`, the condition alone selects, and the text only ranks. `expansions` are
    words that rank. `notes` report incorrect operators.
    """

    text: str
    condition: Condition | None = None
    expansions: tuple[HasPrefix | HasSimilarWord, ...] = ()
    is_boolean: bool = False
    selects_all: bool = False
    notes: tuple[str, ...] = ()


def parse_operators(text: str, keys: Callable[[], Collection[str]]) -> Operators | None:
    """Parse the operators of a query; None if it has none. `keys` returns the keys of the taxonomy."""
    if not _TRIGGER.search(text):
        return None
    lexer = _Lexer(text, keys())
    parts = list(lexer.parts())
    has_operators = any(part.kind in _OPERATORS for part in parts)
    if has_operators:
        try:
            parser = _Parser(parts)
            condition = parser.parse()
        except _NotAnExpression as error:
            lexer.notes.append(f"{error}; the query was searched as words")
        else:
            scored = " ".join(part.scored for part in parser.positive if part.scored)
            expansions = tuple(part.expansion for part in parser.positive if part.expansion)
            return Operators(scored, condition, expansions, True, True, tuple(lexer.notes))
    conditions = [part.condition for part in parts if part.kind is _Kind.CONDITION and part.condition]
    expansions = tuple(part.expansion for part in parts if part.expansion)
    if not (conditions or expansions or lexer.notes):
        return None
    joined = _join(AllOf, conditions)
    remaining = _remove_parts(text, parts)
    selects_all = joined is not None and not (expansions or TOKEN.search(remaining))
    if selects_all:
        remaining = " ".join(part.scored for part in parts if part.kind is _Kind.CONDITION)
    return Operators(remaining, joined, expansions, False, selects_all, tuple(lexer.notes))


class _Kind(Enum):
    OPEN = auto()
    CLOSE = auto()
    AND = auto()
    OR = auto()
    NOT = auto()
    CONDITION = auto()
    EXPANSION = auto()
    WORDS = auto()


_OPERATORS = frozenset({_Kind.AND, _Kind.OR, _Kind.NOT})
_NAMES = {"AND": _Kind.AND, "OR": _Kind.OR, "NOT": _Kind.NOT}


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a query. `scored` are the words by which it ranks; a condition is None for stop words."""

    kind: _Kind
    start: int
    end: int
    condition: Condition | None = None
    scored: str = ""
    expansion: HasPrefix | HasSimilarWord | None = None
    is_negative: bool = False


@dataclass(slots=True)
class _Lexer:
    text: str
    keys: Collection[str]
    notes: list[str] = field(default_factory=list)

    def parts(self) -> Iterator[_Part]:
        has_lower_case = any(map(str.islower, self.text))
        for found in _PART.finditer(self.text):
            span = found.span()
            if bracket := found["bracket"]:
                yield _Part(_Kind.OPEN if bracket == "(" else _Kind.CLOSE, *span)
            elif found["name"]:
                yield self._field(found)
            elif (phrase := found["phrase"]) is not None:
                yield _phrase(span, phrase, is_negative=bool(found["minus"]))
            elif has_lower_case and found[0] in _NAMES:
                yield _Part(_NAMES[found[0]], *span)
            else:
                yield self._word(span, found[0])

    def _field(self, found: re.Match[str]) -> _Part:
        name, span, written = found["name"], found.span(), found[0]
        quoted, value = found["quoted_value"], found["value"] or ""
        if found["range"] or _COMPARED.fullmatch(value) or _DATE.fullmatch(value):
            condition = self._date(name, found["range"] or value, written)
        elif name in WORD_FIELDS:
            return self._word_field(found, name)
        elif name not in {PATH, *ALIASES, *self.keys}:
            if value and not found["dash"]:
                self.notes.append(f"'{name}' is not a field; '{written}' was searched as words")
            return _words(span, written)
        elif not (text := quoted or value):
            condition = None
            self.notes.append(f"'{written}' has no value; it was searched as words")
        elif name == PATH:
            condition = IsUnder(text)
        else:
            is_prefix = quoted is None and len(value) > 1 and value.endswith("*")
            condition = HasValue(
                ALIASES.get(name, name), text.removesuffix("*") if is_prefix else text, is_prefix
            )
        if condition is None:
            return _words(span, written)
        is_negative = bool(found["dash"])
        return _Part(
            _Kind.CONDITION, *span, Negation(condition) if is_negative else condition, "", None, is_negative
        )

    def _word_field(self, found: re.Match[str], name: WordField) -> _Part:
        span, written, value = found.span(), found[0], found["quoted_value"] or found["value"] or ""
        is_negative = bool(found["dash"])
        condition: Condition | None
        if (prefix := _PREFIX.fullmatch(value)) and found["quoted_value"] is None:
            condition, value = HasPrefix(name, fold(prefix[1]), written), ""
        elif (similar := _SIMILAR.fullmatch(value)) and 1 <= int(similar[2][:3]) <= MAX_EDITS:
            condition, value = HasSimilarWord(name, fold(similar[1]), int(similar[2]), written), ""
        else:
            condition = _join(
                AllOf, [_word_condition(token, name, stop_words=True) for token in TOKEN.findall(value)]
            )
        if condition is None:
            self.notes.append(f"'{written}' has no value; it was searched as words")
            return _words(span, written)
        scored = "" if is_negative else value
        return _Part(
            _Kind.CONDITION,
            *span,
            Negation(condition) if is_negative else condition,
            scored,
            None,
            is_negative,
        )

    def _date(self, name: str, value: str, written: str) -> Condition | None:
        """Return the condition on a date, or on a value that looks like one; note what is not a date."""
        key = ALIASES.get(name, name)
        if name in (*WORD_FIELDS, PATH):
            self.notes.append(f"'{name}' has no dates; '{written}' was searched as words")
            return None
        if between := _BETWEEN.fullmatch(value):
            first, last = (None if limit == "*" else limit for limit in between.groups())
        elif compared := _COMPARED.fullmatch(value):
            sign, limit = compared.groups()
            return self._compared_date(key, sign, limit, written)
        elif value.startswith("["):
            self.notes.append(f"'{written}' is not a range [FIRST TO LAST]; it was searched as words")
            return None
        elif key in self.keys:
            return AnyOf((HasValue(key, value), HasDate(key, _first_day(value), _last_day(value))))
        else:
            first = last = value
        if any(limit is not None and _first_day(limit) is None for limit in (first, last)):
            self.notes.append(f"'{written}' has an invalid date (YYYY-MM-DD); it was searched as words")
            return None
        condition = HasDate(key, first and _first_day(first), last and _last_day(last))
        if condition.first and condition.last and condition.first > condition.last:
            self.notes.append(f"'{written}' ends before it begins; it was searched as words")
            return None
        return condition

    def _compared_date(self, key: str, sign: str, limit: str, written: str) -> Condition | None:
        first, last = _first_day(limit), _last_day(limit)
        if first is None or last is None:
            self.notes.append(f"'{written}' has an invalid date (YYYY-MM-DD); it was searched as words")
            return None
        match sign:
            case ">=":
                return HasDate(key, first, None)
            case "<=":
                return HasDate(key, None, last)
            case ">":
                return AllOf((HasDate(key, last, None), Negation(HasDate(key, first, last))))
            case _:
                return AllOf((HasDate(key, None, first), Negation(HasDate(key, first, last))))

    def _word(self, span: tuple[int, int], word: str) -> _Part:
        if prefix := _PREFIX.fullmatch(word):
            expansion: HasPrefix | HasSimilarWord = HasPrefix("text", fold(prefix[1]), word)
            return _Part(_Kind.EXPANSION, *span, expansion, "", expansion)
        if similar := _SIMILAR.fullmatch(word):
            if 1 <= int(similar[2][:3]) <= MAX_EDITS:
                expansion = HasSimilarWord("text", fold(similar[1]), int(similar[2]), word)
                return _Part(_Kind.EXPANSION, *span, expansion, similar[1], expansion)
            self.notes.append(f"'{word}' must end with ~1 or ~2; it was searched as words")
        is_excluded = len(word) > 2 and word[0] == "-" and word[1].isalpha()
        if is_excluded and (prefix := _PREFIX.fullmatch(word[1:])):
            condition = Negation(HasPrefix("text", fold(prefix[1]), word))
            return _Part(_Kind.CONDITION, *span, condition, is_negative=True)
        return _words(span, word[1:] if is_excluded else word, is_negative=is_excluded)


def _words(span: tuple[int, int], text: str, *, is_negative: bool = False) -> _Part:
    conditions = [_word_condition(token, "text", stop_words=False) for token in TOKEN.findall(text)]
    condition = _join(AllOf, conditions)
    if is_negative and condition is not None:
        return _Part(_Kind.WORDS, *span, Negation(condition), "", None, True)
    return _Part(_Kind.WORDS, *span, condition, text)


def _phrase(span: tuple[int, int], text: str, *, is_negative: bool) -> _Part:
    words = split_words(text)
    condition = HasPhrase(words) if words else None
    if is_negative and condition is not None:
        return _Part(_Kind.WORDS, *span, Negation(condition), "", None, True)
    return _Part(_Kind.WORDS, *span, condition, text)


def _word_condition(token: str, name: WordField, *, stop_words: bool) -> Condition | None:
    """Return the condition of a token: its full term, or all parts of a name; None for a stop word."""
    terms = expand(token)
    if not stop_words and STOP_WORDS.issuperset(terms):
        return None
    if len(terms) == 1 or not is_name(token):
        return HasWord(name, terms) if terms else None
    return AnyOf((HasWord(name, terms[:1]), HasWord(name, terms[1:])))


def _join(kind: type[AllOf] | type[AnyOf], conditions: Collection[Condition | None]) -> Condition | None:
    found = tuple(condition for condition in conditions if condition is not None)
    return kind(found) if len(found) > 1 else found[0] if found else None


def _remove_parts(text: str, parts: list[_Part]) -> str:
    """Return the text without the parts that are conditions or expansions."""
    remaining, end = [], 0
    for part in parts:
        if part.kind in (_Kind.CONDITION, _Kind.EXPANSION):
            remaining.append(text[end : part.start])
            end = part.end
    return " ".join([*remaining, text[end:]])


def _first_day(text: str) -> str | None:
    """Return the first day of a date, month or year as YYYY-MM-DD; None if it is invalid."""
    return _day(text, is_last=False)


def _last_day(text: str) -> str | None:
    return _day(text, is_last=True)


def _day(text: str, *, is_last: bool) -> str | None:
    found = _DATE.fullmatch(text)
    if found is None or found[1] == "0000":
        return None
    year, month = int(found[1]), int(found[2] or (12 if is_last else 1))
    if not 1 <= month <= 12:
        return None
    days = monthrange(year, month)[1]
    day = int(found[3] or (days if is_last else 1))
    return f"{year:04}-{month:02}-{day:02}" if 1 <= day <= days else None


class _NotAnExpression(Exception):
    """The operators and brackets form no expression; the message says why."""


class _Parser:
    """A parser by recursive descent. `positive` are the parts that are not excluded."""

    def __init__(self, parts: list[_Part]) -> None:
        self._parts = parts
        self._next = 0
        self._depth = 0
        self._is_negated = False
        self.positive: list[_Part] = []

    def parse(self) -> Condition:
        condition = self._any()
        if self._next < len(self._parts):
            raise _NotAnExpression("a bracket is closed that is not open")
        if condition is None or not self.positive:
            raise _NotAnExpression("the query has nothing to find, only words to exclude or ignore")
        return condition

    def _kind(self) -> _Kind | None:
        return self._parts[self._next].kind if self._next < len(self._parts) else None

    def _any(self) -> Condition | None:
        conditions = [self._all()]
        while self._kind() is _Kind.OR:
            self._next += 1
            conditions.append(self._all())
        return _join(AnyOf, conditions)

    def _all(self) -> Condition | None:
        conditions = [self._neighbours()]
        while self._kind() is _Kind.AND:
            self._next += 1
            conditions.append(self._neighbours())
        return _join(AllOf, conditions)

    def _neighbours(self) -> Condition | None:
        """Parse parts side by side: one of the words, and all conditions and exclusions."""
        alternatives: list[Condition | None] = []
        required: list[Condition | None] = []
        count = 0
        while (kind := self._kind()) not in (None, _Kind.AND, _Kind.OR, _Kind.CLOSE):
            part = self._parts[self._next]
            count += 1
            if kind is _Kind.NOT:
                self._next += 1
                required.append(self._negation())
            elif kind is _Kind.OPEN:
                alternatives.append(self._brackets())
            else:
                self._next += 1
                if not (self._is_negated or part.is_negative):
                    self.positive.append(part)
                is_required = part.is_negative or kind is _Kind.CONDITION
                (required if is_required else alternatives).append(part.condition)
        if not count:
            raise _NotAnExpression("AND, OR and NOT need something to find next to them")
        return _join(AllOf, [_join(AnyOf, alternatives), *required])

    def _negation(self) -> Condition | None:
        was_negated, self._is_negated = self._is_negated, not self._is_negated
        kind = self._kind()
        if kind is _Kind.NOT:
            self._next += 1
            condition = self._negation()
        elif kind is _Kind.OPEN:
            condition = self._brackets()
        elif kind in (None, _Kind.AND, _Kind.OR, _Kind.CLOSE):
            raise _NotAnExpression("AND, OR and NOT need something to find next to them")
        else:
            part = self._parts[self._next]
            self._next += 1
            condition = part.condition
            if not (self._is_negated or part.is_negative):
                self.positive.append(part)
        self._is_negated = was_negated
        return None if condition is None else Negation(condition)

    def _brackets(self) -> Condition | None:
        self._next += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _NotAnExpression(f"the brackets are nested too deeply (limit {MAX_DEPTH})")
        condition = self._any()
        if self._kind() is not _Kind.CLOSE:
            raise _NotAnExpression("a bracket is not closed")
        self._next += 1
        self._depth -= 1
        return condition
