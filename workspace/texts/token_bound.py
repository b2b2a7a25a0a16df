"""An upper bound of the tokens of a text, without a tokenizer.

Tokenizers have one token for a frequent word, and one for two letters of a random word. Both kinds consist of
letters, so the pairs of letters decide: a word is split at each pair that is rare in English. A text has at
most as many tokens as bytes, because each token is at least one byte. docs/reading.md states the measured
distance to real tokenizers.

The text is divided into runs, and each run has one token for some number of its characters. A run consists of
small letters in frequent pairs, of capital letters, of digits, of line ends, of spaces, of one mark that is
used for rules, or of letters of the next alphabets. Each other character is a run of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# The 200 most frequent pairs of letters in English documentation: the letters that may follow each letter.
_FOLLOWING_LETTERS = {
    "a": "bcdgilmnprstu",
    "b": "aelruy",
    "c": "aehiklotu",
    "d": "adeios",
    "e": "acdeflmnpqrstvx",
    "f": "aefiort",
    "g": "ehiru",
    "h": "aeiotu",
    "i": "abcdefglmnoprstv",
    "j": "e",
    "k": "es",
    "l": "adeilostuy",
    "m": "aeimop",
    "n": "acdegiosty",
    "o": "cdfglmnoprstuvw",
    "p": "aeiloprstuy",
    "q": "u",
    "r": "acdegikmnorstuy",
    "s": "acehiopstu",
    "t": "aehiloprstuy",
    "u": "abeilmnprst",
    "v": "aei",
    "w": "aehio",
    "x": "t",
    "y": "dopt",
}

_SMALL_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_RUNS = {
    _SMALL_LETTERS: 10,
    _SMALL_LETTERS.upper(): 2,
    "0123456789": 2,
    "\r\n": 4,
    " \t": 16,
    **dict.fromkeys("-=*#_.", 16),
}
"""The ASCII characters that one run may have together, and how many of them are at most in one token."""

_PAIRED_CAPITALS = 4  # of a run; each further capital letter is a token

# Characters that are not ASCII have the code of their group.
_ALPHABETS, _OTHER, _CODE_COUNT = 128, 129, 130
_FIRST_ALPHABET, _FIRST_LATER_SCRIPT, _FIRST_SUPPLEMENTARY = 0x370, 0x700, 0x10000

# By code point; the last code is that of all later characters.
_CODES = np.full(_FIRST_LATER_SCRIPT + 1, _OTHER, np.uint8)
_CODES[:128] = np.arange(128)
_CODES[_FIRST_ALPHABET:_FIRST_LATER_SCRIPT] = _ALPHABETS


def _make_run_lengths() -> NDArray[np.uint8]:
    """Return how many characters of a run are at most in one token, by the code of its characters."""
    run_lengths = np.ones(_CODE_COUNT, np.uint8)
    for characters, length in _RUNS.items():
        run_lengths[[*map(ord, characters)]] = length
    run_lengths[_ALPHABETS] = 2
    return run_lengths


def _make_ends() -> NDArray[np.bool_]:
    """Return whether a run ends between two neighbours, by the code of the first and that of the second."""
    ends = np.ones((_CODE_COUNT, _CODE_COUNT), np.bool_)
    for characters in _RUNS:
        members = [*map(ord, characters)]
        ends[np.ix_(members, members)] = False
    for first in _SMALL_LETTERS:
        rare_letters = set(_SMALL_LETTERS).difference(_FOLLOWING_LETTERS.get(first, ""))
        ends[ord(first), [*map(ord, rare_letters)]] = True
    ends[_ALPHABETS, _ALPHABETS] = False
    return ends.ravel()


_RUN_LENGTHS, _ENDS = _make_run_lengths(), _make_ends()


def count_tokens_at_most(text: str) -> int:
    """Return an upper bound of the number of tokens of a text; docs/reading.md states its accuracy."""
    if not text:
        return 0
    later_tokens = 0
    if text.isascii():
        codes = np.frombuffer(text.encode(), np.uint8)
        byte_count = len(text)
    else:
        characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        codes = _CODES[np.minimum(characters, _FIRST_LATER_SCRIPT)]
        # A character of a later script has at most two tokens, a supplementary one three.
        later_tokens = int(np.count_nonzero(characters >= _FIRST_LATER_SCRIPT))
        later_tokens += int(np.count_nonzero(characters >= _FIRST_SUPPLEMENTARY))
        byte_count = len(text.encode("utf-8", "surrogatepass"))
    ends = _ENDS.take(codes[:-1] * np.uint16(_CODE_COUNT) + codes[1:]).nonzero()[0]
    starts = np.concatenate(((0,), ends + 1))
    lengths = np.diff(starts, append=len(codes))
    firsts = np.append(codes[starts], ord("\0"))
    run_lengths = _RUN_LENGTHS[firsts[:-1]]
    count = int(((lengths + (run_lengths - 1)) // run_lengths).sum()) + later_tokens
    count += _count_unpaired_capitals(lengths, firsts) - _count_joined_spaces(codes, starts, lengths, firsts)
    return min(count, byte_count)


def _is_between(codes: NDArray[np.uint8], first: str, last: str) -> NDArray[np.bool_]:
    return (codes >= ord(first)) & (codes <= ord(last))


def _count_unpaired_capitals(lengths: NDArray[np.intp], firsts: NDArray[np.uint8]) -> int:
    """Return the tokens of capital letters beside those of their pairs.

    Each letter after the first two pairs is a token. The last letter, if it has no pair, is in one token with
    the small letters after it. `firsts` has the first code of each run, and one more code.
    """
    runs = _is_between(firsts, "A", "Z").nonzero()[0]
    run_lengths, is_before_small = lengths[runs], _is_between(firsts[runs + 1], "a", "z")
    unpaired = np.maximum(run_lengths - _PAIRED_CAPITALS, 0)
    joined = is_before_small & ((unpaired > 0) | (run_lengths % 2 == 1))
    return int((unpaired // 2).sum()) - int(np.count_nonzero(joined))


def _count_joined_spaces(
    codes: NDArray[np.uint8], starts: NDArray[np.intp], lengths: NDArray[np.intp], firsts: NDArray[np.uint8]
) -> int:
    """Return the number of single spaces that are in one token with the letter after them."""
    runs = ((firsts == ord(" ")) | (firsts == ord("\t"))).nonzero()[0]
    next_letters = firsts[runs + 1] | 0x20  # in lower case
    runs = runs[_is_between(next_letters, "a", "z") & (lengths[runs] % 16 == 1)]
    return int(np.count_nonzero(codes[starts[runs] + lengths[runs] - 1] == ord(" ")))
