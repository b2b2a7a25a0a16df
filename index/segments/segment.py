"""One segment of an index, as arrays. It is written once, and any number of threads read it without a lock.

    term_keys, term_offsets       the keys of terms, ascending: field, NUL, term
    starts                        the start of each term's posting list, and the end of the last
    ids, weights                  posting lists: sections, ascending within a list, and weights
    lengths, page_of, numbers     for each section: its length, its document, and SECTION_COLUMN_COUNT numbers
    keys, titles                  for each section: its key and its title
    digests                       for each section: the digest of its text and its headings
    firsts, paths, blobs, facets  for each document: its first section, its path, its blob and its facets

Sections are numbered in order of address. Documents without sections also have numbers. Each posting takes
five bytes, without padding.

`TableBuilder` collects the data of documents and sections, except their words, one document at a time.

The key of a term is its field, NUL, and the term itself. The field of a taxonomy key has the key's name. The
field of the text has an empty name, so that its terms come first. The names of other fields begin with `#`,
which no key has.
"""

from __future__ import annotations

import json
import secrets
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from index.documents import DIGEST_BYTES, SectionRecord
from index.segments.arrays import (
    Arrays,
    FlatArrays,
    StringPool,
    StringPoolBuilder,
    compute_offsets,
    decode,
    encode,
    map_flat,
    write_flat,
)
from index.storage.files import translate_write_errors
from index.storage.manifest import FileChecksum, FileStamp, IndexDamaged
from workspace.document.sections import derive_title
from workspace.markdown.slugs import PREAMBLE

if TYPE_CHECKING:
    from index.documents import IndexedDocument

SECTION_COLUMN_COUNT = 8
"""The count of a section's numbers: position, parent, start, heading_start, body, end, line, end_line.

The parent is its index among the sections of its document, in order of keys; -1 without a parent.
"""

SHORTENED_KEY_MARK = b"\xff"
"""The first byte of a key that is stored without its parent's key and a slash; it is never in UTF-8."""

_PREAMBLE_KEY = encode(PREAMBLE)
_SECTION_NUMBERS = attrgetter("position", "start", "heading_start", "body_start", "end", "line", "end_line")


class TableBuilder:
    """A builder of the arrays of documents, in ascending order of path, and of sections, in order of key."""

    def __init__(self) -> None:
        self._firsts = array("I", [0])
        # The numbers of sections without their parents, which are in a separate array.
        self._numbers = array("i")
        self._parents = array("i")
        self._blobs = bytearray()
        self._digests = bytearray()
        self._paths, self._facets, self._keys, self._titles = (
            StringPoolBuilder(),
            StringPoolBuilder(),
            StringPoolBuilder(),
            StringPoolBuilder(),
        )

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self._firsts) - 1

    def add(self, document: IndexedDocument) -> None:
        sections = document.sections_by_key
        indexes = {section.position: index for index, section in enumerate(sections)}
        keys: list[bytes] = []
        for section in sections:
            parent, key = section.parent, section.key
            keys.append(encode(key) if parent is None else _shorten_key(key, document.sections[parent].key))
        self._numbers.extend(chain.from_iterable(map(_SECTION_NUMBERS, sections)))
        self._parents.extend(
            [-1 if section.parent is None else indexes[section.parent] for section in sections]
        )
        self._keys.extend(keys)
        self._titles.extend([encode(section.title) for section in sections])
        self._digests += b"".join(document.digests)
        self._paths.extend([encode(document.path)])
        self._facets.extend([_encode_facets(document.facets)])
        self._blobs += bytes.fromhex(document.blob)
        self._firsts.append(self._firsts[-1] + len(sections))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return a segment's arrays of documents and sections."""
        firsts = np.frombuffer(self._firsts, np.uint32)
        numbers = np.frombuffer(self._numbers, np.int32).reshape(-1, SECTION_COLUMN_COUNT - 1)
        keys, key_offsets = self._keys.arrays()
        titles, title_offsets = self._titles.arrays()
        paths, path_offsets = self._paths.arrays()
        facets, facet_offsets = self._facets.arrays()
        return {
            "firsts": firsts,
            "page_of": np.repeat(np.arange(len(self), dtype=np.uint32), np.diff(firsts)),
            "numbers": np.insert(numbers, 1, np.frombuffer(self._parents, np.int32), axis=1),
            "keys": keys,
            "key_offsets": key_offsets,
            "titles": titles,
            "title_offsets": title_offsets,
            "digests": np.frombuffer(self._digests, np.uint8).reshape(-1, DIGEST_BYTES),
            "paths": paths,
            "path_offsets": path_offsets,
            "blobs": np.frombuffer(self._blobs, np.uint8).reshape(len(self), -1),
            "facets": facets,
            "facet_offsets": facet_offsets,
        }


