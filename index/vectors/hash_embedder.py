"""The provider `hash`: vectors from the words of a text, without a model.

Each word adds 1 or -1 to one dimension, both chosen by a hash of the word
(feature hashing, Weinberger et al. 2009). Texts with common words have near vectors; words of a near meaning
do not. It needs no model and no network, and is meant for tests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from index.port import Fusion

if TYPE_CHECKING:
    from index.vectors.embedder import Vectors

_DIMENSIONS = 256
_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Vectors from the words of a text. The same text always has the same vector."""

    provider = "hash"
    model = f"words-{_DIMENSIONS}"
    batch_size = 256
    # Vectors of words find nothing that a search for words does not find, so words decide.
    fusion = Fusion("sum", 0.95)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text; a text without words has a vector of zeros."""
        vectors = np.zeros((len(texts), _DIMENSIONS), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            numbers = np.fromiter(map(_hash_word, _WORD.findall(text.lower())), np.int64)
            np.add.at(vector, numbers >> 1, (numbers & 1) * 2 - 1)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self.embed_documents([text])

    def close(self) -> None:
        """Do nothing."""


@lru_cache(maxsize=100_000)
def _hash_word(word: str) -> int:
    """Return a dimension and, in the last bit, a sign."""
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little") % (2 * _DIMENSIONS)
