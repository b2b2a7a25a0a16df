"""Which words a text is found by: tokens become index terms, once for each distinct token.

A corpus has millions of words but few different ones, so everything costly (folding, stop words, stemming,
splitting identifiers) happens in `expand`, which remembers its answers. A plain word gives its Snowball stem.
An identifier gives itself whole and each of its parts: `RateLimitError` is found by "RateLimitError" and by
"rate limits". Text in scripts without spaces gives pairs of neighbouring characters.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from Stemmer import Stemmer

MAX_QUERY_WORDS = 64
"""A query is its first 64 words; what follows them is not read."""

MAX_TOKEN = 64
"""Longer tokens (hashes, encoded data) are known by their first 64 characters."""

_VOCABULARY_LIMIT = 400_000

TOKEN = re.compile(r"\w+(?:[.'\u2019-]\w+)*(?:\+\+|#(?!\w))?")
_PARTS = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_SCRIPTS = re.compile(f"([{_SPACELESS}]+)|[^{_SPACELESS}]+")

# What Markdown shows to programs and not to readers: comments, link targets, reference definitions, anchors,
# tags that hold addresses, and entities. An unclosed comment runs to the end, and what
# may repeat keeps what it took (`++`): both keep the search linear.
_UNREAD = re.compile(
    r"""<!--.*?(?:-->|\Z)
    | (?<=\])\((?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)
    | ^[ ]{0,3}\[[^\]\n]+\]:[ \t]*\S+
    | \{\#[^\s{}]++[^{}\n]*+\}
    | <\#[^\s<>]+>
    | </?(?:a|img)\b[^<>]*>
    | &(?:[A-Za-z][A-Za-z0-9]{1,30}|\#[0-9]{1,7}|\#[xX][0-9A-Fa-f]{1,6});""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)

_STOP_WORDS = """
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
STOP_WORDS = frozenset(_STOP_WORDS.split())


def terms_of_text(text: str) -> dict[str, int]:
    """Count the index terms of a stretch of Markdown, stop words left out."""
    return _count(TOKEN.findall(_normalised(_UNREAD.sub(" ", text))), _without_stop_words)


@lru_cache(maxsize=4096)
def terms_of_heading(text: str) -> Mapping[str, int]:
    """Count the index terms of a heading, stop words kept: "Why not?" can be found by its name."""
    return MappingProxyType(_count(TOKEN.findall(_normalised(text)), _vocabulary))


def terms_of_query(query: str) -> dict[str, int]:
    """Count the index terms of a query's first 64 words; stop words count only if there is nothing else.

    Every character that is not part of a word only separates words, so no query has any syntax.
    """
    matches = islice(TOKEN.finditer(_normalised(query)), MAX_QUERY_WORDS)
    tokens = [match.group() for match in matches]
    return _count(tokens, _without_stop_words) or _count(tokens, _vocabulary)


def expand(token: str) -> tuple[str, ...]:
    """Give the index terms that one token stands for; a stop word stands for itself alone."""
    return _vocabulary[token]


class _Vocabulary(dict[str, tuple[str, ...]]):
    """What each token met so far stands for; forgotten as a whole when it has grown too large."""

    def __init__(self, expand: Callable[[str], Iterable[str]]) -> None:
        super().__init__()
        self._expand = expand

    def __missing__(self, token: str) -> tuple[str, ...]:
        if len(self) >= _VOCABULARY_LIMIT:
            self.clear()
        found = self[token] = tuple(dict.fromkeys(self._expand(token)))
        return found


def _count(tokens: Iterable[str], vocabulary: _Vocabulary) -> dict[str, int]:
    counts: dict[str, int] = {}
    get = counts.get
    for token, count in Counter(tokens).items():
        for term in vocabulary[token]:
            counts[term] = get(term, 0) + count
    return counts


def _normalised(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _expand(token: str) -> Iterable[str]:
    token = token[:MAX_TOKEN]
    folded = _folded(token)
    if folded in STOP_WORDS:
        yield folded
        return
    if folded.endswith("'s"):
        token, folded = token[:-2], folded[:-2]
    if not folded.isascii() and (runs := list(_SCRIPTS.finditer(folded))) and any(run[1] for run in runs):
        for run in runs:
            yield from _pairs(run[1]) if run[1] else _expand(run[0])
        return
    humps = [hump for part in _PARTS.findall(token) for hump in _humps(part)]
    if len(humps) == 1 and folded.isalnum():
        yield _stem(folded)
    else:
        yield folded
        for hump in humps:
            word = _folded(hump)
            if word not in STOP_WORDS:
                yield _stem(word)


def _humps(part: str) -> list[str]:
    """Split camel case, digits kept with the letters before them: `HTTPServer2` is HTTP and Server2."""
    return _HUMPS.findall(part) if part.isascii() and not part.islower() else [part]


def _pairs(run: str) -> Iterable[str]:
    return (run[i : i + 2] for i in range(len(run) - 1)) if len(run) > 1 else (run,)


def _folded(token: str) -> str:
    folded = token.casefold().replace("\u2019", "'")
    if folded.isascii():
        return folded
    # Marks on letters are dropped, so that "cafe" finds "café"; other scripts need theirs to be words.
    return unicodedata.normalize(
        "NFC",
        "".join(c for c in unicodedata.normalize("NFD", folded) if not "\u0300" <= c <= "\u036f"),
    )


@cache
def _stemmer() -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer("english", 0)


# One PyStemmer object must not be used by two threads at once.
_stemming = threading.Lock()


def _stem(word: str) -> str:
    with _stemming:
        return str(_stemmer().stemWord(word))


_vocabulary = _Vocabulary(_expand)
_without_stop_words = _Vocabulary(
    lambda token: (term for term in _vocabulary[token] if term not in STOP_WORDS)
)
