"""The provider `hash`: vectors from the words of a text, without a model.

Each word adds 1 or -1 to one dimension, both chosen by a hash of the word (feature hashing, Weinberger et al.
2009). The hash is the sum of one pseudo-random number for each byte at its position (tabulation hashing), so
that NumPy hashes all words of a batch at once. Texts with common words have near vectors; words of a near
meaning do not. It needs no model and no network, and is meant for tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from index.port import Fusion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from index.vectors.embedder import Vectors

_DIMENSIONS = 256
_MAX_POSITIONS = 32  # a power of two; the positions of the bytes of a longer word begin again at 0


def _make_byte_hashes() -> NDArray[np.uint16]:
    """Return a number for each position and byte; 0 for a byte that belongs to no word.

    Every byte of a letter outside ASCII belongs to a word.
    """
    state = np.arange(1, _MAX_POSITIONS * 256 + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    # The last steps of SplitMix64. NumPy's own random numbers may differ between its versions.
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    hashes = (state >> np.uint64(48)).astype(np.uint16).reshape(_MAX_POSITIONS, 256)
    hashes[:, ~_IS_WORD_BYTE] = 0
    return hashes


_IS_WORD_BYTE = np.array(
    [chr(byte).isalnum() or byte == ord("_") or byte >= 128 for byte in range(256)], np.bool_
)
_BYTE_HASHES = _make_byte_hashes().ravel()


class HashEmbedder:
    """Vectors from the words of a text. The same text always has the same vector."""

    provider = "hash"
    model = f"words-{_DIMENSIONS}-2"
    batch_size = 1_024
    is_single_threaded = True
    # Vectors of words find nothing that a search for words does not find, so words decide.
    fusion = Fusion("sum", 0.95)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text; a text without words has a vector of zeros."""
        encoded_texts = [text.lower().encode("utf-8", "surrogatepass") for text in texts]
        data = np.frombuffer(b" ".join([b"", *encoded_texts]), np.uint8)
        is_word_byte = _IS_WORD_BYTE[data]
        starts = (is_word_byte[1:] & ~is_word_byte[:-1]).nonzero()[0] + 1
        if not len(starts):
            return np.zeros((len(texts), _DIMENSIONS), np.float32)
        numbers = _hash_words(data, starts)
        # A space precedes each text.
        text_ends = np.cumsum([1 + len(text) for text in encoded_texts])
        rows = np.searchsorted(text_ends, starts, "right")
        positions = rows * _DIMENSIONS + (numbers >> 1)
        sums = np.bincount(positions, (numbers & 1) * 2 - 1, len(texts) * _DIMENSIONS)
        return sums.reshape(len(texts), _DIMENSIONS).astype(np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self.embed_documents([text])

    def close(self) -> None: ...


def _hash_words(data: NDArray[np.uint8], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the hash of each word of a text: a dimension and, in the last bit, a sign.

    `starts` has the positions of the words' first bytes. The bytes between two words add nothing.
    """
    first = int(starts[0])
    lengths = np.diff(starts, append=len(data))
    positions = np.arange(first, len(data)) - np.repeat(starts, lengths)
    positions &= _MAX_POSITIONS - 1
    positions <<= 8
    positions |= data[first:]
    byte_hashes = np.take(_BYTE_HASHES, positions)
    sums = np.add.reduceat(byte_hashes, starts - first, dtype=np.uint16)
    return (sums % (2 * _DIMENSIONS)).astype(np.intp)
