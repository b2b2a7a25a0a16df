"""Search for documents that may link to a path, before it is moved, renamed or removed.

A document that is named without need costs a moment; one that is missed keeps a link that leads nowhere. So
every answer is a superset of the documents that do link there.

What an operation may have done to links: the paths at which a link may mean something else afterwards.

It is asked after every edit, so it says "nothing" quickly where no name of a place can have changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.entities import html5
from typing import TYPE_CHECKING, NamedTuple, Protocol

from workspace.errors import LimitExceeded
from workspace.git.repository import DamagedRepository
from workspace.links.link import LinkKind
from workspace.links.resolver import (
    ENDINGS,
    INDEX_STEMS,
    list_index_paths,
    list_omittable_suffixes,
    read_target,
    strip_suffix,
)
from workspace.markdown.outline import may_have_nested_headings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.links.link import Link
    from workspace.links.survival import OffsetMap
    from workspace.links.world import OverlayFileTree
    from workspace.snapshot.overlay import Overlay
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
    """A source of the documents that may link to a path."""

    def linking_to(self, snapshot: Snapshot, paths: Collection[str]) -> Collection[str]:
        """Return the documents of a snapshot that may hold a link to one of these paths, in order of paths.

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
        return tuple(scan_documents(snapshot, snapshot.documents.items(), paths))


def scan_documents(
    snapshot: Snapshot, documents: Iterable[tuple[str, str]], paths: Collection[str]
) -> Iterator[str]:
    """Yield those of some documents, each with its blob, that may link to one of the paths."""
    rules = snapshot.config.links
    sought = [LinkPattern.of(path, rules.root) for path in dict.fromkeys(paths)]
    own = frozenset(paths)
    most = snapshot.config.limits.document_bytes
    for path, blob in documents:
        try:
            data = snapshot.git.blob_within(blob, most)
        except DamagedRepository:
            continue
        if path in own or data is None or may_link(path, data, sought, wiki=rules.wiki):
            yield path


class LinkPattern(NamedTuple):
    """The text that a link to a path contains in one spelling or another.

    `names` are the file's name without its ending and, where the file stands for its folder, the folder's:
    each as a run of letters that is looked for first (empty if there is none), and the pattern of the whole,
    which begins with letters where the name does, because these are found much quicker than what is before.
    To `folder` links may lead by dots, and by a mere slash if `is_root`.
    """

    names: tuple[tuple[bytes, re.Pattern[bytes]], ...]
    folder: str | None
    is_root: bool

    @classmethod
    def of(cls, path: str, root: str = "") -> LinkPattern:
        """Return the pattern of some paths; destinations that begin with a slash are relative to `root`."""
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


def may_link(path: str, data: bytes, sought: Iterable[LinkPattern], *, wiki: bool = False) -> bool:
    """Return True if the bytes of a document may hold a link to something that is sought."""
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
    """Return True if a name stands somewhere behind what may stand before one."""
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
    """Yield a name as it is, and as wiki links are compared, but for the case of ASCII letters."""
    plain = name.encode("utf-8", "surrogateescape").lower().decode("utf-8", "surrogateescape")
    for form in dict.fromkeys((plain, name.casefold())):
        letters = max(_LETTERS.findall(form), key=len, default="").encode()
        spelled = b"".join(map(_spellings, form))
        yield letters, re.compile(spelled + after)


def _spellings(character: str) -> bytes:
    """Return a pattern of the ways to write a character in a destination; ASCII letters are in lower case."""
    if character.isascii() and character.isalnum():
        return character.encode()
    raw = character.encode("utf-8", "surrogateescape")
    escaped = b"".join(b"%%%02x" % byte for byte in raw)
    pattern = rb"(?:\\?" + re.escape(raw) + rb"|" + escaped + rb"|&[a-z0-9]{1,31};?)"
    return pattern + b"?" if character in _SECONDS else pattern


# A tag with a name, of the two that count.
_TAG_NAME = re.compile(rb"(?:id|name)[ \t\r\n]*=", re.IGNORECASE)


