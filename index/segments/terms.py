"""How a term is named in a segment: its field, NUL, and the term itself.

The fields of taxonomy keys have the names of these; that of the text has none, so its terms come first.
"""

from __future__ import annotations

from index.segments.strings import decoded, encoded

TEXT = ""
"""The field of the words that stand in sections."""


def term_name(field: str, term: str) -> str:
    """Name a term of a field; with an empty term, give what the names of all its terms begin with."""
    return f"{field}\0{term}"


def term_key(field: str, term: str) -> bytes:
    """Give the name of a term as it is stored; the order of these keys is the order of the names."""
    return encoded(term_name(field, term))


def parted(key: bytes) -> tuple[str, bytes]:
    """Part a key into its field and the term, which stays encoded."""
    field, _, term = key.partition(b"\0")
    return decoded(field), term
