"""The provider `hash`: vectors from the words of a text, without a model.

Each word adds 1 or -1 to one dimension, both chosen by a hash of the word
(feature hashing, Weinberger et al. 2009). Texts with common words have near vectors; words of a near meaning
do not. It needs no model and no network, and is meant for tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from index.port import Fusion

if TYPE_CHECKING:
    from index.vectors.embedder import Vectors

_DIMENSIONS = 256
_MAX_CACHED_WORDS = 200_000
# Every byte of a word, also of a letter outside ASCII, stays; the others become spaces.
_WORD_BYTES = bytes(
    byte if chr(byte).isalnum() or byte == ord("_") or byte >= 128 else 32 for byte in range(256)
)


class HashEmbedder:
    """Vectors from the words of a text. The same text always has the same vector."""

    provider = "hash"
    model = f"words-{_DIMENSIONS}"
    batch_size = 1_024
    # Vectors of words find nothing that a search for words does not find, so words decide.
    fusion = Fusion("sum", 0.95)

    def __init__(self) -> None:
        self._hashes = _WordHashes()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text; a text without words has a vector of zeros."""
        words = [
            text.lower().encode("utf-8", "surrogatepass").translate(_WORD_BYTES).split() for text in texts
        ]
        numbers = np.fromiter(map(self._hashes.__getitem__, chain.from_iterable(words)), np.int64)
        rows = np.repeat(np.arange(len(texts)), [len(words_of_text) for words_of_text in words])
        positions = rows * _DIMENSIONS + (numbers >> 1)
        sums = np.bincount(positions, (numbers & 1) * 2 - 1, len(texts) * _DIMENSIONS)
        return sums.reshape(len(texts), _DIMENSIONS).astype(np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self.embed_documents([text])

    def close(self) -> None:
        """Do nothing."""


class _WordHashes(dict[bytes, int]):
    """The hash of each word that was asked for: a dimension and, in the last bit, a sign."""

    def __missing__(self, word: bytes) -> int:
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        digest = blake2b(word, digest_size=4).digest()
        number = self[word] = int.from_bytes(digest, "little") % (2 * _DIMENSIONS)
        return number
