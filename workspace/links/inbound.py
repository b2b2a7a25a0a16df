"""Which documents may link to a path: asked before one is moved, renamed or removed.

A document that is named without need costs a moment; one that is missed keeps a link that leads nowhere. So
every answer is a superset of the documents that do link there.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING, NamedTuple, Protocol

from workspace.git import DamagedRepository
from workspace.links.targets import ENDINGS, INDEX_STEMS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from workspace.snapshot.snapshot import Snapshot

_ENDING = re.compile(f"(?:{'|'.join(map(re.escape, ENDINGS))})\\Z", re.IGNORECASE)

_LETTERS = re.compile(r"[a-z0-9]+")
_HEX_LETTER = re.compile(rb"%(?:3[0-9]|4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a])")  # an ASCII letter or digit

# The URL standard leaves out tabs and line breaks wherever they stand.
_PARTED_IN_HTML = re.compile(rb"(?:href|src)\s*=\s*[\"'][^\"'>]*[\t\r\n]")
_PARTED = re.compile(rb"(?:\(|\]:)[\s>]*<[^<>\r\n]*\t")

_SECONDS = frozenset(text[1] for text in html5.values() if len(text) == 2)
"""What some entities say after another character, so that nothing need stand for it alone."""

_SLASH = rb"(?:\\?/|%2f|&sol;)"
_DOT = rb"(?:\\?\.|%2e|&period;)"

# What may stand before a destination: what opens one (also on the line before, in a quotation), or the end of
# an entity or of a space of another script. Before a name in one, also a slash or the end of an escape.
_OPENING = rb"[(<\"'=:|\[][\s>]*|[;\x80-\xff]"
_BEFORE = rb"(?:" + _OPENING + rb"|/|%[0-9a-f][0-9a-f])"
_OPENED = re.compile(_BEFORE + rb"\Z")
_FAR = 200  # bytes before a name that are looked at
# What may stand after a whole destination, but for its closing delimiter also an escape of one.
_END = rb"(?=[)>\"'#?\s|\]&%\x80-\xff]|\Z)"
_AFTER_FILE = rb"(?=[)>\"'#?\s|\]&%\x80-\xff.\\/]|\Z)"
_AFTER_FOLDER = rb"(?:" + _SLASH + _DOT + rb"{0,2})*" + _END

# A destination of nothing but dots, or one that ends in them, leads to a folder without naming that. So does
# an escaped slash, and a mere one to the root.
_DOTS = re.compile(_BEFORE + rb"(?:" + _DOT + rb"|%2f){1,8}" + _SLASH + rb"*" + _END)
_ROOT = re.compile(rb"(?:" + _OPENING + rb")" + _SLASH + _END)


class Inbound(Protocol):
    """What knows, or finds out, which documents may link to a path."""

    def linking_to(self, snapshot: Snapshot, paths: Collection[str]) -> Collection[str]:
        """The documents of a snapshot that may hold a link to one of these paths, in order of paths.

        Those of the paths that are documents are among them: a document may link to itself.
        """
        ...


class ScannedInbound:
    """Looks for the paths' names in the bytes of every document: no index is needed, and none is made.

    It reads all documents once, some 100 MB a second. A document that Git cannot read is left out; one over
    the limit of the workspace, which nobody reads, is named without a look.
    """

    def linking_to(self, snapshot: Snapshot, paths: Collection[str]) -> Collection[str]:
        """As `Inbound` says."""
        return tuple(scan(snapshot, snapshot.documents.items(), paths))


def scan(snapshot: Snapshot, documents: Iterable[tuple[str, str]], paths: Collection[str]) -> Iterator[str]:
    """Those of some documents, each with its blob, that may link to one of the paths."""
    rules = snapshot.config.links
    sought = [Sought.of(path, rules.root) for path in dict.fromkeys(paths)]
    own = frozenset(paths)
    most = snapshot.config.limits.document_bytes
    for path, blob in documents:
        try:
            data = snapshot.git.blob_within(blob, most)
        except DamagedRepository:
            continue
        if path in own or data is None or may_link(path, data, sought, wiki=rules.wiki):
            yield path


class Sought(NamedTuple):
    """What a link to a path must hold in one spelling or another.

    `names` are the file's name without its ending and, where the file stands for its folder, the folder's:
    each as a run of letters that is looked for first (empty if there is none), and the pattern of the whole,
    which begins with letters where the name does, because these are found much quicker than what is before.
    To `folder` links may lead by dots, and by a mere slash if `is_root`.
    """

    names: tuple[tuple[bytes, re.Pattern[bytes]], ...]
    folder: str | None
    is_root: bool

    @classmethod
    def of(cls, path: str, root: str = "") -> Sought:
        """What to look for; `root` is the folder that a destination counts from that begins with a slash."""
        above, _, last = path.rstrip("/").rpartition("/")
        stem = _ENDING.sub("", last) or last
        folder = above if stem.casefold() in INDEX_STEMS else path.rstrip("/") if stem == last else None
        names = [] if folder == path.rstrip("/") else [*_names(stem, _AFTER_FILE)]
        if folder:
            names += _names(folder.rpartition("/")[2], _AFTER_FOLDER)
        return cls(tuple(names), folder, folder is not None and folder == root.strip("/"))

    def is_passed(self, path: str, lowered: bytes) -> bool:
        """Whether a way that ends in dots may lead from a document to it: from below, or through it."""
        below = not self.folder or path.startswith(f"{self.folder}/")
        return below or any(letters in lowered for letters, _ in self.names)


def may_link(path: str, data: bytes, sought: Iterable[Sought], *, wiki: bool = False) -> bool:
    """Whether the bytes of a document may hold a link to something that is sought."""
    lowered = data.lower()
    if wiki and b"[[" in data:
        folded = str(data, "utf-8", "replace").casefold()
        lowered += b"\n" + folded.encode()
    if _hides_letters(lowered):
        return True
    for one in sought:
        if any(letters in lowered and _is_named(lowered, pattern) for letters, pattern in one.names):
            return True
        if one.folder is not None and one.is_passed(path, lowered) and _DOTS.search(lowered):
            return True
        if one.is_root and _ROOT.search(lowered):
            return True
    return False


def _is_named(lowered: bytes, pattern: re.Pattern[bytes]) -> bool:
    """Whether a name stands somewhere behind what may stand before one."""
    found = pattern.search(lowered)
    while found:
        start = found.start()
        before = lowered[max(0, start - _FAR) : start]
        if _OPENED.search(before) or (len(before) == _FAR and not before.strip(b" \t\r\n\f\v>")):
            return True
        found = pattern.search(lowered, start + 1)
    return False


def _hides_letters(lowered: bytes) -> bool:
    """Whether letters are written as numbers, two of them as one entity, or parted by what URLs leave out."""
    if b"&#" in lowered or b"&fjlig;" in lowered or b"&tab;" in lowered or b"&newline;" in lowered:
        return True
    if b"%" in lowered and _HEX_LETTER.search(lowered):
        return True
    if (b"href" in lowered or b"src" in lowered) and _PARTED_IN_HTML.search(lowered):
        return True
    return b"\t" in lowered and _PARTED.search(lowered) is not None


def _names(name: str, after: bytes) -> Iterator[tuple[bytes, re.Pattern[bytes]]]:
    """A name as it is, and as wiki links are compared, but for the case of ASCII letters."""
    plain = name.encode("utf-8", "surrogateescape").lower().decode("utf-8", "surrogateescape")
    for form in dict.fromkeys((plain, name.casefold())):
        letters = max(_LETTERS.findall(form), key=len, default="").encode()
        spelled = b"".join(map(_spellings, form))
        yield letters, re.compile(spelled + after)


def _spellings(character: str) -> bytes:
    """A pattern of the ways to write a character in a destination; ASCII letters are in lower case."""
    if character.isascii() and character.isalnum():
        return character.encode()
    raw = character.encode("utf-8", "surrogateescape")
    escaped = b"".join(b"%%%02x" % byte for byte in raw)
    pattern = rb"(?:\\?" + re.escape(raw) + rb"|" + escaped + rb"|&[a-z0-9]{1,31};?)"
    return pattern + b"?" if character in _SECONDS else pattern
