"""The vocabulary: each distinct raw token is analysed once. Raw tokens and terms have numbers.

The vocabulary translates lists of raw tokens to arrays of term numbers. Many builds share one vocabulary,
so that an edit of one document does not stem every word again.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from index.analysis.expansion import expand_raw_tokens
from index.analysis.words import BREAK, STOP_WORDS
from index.segments.arrays import decode, encode, expand_ranges
from index.segments.segment import TEXT, make_term_name, split_term_key

MAX_BYTES = 64_000_000
"""When its estimated size reaches this number of bytes, a vocabulary is full."""

MAX_SHARED_BYTES = 16_000_000
"""When its estimated size reaches this number of bytes, the shared vocabulary of the process is full."""

# The estimated bytes of a key without its content: the object, the dictionary entry and the array entries.
_ENTRY_BYTES = 180

_Key = TypeVar("_Key", str, bytes)


class KeyNumbers(dict[_Key, int]):
    """A dictionary that numbers its keys from 0 in the order of their first lookup."""

    def __missing__(self, key: _Key) -> int:
        number = self[key] = len(self)
        return number

    def list_keys_since(self, number: int) -> list[_Key]:
        """Return the keys from a number on, in order."""
        return list(islice(reversed(self), len(self) - number))[::-1]


class Vocabulary:
    """Raw tokens and terms by number, and the terms of each raw token. Safe to use from threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._raw_tokens: KeyNumbers[bytes] = KeyNumbers()
        self._terms: KeyNumbers[str] = KeyNumbers()
        self._keys: list[bytes] = []
        self._raw_token_bytes = 0
        # The terms of a raw token are contiguous in `_token_terms`, from `_starts` on: first those other than
        # stop words (`_content_counts`), then the stop words (`_all_counts` counts both).
        self._token_terms = array("I")
        self._starts = array("I")
        self._content_counts = array("I")
        self._all_counts = array("I")
        self.number_raw_tokens([BREAK])

    @property
    def is_full(self) -> bool:
        """Return True if the estimated size has reached the limit, so that a new vocabulary is needed."""
        entries = len(self._raw_tokens) + len(self._terms)
        return entries * _ENTRY_BYTES + len(self._token_terms) * 4 + self._raw_token_bytes >= self._max_bytes

    @property
    def size(self) -> int:
        """The number of terms."""
        return len(self._terms)

    def number_raw_tokens(self, raw_tokens: Sequence[bytes]) -> NDArray[np.uint32]:
        """Return the number of each raw token, and add new tokens. BREAK has the number 0 and no terms."""
        with self._lock:
            numbers = np.fromiter(map(self._raw_tokens.__getitem__, raw_tokens), np.uint32, len(raw_tokens))
            if len(self._raw_tokens) > len(self._starts):
                self._add_tokens(self._raw_tokens.list_keys_since(len(self._starts)))
            return numbers

    def look_up_terms(
        self, numbers: NDArray[np.uint32], *, with_stop_words: bool
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the terms of numbered raw tokens, token after token, and how many each token has."""
        with self._lock:
            counts = _view_array(self._all_counts if with_stop_words else self._content_counts)[numbers]
            positions = expand_ranges(
                _view_array(self._starts)[numbers].astype(np.int64), counts.astype(np.int64)
            )
            return _view_array(self._token_terms)[positions], counts

    def add_term(self, field: str, value: str) -> int:
        """Add a term of a field, unless the vocabulary has it; return its number."""
        with self._lock:
            return self._terms[make_term_name(field, value)]

    def add_words_to_field(self, field: str, terms: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the numbers of the same words as terms of another field, which are added if they are new."""
        words = [decode(split_term_key(key)[1]) for key in self.look_up_keys(terms)]
        with self._lock:
            return np.fromiter(
                (self._terms[make_term_name(field, word)] for word in words), np.uint32, len(words)
            )

    def look_up_keys(self, terms: NDArray[np.integer]) -> list[bytes]:
        """Return the encoded field and text of numbered terms."""
        with self._lock:
            self._keys += map(encode, self._terms.list_keys_since(len(self._keys)))
        return [self._keys[term] for term in terms.tolist()]

    def _add_tokens(self, raw_tokens: Sequence[bytes]) -> None:
        token_terms = expand_raw_tokens(raw_tokens)
        for index, terms in enumerate(token_terms):
            content_count = len(terms)
            self._all_counts.append(content_count)
            if not STOP_WORDS.isdisjoint(terms):
                token_terms[index] = terms = sorted(terms, key=STOP_WORDS.__contains__)
                content_count -= sum(map(STOP_WORDS.__contains__, terms))
            self._content_counts.append(content_count)
        start = len(self._token_terms)
        self._starts.extend(islice(accumulate(map(len, token_terms), initial=start), len(token_terms)))
        prefix = make_term_name(TEXT, "")
        self._token_terms.extend([self._terms[prefix + term] for terms in token_terms for term in terms])
        self._raw_token_bytes += sum(map(len, raw_tokens))


_shared_lock = threading.Lock()
_shared_vocabulary = Vocabulary(MAX_SHARED_BYTES)


def get_shared_vocabulary() -> Vocabulary:
    """Return the shared vocabulary of this process; a full vocabulary is replaced."""
    global _shared_vocabulary
    with _shared_lock:
        if _shared_vocabulary.is_full:
            _shared_vocabulary = Vocabulary(MAX_SHARED_BYTES)
        return _shared_vocabulary


def _view_array(numbers: array[int]) -> NDArray[np.uint32]:
    return np.frombuffer(numbers, np.uint32) if numbers else np.zeros(0, np.uint32)
