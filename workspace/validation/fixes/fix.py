"""One document put right: mends applied together, and the result held against what it was.

Words, levels and titles stay, and so does every line's number. A result that reads otherwise than expected is
thrown away, and said so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.config.config import LimitExceeded
from workspace.document.document import Document
from workspace.validation.fixes import missing_anchor
from workspace.validation.fixes.change import Fixed, Left, Mend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workspace.validation.fixes.fixers import Fixers

_ROUNDS = 100
"""How often a document is looked at: mends may stand in each other's way, and a rule tells of so many."""


def fixed(document: Document, fixers: Fixers) -> Fixed:
    """The document with all its mends. Where some would change its structure, they are left and told of."""
    done: list[Mend] = []
    left: tuple[Left, ...] = ()
    now = document
    for _ in range(_ROUNDS):
        found = list(fixers.find(now))
        one = apply(now, found)
        left = tuple(dict.fromkeys((*left, *one.left)))
        done += one.mends
        now = one.document
        if not one.mends or (
            len(one.mends) == sum(isinstance(item, Mend) for item in found)
            and not fixers.may_find_more(one.mends)
        ):
            break
    return Fixed(document, now, tuple(done), left)


def apply(document: Document, found: Iterable[Mend | Left]) -> Fixed:
    """The document with the mends that stand apart; where together they do harm, with those of one rule."""
    told = tuple(found)
    left = tuple(one for one in told if isinstance(one, Left))
    mends = _apart([one for one in told if isinstance(one, Mend)])
    if not mends:
        return Fixed(document, document, (), left)
    reason = ""
    for chosen in _choices(mends):
        try:
            changed = Document.parse(_spliced(document.data, chosen), document.path)
        except LimitExceeded as error:
            reason = error.message
            continue
        if _is_alike(document, changed, named=any(mend.rule == missing_anchor.RULE for mend in chosen)):
            return Fixed(document, changed, chosen, left)
        reason = "a mend would change how the headings or the front matter are read"
    return Fixed(document, document, (), (*left, Left(mends[0].rule, document.path, mends[0].line, reason)))


def _choices(mends: tuple[Mend, ...]) -> Iterator[tuple[Mend, ...]]:
    """All mends, else those of each rule."""
    yield mends
    rules = dict.fromkeys(mend.rule for mend in mends)
    if len(rules) > 1:
        yield from (tuple(mend for mend in mends if mend.rule == rule) for rule in rules)


def _apart(mends: Sequence[Mend]) -> tuple[Mend, ...]:
    """The mends in order, without those that begin before the one before them ends."""
    kept: list[Mend] = []
    position = 0
    for mend in sorted(mends, key=lambda one: (one.splice.start, one.splice.end)):
        if mend.splice.start >= position:
            kept.append(mend)
            position = mend.splice.end
    return tuple(kept)


def _spliced(data: bytes, mends: Iterable[Mend]) -> bytes:
    parts: list[bytes] = []
    position = 0
    for mend in mends:
        parts += (data[position : mend.splice.start], mend.splice.replacement)
        position = mend.splice.end
    parts.append(data[position:])
    return b"".join(parts)


def _is_alike(old: Document, new: Document, *, named: bool) -> bool:
    """Whether two versions have the same lines, sections, addresses and front matter.

    Where sections are `named`, those that shared an address have one each afterwards.
    """
    if (
        len(old.lines) != len(new.lines)
        or len(old.sections) != len(new.sections)
        or old.title != new.title
        or old.front_matter_lines != new.front_matter_lines
        or old.front_matter != new.front_matter
    ):
        return False
    return all(
        (was.level, was.parent, was.line, was.title) == (now.level, now.parent, now.line, now.title)
        and (was.address == now.address or (named and was.anchor is None and was.address != was.key))
        for was, now in zip(old.sections, new.sections, strict=True)
    )
