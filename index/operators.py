"""The operators of the query syntax: a lexer and a parser to a `Condition`.

    auth*   retry~1   retry~2                    words with this prefix, and similar words
    title:x  heading:x  path:docs  tag:x  KEY:x  conditions on a field; a value can be quoted, or end with *
    KEY:2026-01-31  KEY:>2026-01  KEY:[A TO B]   conditions on a date of the front matter
    a AND b   a OR b   NOT a   ( )               combinations of words and conditions

Adjacent words are joined by OR, adjacent conditions by AND. NOT has the highest precedence, then adjacent
words, then AND, then OR. `_resolve_operators` decides if AND, OR and NOT in capitals are operators.

An invalid part is searched for as words, and a note reports it. Text that only looks like a field (`12:30`,
`std::vector`, `localhost:8080`) is searched for as words without a note.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from index.analysis.expansion import MAX_TERM_LENGTH, has_full_term
from index.analysis.terms import extract_token_terms
from index.analysis.words import STOP_WORDS, TOKEN, WORD, fold
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
from index.phrases import split_phrase_words
from index.port import MAX_PATH_LENGTH, QueryTooBroad

WORD_FIELDS: tuple[WordField, ...] = ("title", "heading")
PATH = "path"
TAG = "tag"
"""The field `tag` is the key `tags`, unless there is a key `tag`."""

MAX_EDITS = 2
MAX_PARTS = 64
"""The largest number of operators, pairs of brackets, fields, prefixes and similar words in a query.

