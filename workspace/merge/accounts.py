"""The lines of a merged document held against those of its versions: none is lost, and none comes back.

Units are known by what sections and blocks have in common, and what was rewritten and moved at once has too
little of that: it counts as removed, and as added elsewhere. Where the other side removed it, or put it
somewhere else, the merge would have it again, or twice. Only the lines tell.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from workspace.markdown.lines import BOM, LIST_MARKER_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.document.document import Document

_ANCHOR = re.compile(
    rb"""\{(?::|/\*)?[ \t]*#[^{}\r\n]{1,200}\}|<a (?:id|name)="?[^<>"\r\n]{1,200}"?(?:></a>|/?>)"""
)
# What a merge may write anew: the level of a heading, the number of an item, a task's box.
_MARKS = re.compile(rb"(?:[ \t]*(?:#{1,6}|%b)(?=[ \t]))+(?:[ \t]+\[[ xX]\](?=[ \t]))?" % LIST_MARKER_BYTES)
_SAYS = re.compile(rb"[^\W_]|[^\x00-\x7f]")


def is_accounted(
    base: Document | None, ours: Document, theirs: Document, merged: Document, told: Iterable[bytes]
) -> bool:
    """Whether each line that a side added is there, and each that it removed is gone.

    Lines of front matter, those that say nothing (a fence, a rule) and those that are `told` in a conflict
    are left out. Of a line that stood several times in base, and that both sides have, they may have removed
    or added the same one or two, so its number may be anything between the versions'.
    """
    was, mine, yours, kept = (_lines(document) for document in (base, ours, theirs, merged))
    common = was & mine & yours & kept
    was, mine, yours, kept = (_said(lines - common) for lines in (was, mine, yours, kept))
    left_out = {said for text in told for said in _said(Counter(text.splitlines()))}
    for line in (was | mine | yours | kept).keys() - left_out:
        both = mine[line] + yours[line] - was[line]
        one, other = sorted((mine[line], yours[line]))
        if was[line] > 1 and one:
            one, other = other, one
        least, most = min(both, other), max(both, one)
        if not least <= kept[line] <= most:
            return False
    return True


def _lines(document: Document | None) -> Counter[bytes]:
    """The lines of a document below its front matter."""
    if document is None:
        return Counter()
    return Counter(document.data[document.front_matter_end :].removeprefix(BOM).splitlines())


def _said(lines: Counter[bytes]) -> Counter[bytes]:
    """What lines say, without what a merge may write anew."""
    found: Counter[bytes] = Counter()
    for line, times in lines.items():
        marks = _MARKS.match(line)
        text = _ANCHOR.sub(b"", line[marks.end() :] if marks else line)
        if _SAYS.search(text):
            found[text.strip(b"# \t")] += times
    return found