def _shorten_key(key: str, parent: str) -> bytes:
    return (
        SHORTENED_KEY_MARK + encode(key[len(parent) + 1 :]) if key.startswith(parent + "/") else encode(key)
    )


def _encode_facets(facets: Mapping[str, tuple[str, ...]]) -> bytes:
    return json.dumps(dict(facets), separators=(",", ":")).encode() if facets else b""


TEXT = ""
"""The field of the words of sections."""

TITLE, HEADING = "#title", "#heading"
"""The fields of the words of the document's title, and of the section's own heading."""

DATE = "#date:"
"""The prefix of the fields of dates in the front matter; the key follows."""


def make_term_name(field: str, term: str) -> str:
    """Return the name of a term of a field; with an empty term, the common prefix of the field's terms."""
    return f"{field}\0{term}"


def make_term_key(field: str, term: str) -> bytes:
    """Return the stored name of a term; the order of these keys is the order of the names."""
    return encode(make_term_name(field, term))


def split_term_key(key: bytes) -> tuple[str, bytes]:
    """Split a key into its field and the term, which stays encoded."""
    field, _, term = key.partition(b"\0")
    return decode(field), term


PostingArrays = tuple[NDArray[np.uint32], NDArray[np.uint8]]
"""The sections that have a term, ascending, and the term's weight in each."""

NO_POSTINGS: PostingArrays = (np.empty(0, np.uint32), np.empty(0, np.uint8))


class SectionSpan(NamedTuple):
    """The headings of a section, and its byte ranges in the blob of its document, as in a record."""

    breadcrumb: tuple[str, ...]
    start: int
    heading_start: int
    body: int
    end: int


