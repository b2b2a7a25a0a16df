"""Find the documents that may link to a path, before the path is moved, renamed or removed.

A document that is returned without such a link only costs time, but the links of a missed document break. So
every result is a superset of the documents that link to the path.

`AffectedPaths` are the paths whose links an operation may change. They are computed after every edit, so a
quick check comes first: most edits change no name in the document.
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
    DESTINATION_SUFFIXES,
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
    from workspace.links.file_tree import OverlayFileTree
    from workspace.links.link import Link
    from workspace.links.offset_map import OffsetMap
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot

_SUFFIX = re.compile(f"(?:{'|'.join(map(re.escape, DESTINATION_SUFFIXES))})\\Z", re.IGNORECASE)
_LETTER_RUN = re.compile(r"[a-z0-9]+")

# A percent-encoded ASCII letter or digit.
_PERCENT_ENCODED_LETTER = re.compile(rb"%(?:3[0-9]|4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a])")

# The URL standard removes tabs and line breaks anywhere.
_BREAK_IN_HTML = re.compile(rb"(?:href|src)\s*=\s*[\"'][^\"'>]*[\t\r\n]")
_BREAK_IN_MARKDOWN = re.compile(rb"(?:\(|\]:)[\s>]*<[^<>\r\n]*\t")
_SECOND_CHARACTERS = frozenset(text[1] for text in html5.values() if len(text) == 2)
"""The second characters of entities of two characters; no entity decodes to such a character alone."""

_SLASH = rb"(?:\\?/|%2f|&sol;)"
_DOT = rb"(?:\\?\.|%2e|&period;)"

# The text that may precede a destination: its opening mark, or the end of an entity or of a non-ASCII space.
# In a quotation the opening mark may be on the line before. A slash or the end of an escape may also precede
# a name in a destination.
_OPENING = rb"[(<\"'=:|\[][\s>]*|[;\x80-\xff]"
_TEXT_BEFORE = rb"(?:" + _OPENING + rb"|/|%[0-9a-f][0-9a-f])"
_ENDS_WITH_OPENING = re.compile(_TEXT_BEFORE + rb"\Z")
_MAX_LOOKBEHIND = 200  # bytes

# The text that may follow a complete destination: its closing mark, or an escape of this mark.
_DESTINATION_END = rb"(?=[)>\"'#?\s|\]&%\x80-\xff]|\Z)"
_AFTER_FILE = rb"(?=[)>\"'#?\s|\]&%\x80-\xff.\\/]|\Z)"
_AFTER_FOLDER = rb"(?:" + _SLASH + _DOT + rb"{0,2})*" + _DESTINATION_END

# A destination that consists of dots, or ends in dots, leads to a folder without naming the folder. So does
# an escaped slash. A single slash leads to the root.
_DOT_DESTINATION = re.compile(
    _TEXT_BEFORE + rb"(?:" + _DOT + rb"|%2f){1,8}" + _SLASH + rb"*" + _DESTINATION_END
)
_ROOT_DESTINATION = re.compile(rb"(?:" + _OPENING + rb")" + _SLASH + _DESTINATION_END)


class InboundLinkFinder(Protocol):
    """A finder of the documents that may link to a path."""

    def find_linking_documents(self, snapshot: Snapshot, paths: Collection[str]) -> Collection[str]:
        """Return the documents of a snapshot that may link to one of these paths, ordered by path.

        The paths that are documents are included: a document may link to itself.
        """
        ...


class InboundLinkScanner:
    """A finder that searches the bytes of every document for the names of the paths, without an index.

    The search reads each document once, at about 100 MB a second. A document that Git cannot read is skipped.
    A document above the size limit of the workspace, which is never parsed, is returned without a search.
    """

    def find_linking_documents(self, snapshot: Snapshot, paths: Collection[str]) -> Collection[str]:
        """Return the documents that may link to one of these paths, as `InboundLinkFinder` requires."""
        return tuple(scan_documents(snapshot, snapshot.documents.items(), paths))


def scan_documents(
    snapshot: Snapshot, documents: Iterable[tuple[str, str]], paths: Collection[str]
) -> Iterator[str]:
    """Yield the documents that may link to one of the paths, and those of the paths that are documents.

    `documents` are pairs of a path and a blob id.
    """
    rules = snapshot.config.links
    patterns = [LinkPattern.of(path, rules.root) for path in dict.fromkeys(paths)]
    target_paths = frozenset(paths)
    max_bytes = snapshot.config.limits.document_bytes
    for path, blob in documents:
        try:
            data = snapshot.git.blob_within(blob, max_bytes)
        except DamagedRepository:
            continue
        if path in target_paths or data is None or may_link(path, data, patterns, wiki=rules.wiki):
            yield path


class LinkPattern(NamedTuple):
    """The text that every link to a path contains, however it is written.

    `name_patterns` match the file's name without its suffix and, if the file is the index of its folder, the
    folder's name. Each is a pair: the name's longest run of ASCII letters and digits, which may be empty, and
    the pattern of the full name. The run is searched first. The pattern begins with the name itself, because
    a search for the run is much faster than a search for the text before the name.

    Links may lead to `folder` by dots, and by a single slash if `is_root`.
    """

    name_patterns: tuple[tuple[bytes, re.Pattern[bytes]], ...]
    folder: str | None
    is_root: bool

    @classmethod
    def of(cls, path: str, root: str = "") -> LinkPattern:
        """Return the pattern of a path; destinations that begin with a slash are relative to `root`."""
        parent, _, name = path.rstrip("/").rpartition("/")
        stem = _SUFFIX.sub("", name) or name
        folder = parent if stem.casefold() in INDEX_STEMS else path.rstrip("/") if stem == name else None
        name_patterns = [] if folder == path.rstrip("/") else [*_make_name_patterns(stem, _AFTER_FILE)]
        if folder:
            name_patterns += _make_name_patterns(folder.rpartition("/")[2], _AFTER_FOLDER)
        return cls(tuple(name_patterns), folder, folder is not None and folder == root.strip("/"))

    def may_be_on_dot_path(self, path: str, lower_case_data: bytes) -> bool:
        """Return True if a destination of dots may lead from the document `path` to this folder or beyond."""
        is_below = not self.folder or path.startswith(f"{self.folder}/")
        return is_below or any(letters in lower_case_data for letters, _ in self.name_patterns)


def may_link(path: str, data: bytes, patterns: Iterable[LinkPattern], *, wiki: bool = False) -> bool:
    """Return True if the bytes of a document may contain a link that one of the patterns matches."""
    lower_case_data = data.lower()
    if wiki and b"[[" in data:
        folded_text = str(data, "utf-8", "replace").casefold()
        lower_case_data += b"\n" + folded_text.encode()
    if _may_hide_letters(lower_case_data):
        return True
    for link_pattern in patterns:
        if any(
            letters in lower_case_data and _contains_name(lower_case_data, regex)
            for letters, regex in link_pattern.name_patterns
        ):
            return True
        if (
            link_pattern.folder is not None
            and link_pattern.may_be_on_dot_path(path, lower_case_data)
            and _DOT_DESTINATION.search(lower_case_data)
        ):
            return True
        if link_pattern.is_root and _ROOT_DESTINATION.search(lower_case_data):
            return True
    return False


def _contains_name(lower_case_data: bytes, pattern: re.Pattern[bytes]) -> bool:
    """Return True if a name occurs after text that may precede a name."""
    match = pattern.search(lower_case_data)
    while match:
        start = match.start()
        preceding_text = lower_case_data[max(0, start - _MAX_LOOKBEHIND) : start]
        if _ENDS_WITH_OPENING.search(preceding_text) or (
            len(preceding_text) == _MAX_LOOKBEHIND and not preceding_text.strip(b" \t\r\n\f\v>")
        ):
            return True
        match = pattern.search(lower_case_data, start + 1)
    return False


def _may_hide_letters(lower_case_data: bytes) -> bool:
    """Return True if letters or digits may be escaped, or separated by tabs or line breaks."""
    if (
        b"&#" in lower_case_data
        or b"&fjlig;" in lower_case_data
        or b"&tab;" in lower_case_data
        or b"&newline;" in lower_case_data
    ):
        return True
    if b"%" in lower_case_data and _PERCENT_ENCODED_LETTER.search(lower_case_data):
        return True
    if (b"href" in lower_case_data or b"src" in lower_case_data) and _BREAK_IN_HTML.search(lower_case_data):
        return True
    return b"\t" in lower_case_data and _BREAK_IN_MARKDOWN.search(lower_case_data) is not None


def _make_name_patterns(name: str, pattern_after: bytes) -> Iterator[tuple[bytes, re.Pattern[bytes]]]:
    """Yield the patterns of a name in lower case, and of its case-folded form, by which wiki links match."""
    lower_case_name = name.encode("utf-8", "surrogateescape").lower().decode("utf-8", "surrogateescape")
    for form in dict.fromkeys((lower_case_name, name.casefold())):
        letters = max(_LETTER_RUN.findall(form), key=len, default="").encode()
        pattern = b"".join(map(_make_character_pattern, form))
        yield letters, re.compile(pattern + pattern_after)


def _make_character_pattern(character: str) -> bytes:
    """Return a pattern of all forms of a character in a destination, in lower case."""
    if character.isascii() and character.isalnum():
        return character.encode()
    raw_bytes = character.encode("utf-8", "surrogateescape")
    percent_escapes = b"".join(b"%%%02x" % byte for byte in raw_bytes)
    pattern = rb"(?:\\?" + re.escape(raw_bytes) + rb"|" + percent_escapes + rb"|&[a-z0-9]{1,31};?)"
    return pattern + b"?" if character in _SECOND_CHARACTERS else pattern


# A tag with one of the two attributes that define a name.
_TAG_NAME = re.compile(rb"(?:id|name)[ \t\r\n]*=", re.IGNORECASE)


class AffectedPaths(NamedTuple):
    """The old paths for which the links that refer to them must be checked.

    `vanished_folders` maps folders that disappeared with their last document to the new path of that
    document, or to None if it was removed. `spellings` are the forms in which a destination may contain one
    of the paths, such as without the suffix.
    """

    paths: frozenset[str]
    vanished_folders: Mapping[str, str | None]
    spellings: frozenset[str | None]
    rules: LinkRules

    @classmethod
    def of(cls, before: Overlay, after: Overlay, offset_map: OffsetMap) -> AffectedPaths:
        """Return the paths that one operation, which changed `before` to `after`, may affect."""
        rules = before.snapshot.config.links
        tree: OverlayFileTree | None = None
        paths: set[str] = set()
        vanished_folders: dict[str, str | None] = {}
        for path in offset_map.paths:
            new_path = offset_map.find_new_path(path)
            try:
                old_document = before.find(path)
            except LimitExceeded:  # an operation can only remove such a document
                old_document, existed_before = None, True
            else:
                existed_before = old_document is not None
            if new_path is not None and (new_path != path or not existed_before):
                paths.update(_find_shadowed_paths(before, new_path, rules))
            if existed_before and new_path != path:
                paths.add(path)
                tree = tree or _make_file_tree(after)
                vanished_folders |= dict.fromkeys(_find_vanished_folders(tree, path), new_path)
            elif old_document is not None and _may_affect_names(
                old_document, after.document(path), offset_map, rules
            ):
                paths.add(path)
        return cls(
            frozenset(paths.union(vanished_folders)),
            vanished_folders,
            _list_affected_spellings(paths.union(vanished_folders)),
            rules,
        )

    def may_refer(self, link: Link, source_path: str) -> bool:
        """Return True if a link in the document `source_path` may refer to one of the paths."""
        if link.kind is LinkKind.WIKI:
            return True
        target = read_target(link.destination, source_path, self.rules)
        return target is not None and (
            target.path in self.spellings or target.undecoded_path in self.spellings
        )


def _may_affect_names(old: Document, new: Document, offset_map: OffsetMap, rules: LinkRules) -> bool:
    """Return True if an edit of a document may have removed a name, or changed its target."""
    if len(old.sections) == len(new.sections) and all(
        _has_same_names(
            old_section,
            new_section,
            offset_map.map_offset(old.path, old_section.heading_start)
            == (new.path, new_section.heading_start),
        )
        and (
            old.source(old_section) == new.source(new_section)
            or not _may_define_name(old.source(old_section) + new.source(new_section))
        )
        for old_section, new_section in zip(old.sections, new.sections, strict=True)
    ):
        return False
    # Imported late because the module imports the parser, which most edits do not need.
    from workspace.links.fragments import DOCUMENT_TARGET, TOP_FRAGMENT, find_names, find_target

    names = find_names(new, rules.dialect)
    if (
        find_target(names, TOP_FRAGMENT)
        != find_target(find_names(old, rules.dialect), TOP_FRAGMENT)
        == DOCUMENT_TARGET
    ):
        return True
    for name, old_target in find_names(old, rules.dialect).items():
        new_target = find_target(names, name)
        new_position = offset_map.map_offset(old.path, old_target.offset)
        if (
            new_target != old_target
            if old_target == DOCUMENT_TARGET
            else new_target is None or new_position != (new.path, new_target.offset)
        ):
            return True
    # A wiki link may name a heading by its text.
    return rules.wiki and [section.title for section in old.sections] != [item.title for item in new.sections]


def _has_same_names(old: Section, new: Section, is_preserved: bool) -> bool:
    """Return True if an edit preserved the names of a section."""
    if old.heading is None or new.heading is None:
        return old.heading is new.heading
    return (
        is_preserved
        and old.heading.block.source == new.heading.block.source
        and (old.address, old.anchor, old.aliases) == (new.address, new.anchor, new.aliases)
    )


def _may_define_name(text: bytes) -> bool:
    """Return True if a text may define a name: by a tag, a footnote, or a heading in a list or quotation."""
    if b"[^" in text or (b"<" in text and _TAG_NAME.search(text)):
        return True
    return may_have_nested_headings(text)


def _list_affected_spellings(paths: Iterable[str]) -> frozenset[str | None]:
    """Return the paths, with and without their suffixes, and the folders whose index files they may be."""
    spellings: set[str | None] = set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        stem = name.partition(".")[0]
        spellings |= {path, path.removesuffix(name) + name.rpartition(".")[0]}
        if stem.lower() in INDEX_STEMS:
            spellings.add(folder)
    return frozenset(spellings)


def _make_file_tree(after: Overlay) -> OverlayFileTree:
    # Imported late because the module imports the resolver, which most edits do not need.
    from workspace.links.file_tree import OverlayFileTree

    return OverlayFileTree(after)


def _find_vanished_folders(tree: OverlayFileTree, path: str) -> Iterator[str]:
    """Yield the folders above a path that no longer exist."""
    folder = path.rpartition("/")[0]
    while folder and not tree.exists(folder):
        yield folder
        folder = folder.rpartition("/")[0]


def _find_shadowed_paths(before: Overlay, new_path: str, rules: LinkRules) -> Iterator[str]:
    """Yield the paths that links may no longer lead to because a document was added at `new_path`."""
    from workspace.links.file_tree import OverlayFileTree

    tree = OverlayFileTree(before)
    folder, _, name = new_path.rpartition("/")
    candidates: list[str] = []
    if new_path in list_index_paths(folder, rules):
        candidates += list_index_paths(folder, rules)
        if rules.may_omit_suffixes and folder:
            candidates += (folder + suffix for suffix in list_omittable_suffixes(rules))
    if rules.may_omit_suffixes:
        stem = strip_suffix(new_path)
        candidates += (
            stem,
            *(stem + suffix for suffix in list_omittable_suffixes(rules)),
            *list_index_paths(stem, rules),
        )
    for path in dict.fromkeys(candidates):
        if path != new_path and tree.exists(path):
            yield path
    if rules.wiki:
        yield from tree.paths_by_stem.get(strip_suffix(name).lower(), ())