class AffectedPaths(NamedTuple):
    """The paths, as they were before, to which links are to be looked at.

    `vanished` are folders that went with their last document: where that is now, None if it was removed.
    `spellings` are the paths that a destination may name to mean one of these.
    """

    paths: frozenset[str]
    vanished: Mapping[str, str | None]
    spellings: frozenset[str | None]
    rules: LinkRules

    @classmethod
    def of(cls, before: Overlay, after: Overlay, survival: OffsetMap) -> AffectedPaths:
        """Return what one operation, which made `after` of `before`, may have done to links."""
        rules = before.snapshot.config.links
        world: OverlayFileTree | None = None
        paths: set[str] = set()
        vanished: dict[str, str | None] = {}
        for path in survival.paths:
            now = survival.document(path)
            try:
                old = before.find(path)
            except LimitExceeded:  # such a document is only removed
                old, is_there = None, True
            else:
                is_there = old is not None
            if now is not None and (now != path or not is_there):
                paths.update(_shadowed(before, now, rules))
            if is_there and now != path:
                paths.add(path)
                world = world or _world(after)
                vanished |= dict.fromkeys(_vanished(world, path), now)
            elif old is not None and _may_rename(old, after.document(path), survival, rules):
                paths.add(path)
        return cls(
            frozenset(paths.union(vanished)), vanished, _affected_spellings(paths.union(vanished)), rules
        )

    def may_mean(self, link: Link, source: str) -> bool:
        """Return True if a link of the document `source` may mean one of the paths, by its spelling."""
        if link.kind is LinkKind.WIKI:
            return True
        target = read_target(link.destination, source, self.rules)
        return target is not None and (target.path in self.spellings or target.literal in self.spellings)


def _may_rename(old: Document, new: Document, survival: OffsetMap, rules: LinkRules) -> bool:
    """Return True if a name of a place may be gone, or lead to another place, after an edit of a document."""
    if len(old.sections) == len(new.sections) and all(
        _is_same(one, other, survival.place(old.path, one.heading_start) == (new.path, other.heading_start))
        and (old.source(one) == new.source(other) or not _may_name(old.source(one) + new.source(other)))
        for one, other in zip(old.sections, new.sections, strict=True)
    ):
        return False
    # Imported here because the parser is, and most edits do without.
    from workspace.links.fragments import DOCUMENT, TOP, find_names, find_place

    names = find_names(new, rules.dialect)
    if find_place(names, TOP) != find_place(find_names(old, rules.dialect), TOP) == DOCUMENT:
        return True
    for name, place in find_names(old, rules.dialect).items():
        found = find_place(names, name)
        kept = survival.place(old.path, place.offset)
        if found != place if place == DOCUMENT else found is None or kept != (new.path, found.offset):
            return True
    # A wiki link may name a heading by its words.
    return rules.wiki and [section.title for section in old.sections] != [item.title for item in new.sections]


def _is_same(one: Section, other: Section, is_kept: bool) -> bool:
    """Return True if a section has the names that it had."""
    if one.heading is None or other.heading is None:
        return one.heading is other.heading
    return (
        is_kept
        and one.heading.block.source == other.heading.block.source
        and (one.address, one.anchor, one.aliases) == (other.address, other.anchor, other.aliases)
    )


def _may_name(text: bytes) -> bool:
    """Whether something in a section's text may have a name: a tag, a footnote, a heading in a list."""
    if b"[^" in text or (b"<" in text and _TAG_NAME.search(text)):
        return True
    return may_have_nested_headings(text)


def _affected_spellings(paths: Iterable[str]) -> frozenset[str | None]:
    """Return the paths as they are, without their endings, and the folders that they may be the pages of."""
    spelled: set[str | None] = set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        stem = name.partition(".")[0]
        spelled |= {path, path.removesuffix(name) + name.rpartition(".")[0]}
        if stem.lower() in INDEX_STEMS:
            spelled.add(folder)
    return frozenset(spelled)


def _world(after: Overlay) -> OverlayFileTree:
    # Imported here because what resolves links is, and most edits do without.
    from workspace.links.world import OverlayFileTree

    return OverlayFileTree(after)


def _vanished(world: OverlayFileTree, path: str) -> Iterator[str]:
    """Yield the folders above a path that are no more."""
    folder = path.rpartition("/")[0]
    while folder and not world.exists(folder):
        yield folder
        folder = folder.rpartition("/")[0]


def _shadowed(before: Overlay, new: str, rules: LinkRules) -> Iterator[str]:
    """Yield the documents that links may no longer mean because one has come to the path `new`."""
    from workspace.links.world import OverlayFileTree

    world = OverlayFileTree(before)
    folder, _, name = new.rpartition("/")
    spelled: list[str] = []
    if new in list_index_paths(folder, rules):
        spelled += list_index_paths(folder, rules)
        if rules.omits_endings and folder:
            spelled += (folder + suffix for suffix in list_omittable_suffixes(rules))
    if rules.omits_endings:
        stem = strip_suffix(new)
        spelled += (
            stem,
            *(stem + suffix for suffix in list_omittable_suffixes(rules)),
            *list_index_paths(stem, rules),
        )
    for path in dict.fromkeys(spelled):
        if path != new and world.exists(path):
            yield path
    if rules.wiki:
        yield from world.stems.get(strip_suffix(name).lower(), ())