A repeated field, prefix or similar word counts once.
"""

MAX_DEPTH = 20
"""The largest depth of nested brackets."""

MAX_NOTES = 8
_MAX_SHOWN_CHARACTERS = 60
_MAX_FIELDS_SHOWN = 12
_MAX_SIMILAR_LENGTH = 32  # as in `index.spelling`


@dataclass(frozen=True, slots=True)
class QueryFields:
    """The fields that the documents of a commit define, in addition to words and paths; read only if needed.

    `keys` returns the keys of the taxonomy. `has_dates` returns True if a document has a date for a key.
    """

    keys: Callable[[], Collection[str]] = tuple
    has_dates: Callable[[str], bool] = lambda _: False


NO_FIELDS = QueryFields()


@dataclass(slots=True)
class Operators:
    """The operators of a query, and the text that remains of it.

    `text` has no operators and is parsed as words. If `is_boolean` is True, the words, phrases and exclusions
    are also in the condition. `can_select` is True if the condition can select sections without words,
    because a part of it is positive. The words of `ranking_text` then rank the sections. `expansions` are
    prefixes and similar words, which also rank sections. `notes` report invalid operators.
    """

    text: str
    condition: Condition | None = None
    expansions: tuple[HasPrefix | HasSimilarWord, ...] = ()
    is_boolean: bool = False
    can_select: bool = False
    ranking_text: str = ""
    notes: tuple[str, ...] = ()


def parse_operators(text: str, fields: QueryFields = NO_FIELDS) -> Operators | None:
    """Parse the operators of a query; None if it has none. Raises QueryTooBroad if it is over a limit."""
    if not _POSSIBLE_OPERATOR.search(text):
        return None
    lexer = _Lexer(text, fields)
    parts = _resolve_operators(list(lexer.split()))
    if any(part.kind in _OPERATORS for part in parts):
        try:
            parser = _Parser(parts)
            condition = parser.parse()
        except _InvalidExpression as error:
            lexer.notes.append(f"AND, OR and NOT were searched as words: {error}")
        else:
            _check_part_count(parts, text)
            ranking_text = " ".join(part.ranking_text for part in parser.positive_parts)
            expansions = _list_distinct_expansions(parser.positive_parts)
            notes = _limit_notes(lexer.notes)
            return Operators(ranking_text, condition, expansions, True, True, ranking_text, notes)
    parts = [part for part in parts if part.kind in (_Kind.CONDITION, _Kind.EXPANSION)]
    if not (parts or lexer.notes):
        return None
    _check_part_count(parts, text)
    conditions = [part for part in parts if part.kind is _Kind.CONDITION]
    return Operators(
        _replace_parts(text, parts),
        _join_conditions(AllOf, [part.condition for part in conditions]),
        _list_distinct_expansions(parts),
        can_select=not all(part.is_negative for part in conditions),
        ranking_text=" ".join(part.ranking_text for part in conditions),
        notes=_limit_notes(lexer.notes),
    )


# A text has operators only if this pattern matches.
_POSSIBLE_OPERATOR = re.compile(
    r"(?<!\S)\(*(?:AND|OR|NOT)(?![^\s(])|[^\s*]\*(?![^\s)])|[^\s~]~\d|\w:(?!:|//)"
)

_STRAIGHT_QUOTES = '"\u201c\u201d\u201e\u201f'
_QUOTES = f"{_STRAIGHT_QUOTES}\u00ab\u00bb"
# As in `index.query`, a quote right after a letter or digit opens no phrase.
_RUN = rf"[^\s(){_QUOTES}]*+ (?: (?<=[A-Za-z0-9_]) [{_QUOTES}] [^\s(){_QUOTES}]*+ )*"
_BALANCED_RUN = rf"{_RUN} (?: \( [^\s()]*+ \) {_RUN} )*"
_PART = re.compile(
    rf"""
    (?P<bracket> [()] )
  | (?P<operator> (?<![^\s(]) (?:AND|OR|NOT) (?!\S) | (?<!\S) (?:AND|OR|NOT) (?=\() )
  | (?P<dash> (?<![^\s(]) - )?
    (?: (?P<name> [A-Za-z][\w.-]*+ ) :
        (?: [{_STRAIGHT_QUOTES}] (?P<quoted> [^{_STRAIGHT_QUOTES}]*+ ) [{_STRAIGHT_QUOTES}]
          | \u00ab (?P<guillemets> [^\u00ab\u00bb]*+ ) \u00bb
          | (?P<range> \[ [^\]\n]{{0,80}} \] (?! [^\s)] ) )
          | (?P<value> (?! :|// ) [^\s(){_QUOTES}] {_BALANCED_RUN} )
          | (?= [\s){_QUOTES}] | $ ) )
      | (?<![A-Za-z0-9_]) [{_STRAIGHT_QUOTES}] (?P<phrase> [^{_STRAIGHT_QUOTES}]*+ ) [{_STRAIGHT_QUOTES}]
      | \u00ab (?P<guillemet_phrase> [^\u00ab\u00bb]*+ ) \u00bb )
  | (?P<word> [^\s()] {_BALANCED_RUN} )
    """,
    re.VERBOSE,
)
_SIMILAR_WORD = re.compile(r"([^~]+)~(\d+)")
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", re.ASCII)
_COMPARISON = re.compile(r"(>=|<=|>|<)(.*)", re.DOTALL)
_RANGE = re.compile(r"\[\s*(\S+)\s+TO\s+(\S+)\s*\]")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
# A name and a value that are probably a misspelt field.
_LIKELY_NAME = re.compile(r"[a-z][a-z_-]{1,63}")
_LIKELY_VALUE = re.compile(r"[^\W\d_][\w.*~-]*[,;]?|[<>]=?\d[\d-]*|\[.* TO .*\]")


class _Kind(Enum):
    """The kind of a part of a query."""

    OPEN = auto()
    CLOSE = auto()
    AND = auto()
    OR = auto()
    NOT = auto()
    CONDITION = auto()
    EXPANSION = auto()
    WORDS = auto()


_OPERATORS = _Kind.AND, _Kind.OR, _Kind.NOT
_KIND_BY_NAME = {"AND": _Kind.AND, "OR": _Kind.OR, "NOT": _Kind.NOT}


class _Part(NamedTuple):
    """A part of a query. `ranking_text` has words that rank sections. The condition of stop words is None."""

    kind: _Kind
    start: int
    end: int
    query_text: str
    condition: Condition | None = None
    ranking_text: str = ""
    expansion: HasPrefix | HasSimilarWord | None = None
    is_negative: bool = False


@dataclass(slots=True)
class _Lexer:
    """A lexer of a query. `notes` report the parts that are searched for as words."""

    text: str
    fields: QueryFields
    notes: list[str] = field(default_factory=list)
    _known_keys: Collection[str] | None = None

    def split(self) -> Iterator[_Part]:
        """Yield the parts of the query, in order."""
        for match in _PART.finditer(self.text):
            start, end = match.span()
            query_text = match[0]
            if bracket := match["bracket"]:
                yield _Part(_Kind.OPEN if bracket == "(" else _Kind.CLOSE, start, end, query_text)
            elif operator := match["operator"]:
                yield _Part(_KIND_BY_NAME[operator], start, end, query_text)
            elif match["name"]:
                yield self._parse_field(match)
            elif (phrase := _find_first_present(match["phrase"], match["guillemet_phrase"])) is not None:
                yield _make_phrase(match, phrase)
            else:
                yield self._parse_word(match)

    @property
    def _keys(self) -> Collection[str]:
        if self._known_keys is None:
            self._known_keys = self.fields.keys()
        return self._known_keys

    def _add_note(self, query_text: str, reason: str) -> None:
        self.notes.append(f"'{_shorten(query_text)}' was searched as words: {reason}")

    def _parse_field(self, match: re.Match[str]) -> _Part:
        """Return the condition on a field, or words if the field or its value is invalid."""
        name, quoted_value = match["name"], _find_first_present(match["quoted"], match["guillemets"])
        value = (
            (match["range"] or match["value"] or "").rstrip(",;") if quoted_value is None else quoted_value
        )
        condition: Condition | None
        ranking_text = ""
        if name in WORD_FIELDS:
            condition, ranking_text = self._parse_word_field(
                name, value, match[0], is_quoted=quoted_value is not None
            )
        elif name == PATH:
            condition = self._parse_path(value, match[0])
        else:
            condition = self._parse_key_field(name, value, match[0], is_quoted=quoted_value is not None)
        if condition is None:
            return _make_words(match, match[0])
        if match["dash"]:
            return _make_part(match, _Kind.CONDITION, Negation(condition), is_negative=True)
        return _make_part(match, _Kind.CONDITION, condition, ranking_text)

    def _parse_word_field(
        self, name: WordField, value: str, query_text: str, *, is_quoted: bool
    ) -> tuple[Condition | None, str]:
        """Return the condition on the words of a field, and the words that rank sections."""
        if not is_quoted:
            count = len(self.notes)
            if expansion := self._parse_expansion(name, value, query_text):
                return expansion, _get_literal_word(expansion)
            if len(self.notes) > count:
                return None, ""
        tokens = TOKEN.findall(value)
        condition = _join_conditions(
            AllOf, [_make_word_condition(token, name, with_stop_words=True) for token in tokens]
        )
        if condition is None:
            self._add_note(query_text, f"the field has no value (such as {name}:retry)")
        return condition, value

    def _parse_path(self, value: str, query_text: str) -> Condition | None:
        if not value:
            self._add_note(query_text, f"the field has no value (such as {PATH}:guides)")
            return None
        if len(value) > MAX_PATH_LENGTH:
            raise QueryTooBroad(
                f"'{_shorten(query_text)}' has {len(value):,} characters (limit {MAX_PATH_LENGTH:,})",
                fix="Filter by a folder, such as path:guides.",
                limit=MAX_PATH_LENGTH,
                part=_shorten(query_text),
            )
        return IsUnder(value, query_text)

    def _parse_key_field(
        self, name: str, value: str, query_text: str, *, is_quoted: bool
    ) -> Condition | None:
        """Return the condition on a taxonomy key or on a date; None if the name or the value is invalid."""
        key = "tags" if name == TAG and TAG not in self._keys else name
        is_key = name == TAG or name in self._keys
        if not value:
            if is_key:
                self._add_note(query_text, f"the field has no value (such as {name}:VALUE)")
            return None
        is_range = not is_quoted and (value.startswith("[") or _COMPARISON.fullmatch(value) is not None)
        if is_range or _DATE.fullmatch(value) or not is_key:
            has_dates = _KEY.fullmatch(key) is not None and self.fields.has_dates(key)
        else:
            has_dates = False
        if not (is_key or has_dates):
            self._add_note_on_unknown_field(name, value, query_text, is_quoted=is_quoted)
            return None
        if is_range or not is_key:
            if has_dates:
                return self._parse_date(key, value, query_text)
            self._add_note(query_text, f"no document has a date '{name}'")
            return None
        if has_dates and (first := _find_first_day(value)) is not None:
            return AnyOf(
                (HasValue(key, value, query_text), HasDate(key, first, _find_last_day(value), query_text))
            )
        is_prefix = not is_quoted and value.endswith("*")
        return HasValue(key, value.removesuffix("*") if is_prefix else value, query_text, is_prefix)

    def _add_note_on_unknown_field(self, name: str, value: str, query_text: str, *, is_quoted: bool) -> None:
        field_names = [*WORD_FIELDS, PATH, TAG, *(key for key in self._keys if key != "tags")]
        is_likely = _LIKELY_NAME.fullmatch(name) and (is_quoted or _LIKELY_VALUE.fullmatch(value))
        if is_likely or name.lower() in field_names:
            field_list = ", ".join(field_names[:_MAX_FIELDS_SHOWN]) + (
                ", …" if len(field_names) > _MAX_FIELDS_SHOWN else ""
            )
            self._add_note(query_text, f"'{_shorten(name)}' is not a field ({field_list})")

    def _parse_date(self, key: str, value: str, query_text: str) -> Condition | None:
        """Return the condition on a date; None with a note if the value is not a date or a range of dates."""
        if comparison := _COMPARISON.fullmatch(value):
            return self._parse_compared_date(key, comparison[1], comparison[2], query_text)
        if range_match := _RANGE.fullmatch(value):
            first, last = (None if limit == "*" else limit for limit in range_match.groups())
        elif value.startswith("["):
            self._add_note(query_text, f"the value is not a range (such as {key}:[2026-01 TO 2026-03])")
            return None
        else:
            first = last = value
        if not all(limit is None or _find_first_day(limit) for limit in (first, last)):
            self._add_note_on_invalid_date(query_text)
            return None
        first_day, last_day = first and _find_first_day(first), last and _find_last_day(last)
        if first_day and last_day and first_day > last_day:
            self._add_note(query_text, "the range ends before it begins")
            return None
        return HasDate(key, first_day, last_day, query_text)

    def _parse_compared_date(self, key: str, sign: str, limit: str, query_text: str) -> Condition | None:
        first, last = _find_first_day(limit), _find_last_day(limit)
        if first is None or last is None:
            self._add_note_on_invalid_date(query_text)
            return None
        match sign:
            case ">=":
                return HasDate(key, first, None, query_text)
            case "<=":
                return HasDate(key, None, last, query_text)
            case ">":
                condition = HasDate(key, last, None, query_text)
            case _:
                condition = HasDate(key, None, first, query_text)
        return AllOf((condition, Negation(HasDate(key, first, last, query_text))))

    def _add_note_on_invalid_date(self, query_text: str) -> None:
        self._add_note(query_text, "the date is invalid (YYYY-MM-DD, YYYY-MM or YYYY)")

    def _parse_expansion(
        self, field: WordField, text: str, query_text: str
    ) -> HasPrefix | HasSimilarWord | None:
        """Return the prefix or the similar word in a text; None if the text is neither, or is invalid."""
        if text.endswith("*") and _is_prefix(prefix := text[:-1].lstrip("/")):
            return HasPrefix(field, fold(prefix)[:MAX_TERM_LENGTH], query_text)
        similar_match = _SIMILAR_WORD.fullmatch(text) if "~" in text else None
        if similar_match is None or similar_match[1].isupper():  # such as HEAD~1 in Git
            return None
        if not _can_have_similar_words(similar_match[1]):
            self._add_note(query_text, "~ needs a word of at most 32 letters")
            return None
        if not 1 <= int(similar_match[2][:3]) <= MAX_EDITS:
            self._add_note(query_text, f"the number after ~ must be 1 or 2 ({similar_match[2][:3]})")
            return None
        return HasSimilarWord(field, fold(similar_match[1]), int(similar_match[2][:3]), query_text)

    def _parse_word(self, match: re.Match[str]) -> _Part:
        word = match[0]
        if is_excluded := self._is_excluded(match.start(), word):
            word = word[1:]
        expansion = self._parse_expansion("text", word, word)
        if expansion is None:
            return _make_words(match, word, is_negative=is_excluded)
        if is_excluded:
            return _make_part(match, _Kind.CONDITION, Negation(expansion), is_negative=True)
        return _make_part(match, _Kind.EXPANSION, expansion, _get_literal_word(expansion), expansion)

    def _is_excluded(self, start: int, word: str) -> bool:
        """Return True if a dash excludes the word.

        A dash before a number or a short flag does not exclude it (`index.query`).
        """
        if word[0] != "-" or not word[1:2].isalpha():
            return False
        if start and not (self.text[start - 1].isspace() or self.text[start - 1] == "("):
            return False
        tokens = TOKEN.findall(word[1:])
        return len(tokens) == 1 and (len(tokens[0]) > 2 or not tokens[0].isascii())


_JOINING_CHARACTER = re.compile(r"[\d_.'\u2019+#-]")


def _is_prefix(text: str) -> bool:
    """Return True if the text can be a prefix: the beginning of a word or name.

    In scripts without spaces only one character is a prefix. These scripts are indexed by pairs of
    characters, so that a longer text finds its continuations without an operator.
    """
    return (len(text) == 1 or has_full_term(text)) and TOKEN.fullmatch(text.rstrip("./:@'-")) is not None


def _can_have_similar_words(text: str) -> bool:
    return (
        len(text) <= _MAX_SIMILAR_LENGTH
        and WORD.fullmatch(text) is not None
        and _JOINING_CHARACTER.search(text) is None
        and has_full_term(text)
    )


def _get_literal_word(expansion: HasPrefix | HasSimilarWord) -> str:
    """Return the word in an expansion, so that sections with exactly this word rank first."""
    return expansion.prefix if isinstance(expansion, HasPrefix) else expansion.word


def _make_part(
    match: re.Match[str],
    kind: _Kind,
    condition: Condition | None,
    ranking_text: str = "",
    expansion: HasPrefix | HasSimilarWord | None = None,
    *,
    is_negative: bool = False,
) -> _Part:
    return _Part(kind, match.start(), match.end(), match[0], condition, ranking_text, expansion, is_negative)


def _make_words(match: re.Match[str], text: str, *, is_negative: bool = False) -> _Part:
    conditions = [_make_word_condition(token, "text", with_stop_words=False) for token in TOKEN.findall(text)]
    return _make_words_or_phrase(match, _join_conditions(AllOf, conditions), text, is_negative=is_negative)


def _make_phrase(match: re.Match[str], text: str) -> _Part:
    words = split_phrase_words(text)
    return _make_words_or_phrase(
        match, HasPhrase(words) if words else None, text, is_negative=bool(match["dash"])
    )


def _make_words_or_phrase(
    match: re.Match[str], condition: Condition | None, text: str, *, is_negative: bool
) -> _Part:
    if is_negative and condition is not None:
        return _make_part(match, _Kind.WORDS, Negation(condition), is_negative=True)
    return _make_part(match, _Kind.WORDS, condition, text)


def _make_word_condition(token: str, name: WordField, *, with_stop_words: bool) -> Condition | None:
    """Return the condition of a token: its full term, or else all parts of a name.

    Returns None for a stop word, unless `with_stop_words` is True.
    """
    terms = extract_token_terms(token)
    if not with_stop_words and STOP_WORDS.issuperset(terms):
        return None
    if len(terms) == 1 or not has_full_term(token):
        return HasWord(name, terms) if terms else None
    return AnyOf((HasWord(name, terms[:1]), HasWord(name, terms[1:])))


def _join_conditions(
    node_type: type[AllOf] | type[AnyOf], conditions: Iterable[Condition | None]
) -> Condition | None:
    present_conditions = tuple(condition for condition in conditions if condition is not None)
    return (
        node_type(present_conditions)
        if len(present_conditions) > 1
        else present_conditions[0]
        if present_conditions
        else None
    )


_AUXILIARIES = """
    am are be been being can could did do does had has have if is may might must shall should was were why
    will would
"""
# NOT right after these words is emphasis: "it is NOT supported", "MUST NOT".
_WORDS_BEFORE_EMPHASIS = frozenset(_AUXILIARIES.split())
_CONTRACTIONS = "'s", "'re", "'m", "'ll"
# Before these words NOT is SQL or a status: NOT NULL, NOT FOUND, NOT ALLOWED.
_STATUS = re.compile(r"[A-Z]{2,}(?:ED|ABLE)|FOUND|NULL|EXISTS|LIKE")
# In capitals, these words may also be abbreviations.
_ABBREVIATIONS = frozenset(("am", "as", "can", "do", "it", "me", "so", "us"))
_SENTENCE_WORDS = frozenset(
    word.upper() for word in STOP_WORDS - _ABBREVIATIONS if len(word) > 1 and word.isalpha()
) - {"AND", "OR", "NOT"} | {"SELECT", "NULL", "LIKE", "EXISTS"}


def _resolve_operators(parts: list[_Part]) -> list[_Part]:
    """Return the parts; AND, OR and NOT become words if their capitals are emphasis, SQL or a heading.

    They are operators only if the query has a letter that is not a capital. It must not have a further stop
    word in capitals ("IS NOT NULL", "MUST NOT"). NOT is emphasis after an auxiliary ("is NOT"), and part of a
    name before a status ("NOT FOUND"). After the end of a sentence, AND and OR begin the next sentence.
    """
    other_texts = [part.query_text for part in parts if part.kind not in _OPERATORS]
    if len(other_texts) == len(parts):
        return parts
    has_operators = any(letter.isalpha() and not letter.isupper() for text in other_texts for letter in text)
    if has_operators:
        has_operators = _SENTENCE_WORDS.isdisjoint(text.strip(_PUNCTUATION) for text in other_texts)
    resolved_parts: list[_Part] = []
    for index, part in enumerate(parts):
        if part.kind in _OPERATORS and not (has_operators and _is_operator(parts, index)):
            part = part._replace(kind=_Kind.WORDS, ranking_text=part.query_text)
        resolved_parts.append(part)
    return resolved_parts


_PUNCTUATION = ".,;:!?'*_`"


def _is_operator(parts: list[_Part], index: int) -> bool:
    previous_text = parts[index - 1].query_text.lower() if index else ""
    if parts[index].kind is not _Kind.NOT:
        return not previous_text.endswith((".", "!", "?"))
    next_text = parts[index + 1].query_text if index + 1 < len(parts) else ""
    is_emphasis = previous_text in _WORDS_BEFORE_EMPHASIS or previous_text.replace("\u2019", "'").endswith(
        _CONTRACTIONS
    )
    return not is_emphasis and not _STATUS.fullmatch(next_text.strip(_PUNCTUATION))


def _list_distinct_expansions(parts: Iterable[_Part]) -> tuple[HasPrefix | HasSimilarWord, ...]:
    return tuple(dict.fromkeys(part.expansion for part in parts if part.expansion))


def _replace_parts(text: str, parts: Iterable[_Part]) -> str:
    """Return the text without its conditions, and with words in place of expansions."""
    remaining_texts, end = [], 0
    for part in parts:
        remaining_texts.append(text[end : part.start])
        if part.kind is _Kind.EXPANSION:
            remaining_texts.append(part.ranking_text)
        end = part.end
    return " ".join([*remaining_texts, text[end:]])


def _check_part_count(parts: Iterable[_Part], text: str) -> None:
    """Raise QueryTooBroad if there are too many parts; words and repeated parts do not count."""
    distinct_texts: set[str] = set()
    count = 0
    for part in parts:
        if part.kind in (_Kind.CONDITION, _Kind.EXPANSION):
            distinct_texts.add(part.query_text)
        elif part.kind in _OPERATORS or part.kind is _Kind.OPEN:
            count += 1
        if count + len(distinct_texts) > MAX_PARTS:
            excerpt = _shorten(text[part.start :])
            raise QueryTooBroad(
                f"the query has more than {MAX_PARTS} operators, fields and brackets (from '{excerpt}' on)",
                fix="Use fewer operators, fields and brackets.",
                limit=MAX_PARTS,
                part=excerpt,
            )


def _limit_notes(notes: Iterable[str]) -> tuple[str, ...]:
    distinct_notes = list(dict.fromkeys(notes))
    if (count := len(distinct_notes) - MAX_NOTES) > 0:
        distinct_notes[MAX_NOTES:] = [f"{count} more parts of the query were searched as words"]
    return tuple(distinct_notes)


def _shorten(text: str) -> str:
    """Shorten a part of a query for a message, without invisible characters."""
    excerpt = "".join(
        character if character.isprintable() else "\ufffd" for character in text[:_MAX_SHOWN_CHARACTERS]
    )
    return f"{excerpt}…" if len(text) > _MAX_SHOWN_CHARACTERS else excerpt


def _find_first_present(*texts: str | None) -> str | None:
    return next((text for text in texts if text is not None), None)


def _find_first_day(text: str) -> str | None:
    """Return the first day of a date, month or year as YYYY-MM-DD; None if it is invalid."""
    return _parse_day(text, is_last=False)


def _find_last_day(text: str) -> str | None:
    return _parse_day(text, is_last=True)


def _parse_day(text: str, *, is_last: bool) -> str | None:
    match = _DATE.fullmatch(text)
    if match is None or match[1] == "0000":
        return None
    year, month = int(match[1]), int(match[2] or (12 if is_last else 1))
    if not 1 <= month <= 12:
        return None
    days = monthrange(year, month)[1]
    day = int(match[3] or (days if is_last else 1))
    return f"{year:04}-{month:02}-{day:02}" if 1 <= day <= days else None


class _InvalidExpression(Exception):
    """The operators and brackets do not form an expression; the message has the reason."""


class _Parser:
    """A recursive descent parser. `positive_parts` are the parts that no NOT and no dash excludes."""

    def __init__(self, parts: list[_Part]) -> None:
        self._parts = parts
        self._position = 0
        self._depth = 0
        self._is_negated = False
        self.positive_parts: list[_Part] = []

    def parse(self) -> Condition:
        self._check_brackets()
        condition = self._parse_disjunction()
        if condition is None or not self.positive_parts:
            raise _InvalidExpression("the query only excludes words")
        return condition

    def _check_brackets(self) -> None:
        depth = 0
        for part in self._parts:
            depth += (part.kind is _Kind.OPEN) - (part.kind is _Kind.CLOSE)
            if depth < 0:
                raise _InvalidExpression("a bracket is closed that is not open")
        if depth:
            raise _InvalidExpression("a bracket is not closed")

    def _next_kind(self) -> _Kind | None:
        return self._parts[self._position].kind if self._position < len(self._parts) else None

    def _parse_disjunction(self) -> Condition | None:
        conditions = [self._parse_conjunction()]
        while self._next_kind() is _Kind.OR:
            self._position += 1
            conditions.append(self._parse_conjunction())
        return _join_conditions(AnyOf, conditions)

    def _parse_conjunction(self) -> Condition | None:
        conditions = [self._parse_adjacent_parts()]
        while self._next_kind() is _Kind.AND:
            self._position += 1
            conditions.append(self._parse_adjacent_parts())
        return _join_conditions(AllOf, conditions)

    def _parse_adjacent_parts(self) -> Condition | None:
        """Parse adjacent parts: one of the words is required, and all conditions and exclusions.

        Brackets without words count as a condition.
        """
        alternatives: list[Condition | None] = []
        required_conditions: list[Condition | None] = []
        first_position = self._position
        while self._next_kind() not in (None, _Kind.AND, _Kind.OR, _Kind.CLOSE):
            start = self._position
            condition, is_negative = self._parse_operand()
            parts = self._parts[start : self._position]
            has_words = any(part.kind in (_Kind.WORDS, _Kind.EXPANSION) for part in parts)
            (alternatives if has_words and not is_negative else required_conditions).append(condition)
        if self._position == first_position:
            raise _InvalidExpression("AND, OR, NOT or a bracket has nothing next to it")
        return _join_conditions(AllOf, [_join_conditions(AnyOf, alternatives), *required_conditions])

    def _parse_operand(self) -> tuple[Condition | None, bool]:
        """Parse a part or brackets, with or without NOT; return the condition, and True for an exclusion."""
        count = 0
        while self._next_kind() is _Kind.NOT:
            self._position += 1
            count += 1
        is_excluded = count % 2 == 1
        was_negated, self._is_negated = self._is_negated, self._is_negated != is_excluded
        kind = self._next_kind()
        is_negative = is_excluded
        if kind is _Kind.OPEN:
            condition = self._parse_brackets()
        elif kind in (None, _Kind.AND, _Kind.OR, _Kind.CLOSE):
            raise _InvalidExpression("AND, OR, NOT or a bracket has nothing next to it")
        else:
            part = self._parts[self._position]
            self._position += 1
            condition = part.condition
            is_negative = is_excluded != part.is_negative
            if condition is not None and not (self._is_negated or part.is_negative):
                self.positive_parts.append(part)
        self._is_negated = was_negated
        return Negation(condition) if is_excluded and condition is not None else condition, is_negative

    def _parse_brackets(self) -> Condition | None:
        opening_part = self._parts[self._position]
        self._position += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise QueryTooBroad(
                f"the brackets are nested more than {MAX_DEPTH} deep (character {opening_part.start + 1:,})",
                fix="Use fewer brackets.",
                limit=MAX_DEPTH,
                part=opening_part.query_text,
            )
        condition = self._parse_disjunction()
        self._position += 1
        self._depth -= 1
        return condition
