"""Tokens: the characters of words, and the characters that join words into one name.

A *token* is a word, or words that are joined into a name: `don't`, `node.js`, `kebab-case`, `std::vector`,
`/v1/search`, `user@example.org`, `--dry-run`. All other characters separate tokens.

`split_raw_tokens` splits bytes at spaces after it has removed ASCII punctuation. It is fast, because it
decodes nothing. Bytes that join words into names are preserved, and so are all bytes that are not ASCII. A
raw token therefore contains any number of tokens, which `index.analysis.expansion` finds. A text has the same
tokens with and without this step.

`strip_markup` removes the Markdown that is not displayed. `stem` reduces "retries", "retrying" and "retry"
to one word. `STOP_WORDS` are in almost every text; only those of headings are indexed.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from Stemmer import Stemmer

# Python's `\w` excludes the marks with which many scripts write vowels: pointed Hebrew and Arabic,
# the scripts of India, Tibetan.
_POINTS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
_ACCENTS = "\u0300-\u036f"
_VOWELS = "\u0900-\u0963\u0966-\u0dff\u0f71-\u0f84\u0f90-\u0fbc"

_SOUTHEAST = (
    "\u0e01-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0eff"  # Thai, Lao
    "\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc-\u17e9"  # Burmese, Khmer
)

_EAST = (
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3100-\u312f"  # Kana, Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"  # Han, Hangul
)

_SPACELESS = _SOUTHEAST + _EAST

# A large character class takes milliseconds to compile at each use. So it has only characters outside `\w`.
_VOICING_MARKS = "\u3099\u309a"
_LETTERS = rf"[\w{_ACCENTS}{_POINTS}{_VOWELS}{_SOUTHEAST}{_VOICING_MARKS}\U00020000-\U0003ffff]++"

# Possessive quantifiers (`++`) keep the time linear and save no backtracking state. Groups have none, because
# possessive groups are wrong in some releases of Python 3.11 (CPython issue 106052).
_WORD = rf"{_LETTERS}(?:[.'\u2019-]{_LETTERS})*(?:\+\+|\#(?!\w))?"
WORD = re.compile(_WORD)
"""A word of a token, such as `v1`, `C++` or `example.org`."""

TOKEN = re.compile(rf"(?:(?<![\w-])--(?=[A-Za-z]))?{_WORD}(?:(?:[/@]|::){_WORD})*")
"""A token of normalised text; the dashes of `--flag` are part of it."""

MARKS = re.compile(rf"[{_ACCENTS}{_POINTS}\u0640]++")
"""Marks on letters of decomposed text that people often omit in queries."""

# Soft hyphens and joiners are invisible; a zero-width space separates words.
_INVISIBLE = re.compile("[\u00ad\u200c\u200d\u2060\ufeff]")
_ZERO_WIDTH_SPACE = "\u200b"

# Normalization sorts the marks on a letter in quadratic time, so their number is limited (UAX #15 §13).
_MANY_MARKS = re.compile(r"([^\w\s]{30})[^\w\s]++")


@cache
def get_spaceless_pattern() -> re.Pattern[str]:
    """Return a pattern that matches a character of the scripts written without spaces."""
    return re.compile(f"[{_SPACELESS}]")


@cache
def get_script_runs_pattern() -> re.Pattern[str]:
    """Return a pattern of runs: characters of spaceless scripts are group 1, all others group 2."""
    return re.compile(f"([{_SPACELESS}]++)|([^{_SPACELESS}]++)")


def normalize(text: str) -> str:
    """Return text in NFKC, without invisible characters; runs of more than 30 marks are cut."""
    if text.isascii():
        return text
    visible_text = _INVISIBLE.sub("", text).replace(_ZERO_WIDTH_SPACE, " ")
    return unicodedata.normalize("NFKC", _MANY_MARKS.sub(r"\1", visible_text))


def fold(word: str) -> str:
    """Return a word in lower case without marks on its letters, so that "cafe" finds "Café"."""
    casefolded_word = word.casefold()
    if casefolded_word.isascii():
        return casefolded_word
    word_without_marks = MARKS.sub("", unicodedata.normalize("NFD", casefolded_word.replace("\u2019", "'")))
    return unicodedata.normalize("NFC", word_without_marks)


BREAK = b"\0"
"""The raw token between two texts. It occurs in no text."""

_JOINERS = b"_-'./@+#:"


def make_separator_table(preserved: bytes = b"") -> bytes:
    """Return the translation table that replaces each byte outside tokens by a space, except `preserved`."""
    preserved += _JOINERS
    return bytes(
        byte if byte >= 0x80 or chr(byte).isalnum() or byte in preserved else 0x20 for byte in range(256)
    )


_SEPARATOR_TABLE = make_separator_table(BREAK)


def split_raw_tokens(texts: Sequence[bytes]) -> list[bytes]:
    """Split texts into raw tokens, in order, with BREAK between each text and the next."""
    joined_texts = b" \0 ".join(texts)
    if joined_texts.count(BREAK) >= len(texts):
        joined_texts = b" \0 ".join(text.replace(BREAK, b" ") for text in texts)
    # A full stop mostly ends a sentence. It is removed, so that the word is the same raw token as elsewhere.
    return joined_texts.translate(_SEPARATOR_TABLE).replace(b". ", b"  ").split()


# An unclosed comment runs to the end. Repeats are possessive (`++`) or stop where the next match may begin,
# so that all these expressions take linear time on adversarial text.
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(rb"</?(?:a|img)\b[^<>]*>|<#[^\s<>]+>")

_LINK_TARGET = re.compile(
    rb"""\]\((?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)"""
)

_LINK_DEFINITION = re.compile(rb"^[ ]{0,3}\[[^\]\n]+\]:[ \t]*\S+", re.MULTILINE)
_ANCHOR = re.compile(rb"\{:?[ \t]*+#[^\s{}]++[^{}\n]*+\}")
_ENTITY = re.compile(rb"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")


def strip_markup(text: bytes) -> bytes:
    """Return Markdown without comments, `a` and `img` tags, link destinations, anchors and entities.

    Most texts contain none of these. An expression is tried only if its first bytes occur. A single byte is
    searched for first, because that is many times faster than a search for two bytes.
    """
    if b"<" in text:
        if b"<!--" in text:
            text = _COMMENT.sub(b" ", text)
        text = _TAG.sub(b" ", text)
    if b"]" in text:
        if b"](" in text:
            text = _LINK_TARGET.sub(b" ", text)
        if b"]:" in text:
            text = _LINK_DEFINITION.sub(b" ", text)
    if b"{" in text and b"#" in text:
        text = _ANCHOR.sub(b" ", text)
    if b"&" in text:
        text = _ENTITY.sub(b" ", text)
    return text


# One PyStemmer object must not be used by two threads at once.
_stemmer_lock = threading.Lock()


def stem(word: str) -> str:
    """Return the English Snowball stem of a folded word; words in other scripts are unchanged."""
    with _stemmer_lock:
        return str(_get_stemmer().stemWord(word))


def stem_all(words: Sequence[str]) -> list[str]:
    """Return the stems of several words. This is faster than a call of `stem` for each word."""
    with _stemmer_lock:
        stems: list[str] = _get_stemmer().stemWords(words)
    return stems


@cache
def _get_stemmer() -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer("english", 0)


_STOP_WORD_TEXT = """
    a about above after again against all also am an and any are aren't as at be because been before being
    below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down
    during each either else etc ever every few for from further get gets getting got had hadn't has hasn't
    have haven't having he her here here's hers herself him himself his how how's however i i'd i'll i'm
    i've if in into is isn't it it's its itself just let let's like may me might more most must mustn't my
    myself neither no nor not now of off often on once only or other ought our ours ourselves out over own
    per please same shall shan't she should shouldn't since so some such than that that's the their theirs
    them themselves then there there's these they they'd they'll they're they've this those though through
    thus to too under until up upon us very via want was wasn't we we'd we'll we're we've were weren't
    what what's when when's where where's whether which while who who's whom whose why why's will with
    within without won't would wouldn't yet you you'd you'll you're you've your yours yourself yourselves
"""

STOP_WORDS = frozenset(_STOP_WORD_TEXT.split())