class Segment:
    """A segment, in memory or mapped from its file.

    `size` counts the sections, `document_count` the documents. Both are given by their numbers.
    `lengths`, `document_of` and `digests` have one entry for each section, and `total_length` is the sum
    of `lengths`. `ids` and `weights` have the posting lists of all terms. `checksum` is the checksum of
    the file, and `stamp` the stamp of the file when it was verified; both are None in memory, `checksum`
    also in an artifact. Raises
    IndexDamaged if the sizes of the arrays do not match.
    """

    def __init__(
        self, id: str, flat: FlatArrays, stamp: FileStamp | None = None, checksum: FileChecksum | None = None
    ) -> None:
        self.id = id
        self.stamp = stamp
        self.checksum = checksum
        self.arrays = arrays = flat.arrays
        try:
            self.total_length = int(flat.value["total"])
            self._terms = StringPool(arrays["term_keys"], arrays["term_offsets"])
            self._starts = arrays["starts"].data
            self.ids: NDArray[np.uint32] = arrays["ids"]
            self.weights: NDArray[np.uint8] = arrays["weights"]
            self.lengths: NDArray[np.uint32] = arrays["lengths"]
            self.document_of: NDArray[np.uint32] = arrays["page_of"]
            self._document_of = self.document_of.data
            self._numbers: NDArray[np.int32] = arrays["numbers"]
            self._keys = StringPool(arrays["keys"], arrays["key_offsets"])
            self._titles = StringPool(arrays["titles"], arrays["title_offsets"])
            self.digests: NDArray[np.uint8] = arrays["digests"]
            self._firsts = arrays["firsts"].data
            self._paths = StringPool(arrays["paths"], arrays["path_offsets"])
            self._blobs: NDArray[np.uint8] = arrays["blobs"]
            self._facets = StringPool(arrays["facets"], arrays["facet_offsets"])
            self.size = len(self.lengths)
            self.document_count = len(self._paths)
            self._document_titles: dict[int, str] = {}  # cached titles of documents
            self._check_sizes()
        except (ValueError, LookupError, TypeError) as error:
            raise IndexDamaged.with_reason(type(error).__name__) from error

    @classmethod
    def of(cls, tables: Arrays, posting_lists: PostingLists) -> Segment:
        """Return a segment in memory from the tables of its documents and their posting lists."""
        term_keys = np.frombuffer(b"".join(posting_lists.terms), np.uint8)
        sizes = np.fromiter(map(len, posting_lists.terms), np.uint32, len(posting_lists.terms))
        fits_uint32 = len(posting_lists.ids) < 1 << 32
        arrays: dict[str, NDArray[Any]] = {
            "term_keys": term_keys,
            "term_offsets": compute_offsets(sizes),
            "starts": posting_lists.starts.astype(np.uint32 if fits_uint32 else np.uint64),
            "ids": posting_lists.ids,
            "weights": posting_lists.weights,
            "lengths": posting_lists.lengths,
            **tables,
        }
        total = int(posting_lists.lengths.sum(dtype=np.int64))
        return cls(secrets.token_hex(8), FlatArrays(arrays, {"total": total}))

    @classmethod
    def load(cls, folder: Path, id: str, stamp: FileStamp, checksum: FileChecksum | None = None) -> Segment:
        """Map a segment whose file was verified. Raises IndexDamaged."""
        return cls(id, map_flat(folder / make_file_name(id)), stamp, checksum)

    def save(self, folder: Path, durable: bool = False) -> Segment:
        """Write the segment's file, and return the segment mapped from it. Raises IndexUnwritable."""
        file = folder / make_file_name(self.id)
        with translate_write_errors():
            checksum = write_flat(file, self.arrays, {"total": self.total_length}, durable)
            stamp = FileStamp.of(file)
        return Segment.load(folder, self.id, stamp, checksum)

    def is_untouched(self) -> bool:
        """Return True if the segment's file has not changed since its checksum was verified."""
        return self.stamp is None or self.stamp.is_unchanged()

    def postings(self, key: bytes) -> PostingArrays:
        """Return the sections that have a term, dead ones included, and its weight in each."""
        number = self._terms.find(key)
        if number is None:
            return NO_POSTINGS
        first, last = self._starts[number], self._starts[number + 1]
        return self.ids[first:last], self.weights[first:last]

    def terms(self, field: str) -> Iterator[tuple[str, int, int]]:
        """Yield each term of a field in order, with the range of its list in `ids` and `weights`."""
        prefix = make_term_key(field, "")
        for number in range(self._terms.count_before(prefix), len(self._terms)):
            key = self._terms.get_bytes(number)
            if not key.startswith(prefix):
                return
            yield decode(key[len(prefix) :]), self._starts[number], self._starts[number + 1]

    def terms_with_prefix(self, field: str, prefix: str) -> list[str]:
        """Return the terms of a field that begin with a prefix, in order."""
        start = len(make_term_key(field, ""))
        return [
            decode(key[start:]) for key in self._terms.find_strings_with_prefix(make_term_key(field, prefix))
        ]

    def list_starts(self, field: str, prefix: str = "") -> NDArray[np.integer]:
        """Return the start in `ids` of the list of each term with a prefix, and the end of the last list.

        The lists of neighbouring terms are contiguous.
        """
        first, last = self._terms.find_prefix_range(make_term_key(field, prefix))
        starts: NDArray[np.integer] = self.arrays["starts"][first : last + 1]
        return starts

    def fields(self) -> Iterator[str]:
        """Yield the fields that have terms, in the order of their keys."""
        number = 0
        while number < len(self._terms):
            field, _ = split_term_key(self._terms.get_bytes(number))
            yield field
            # The first key of another field follows every key with the prefix `field`, NUL.
            number = self._terms.count_before(encode(field) + b"\x01")

    def term_keys_from(self, key: bytes) -> Iterator[bytes]:
        """Yield the keys of terms from `key` on, in order."""
        return map(self._terms.get_bytes, range(self._terms.count_before(key), len(self._terms)))

    def term_keys(self) -> list[bytes]:
        """Return the keys of all terms, ascending."""
        return self._terms.get_all_bytes()

    def address(self, section: int) -> tuple[str, str]:
        """Return the path and the key of a section."""
        document = self._document_of[section]
        return self._paths.get_text(document), self._read_key(section, self._firsts[document])

    def record(self, section: int) -> SectionRecord:
        """Return the record of a section."""
        document = self._document_of[section]
        first = self._firsts[document]
        position, parent, start, heading_start, body, end, line, end_line = self._numbers[section].tolist()
        heading = self._titles.get_text(section)
        key = self._read_key(section, first)
        breadcrumb = [heading] if key != PREAMBLE else []
        while parent >= 0:
            breadcrumb.append(self._titles.get_text(first + parent))
            parent = self._read_parent(first + parent)
        breadcrumb.append(self._read_title(document))
        return SectionRecord(
            self._paths.get_text(document),
            key,
            self._blobs[document].tobytes().hex(),
            start,
            heading_start,
            body,
            end,
            line,
            end_line,
            heading,
            tuple(breadcrumb[::-1]),
            _decode_facets(self._facets.get_bytes(document)),
            position + 1,
            self._firsts[document + 1] - first,
        )

    def read_spans(self, document: int) -> list[SectionSpan]:
        """Return the headings and the byte ranges of all sections of a document, in order of their keys.

        This takes a third of the time of a record for each section.
        """
        sections = self.sections_of(document)
        titles = self._titles.get_texts(sections)
        document_title = self._read_title(document)
        preamble = self._find_preamble(document)
        spans: list[SectionSpan] = []
        rows = self._numbers[sections.start : sections.stop].tolist()
        for section, title, row in zip(sections, titles, rows, strict=True):
            _, parent, start, heading_start, body, end, _, _ = row
            headings = [] if section == preamble else [title]
            while parent >= 0:
                headings.append(titles[parent])
                parent = rows[parent][1]
            spans.append(SectionSpan((document_title, *headings[::-1]), start, heading_start, body, end))
        return spans

    def paths(self) -> list[bytes]:
        """Return the stored paths of all documents, ascending."""
        return self._paths.get_all_bytes()

    def path(self, document: int) -> str:
        return self._paths.get_text(document)

    def blob(self, document: int) -> str:
        return str(self._blobs[document].tobytes().hex())

    def find(self, path: str) -> int | None:
        """Return the number of the document with this path; None if there is none."""
        return self._paths.find(encode(path))

    def sections_of(self, document: int) -> range:
        """Return the numbers of a document's sections."""
        return range(self._firsts[document], self._firsts[document + 1])

    def _read_key(self, section: int, first: int) -> str:
        """Return the full key of a section, with the keys of the sections above it."""
        tail = b""
        while (key := self._keys.get_bytes(section)).startswith(SHORTENED_KEY_MARK):
            tail = b"/" + key[1:] + tail
            section = first + self._read_parent(section)
        return decode(key + tail)

    def title(self, section: int) -> str:
        """Return the title of a section's document."""
        return self._read_title(self._document_of[section])

    def _read_title(self, document: int) -> str:
        """Return `Document.title`: the title of the preamble, else the name of the file."""
        if (title := self._document_titles.get(document)) is None:
            title = (
                self._titles.get_text(preamble)
                if (preamble := self._find_preamble(document)) is not None
                else ""
            )
            title = self._document_titles[document] = title or derive_title(self._paths.get_text(document))
        return title

    def _find_preamble(self, document: int) -> int | None:
        """Return the preamble section of a document; None without one. Its key is stored in full."""
        sections = self.sections_of(document)
        return self._keys.find_among(sections.start, sections.stop, _PREAMBLE_KEY)

    def _read_parent(self, section: int) -> int:
        return int(self._numbers[section, 1])

    def _check_sizes(self) -> None:
        """Compare the sizes of the arrays. Checksums verify their content."""
        sizes_match = (
            len(self._starts) == len(self._terms) + 1
            and self._starts[len(self._terms)] == len(self.ids) == len(self.weights)
            and self._numbers.shape == (self.size, SECTION_COLUMN_COUNT)
            and len(self.document_of) == len(self._keys) == len(self._titles) == self.size
            and self.digests.shape == (self.size, DIGEST_BYTES)
            and len(self._firsts) == self.document_count + 1
            and self._firsts[self.document_count] == self.size
            and len(self._blobs) == len(self._facets) == self.document_count
        )
        if not sizes_match:
            raise ValueError("the sizes of a segment's arrays do not match")


def make_file_name(id: str) -> str:
    """Return the file name of a segment, in the form of Whoosh's own files."""
    return f"MAIN_{id}.flat"


@lru_cache(maxsize=1 << 10)
def _decode_facets(text: bytes) -> Mapping[str, tuple[str, ...]]:
    values: dict[str, Any] = json.loads(text) if text else {}
    return MappingProxyType({key: tuple(texts) for key, texts in values.items()})


@dataclass(frozen=True, slots=True)
class PostingLists:
    """The posting lists of several terms.

    `terms` are keys in ascending order. The list of term i is [starts[i], starts[i + 1]) of `ids` and of
    `weights`. `ids` are the numbers of sections, ascending within a list. `lengths` has the sum of the
    weights of each section's words, without facets.
    """

    terms: list[bytes]
    starts: NDArray[np.int64]
    ids: NDArray[np.uint32]
    weights: NDArray[np.uint8]
    lengths: NDArray[np.uint32]
