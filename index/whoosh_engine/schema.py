"""What Whoosh is told of our fields, and how our terms are named there."""

from __future__ import annotations

from functools import cache

from whoosh import fields, formats

from index.segments import terms

NAME = "MAIN"
"""What Whoosh calls an index that was given no name."""

TEXT, PATH, KEY = "text", "path", "key"
_FACET = "facet_"


@cache
def schema() -> fields.Schema:
    """Give the fields of an index: its words, any facets, and what is stored of a section.

    Existence keeps nothing beside a posting's weight; the analysis is ours, so no field has an analyzer.
    """
    found = fields.Schema(**{PATH: fields.STORED(), KEY: fields.STORED()})
    found.add(TEXT, fields.FieldType(formats.Existence(), None, scorable=True))
    found.add(f"{_FACET}*", fields.FieldType(formats.Existence(), None), glob=True)
    return found


def key_of(name: str, text: bytes) -> bytes | None:
    """Give the key of a term by Whoosh's name of its field; None if no field of ours has this name."""
    field = terms.TEXT if name == TEXT else name.removeprefix(_FACET) if name.startswith(_FACET) else None
    return None if field is None else terms.term_key(field, "") + text


def term_of(key: bytes) -> tuple[str, bytes]:
    """Give Whoosh's name of a key's field, and the term."""
    field, text = terms.parted(key)
    return (TEXT if field == terms.TEXT else _FACET + field), text
