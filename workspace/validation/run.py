"""Validation runs: documents checked against the enabled rules.

A document is held against the rules: places in its bytes become findings with lines and columns.

What a range of commits brought: findings less those that were there before it.

A finding was there before if the same rule said the same of the same words, on a line that read the same, in
the same document. So one is new where its line was changed, and where something else was: the file that a
link leads to was removed, or the heading that it names was renamed.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import filterfalse, islice
from typing import TYPE_CHECKING

from workspace.errors import LimitExceeded
from workspace.git.objects import hash_blob
from workspace.snapshot.snapshot import NotADocument
from workspace.validation.corpus import Corpus
from workspace.validation.rule import Finding, Severity, Subject
from workspace.validation.rules import (
    RULES,
    malformed_manifest,
    unreadable_document,
)
from workspace.validation.rules.links import broken_fragment, broken_image, broken_link

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workspace.config.tables import Validation
    from workspace.document.document import Document
    from workspace.markdown.lines import Lines
    from workspace.validation.files import FileSet
    from workspace.validation.rule import Finding, Rule, Spot, Subject

MOST = 100_000
"""Places of one document that a rule tells of at most."""

_KEPT = 200

_SWITCH = re.compile(
    rb"^[ \t]{0,3}<!--[ \t]{0,9}docyard:[ \t]{0,9}(off|on)((?:[ \t]{1,9}[a-z0-9-]{1,40}){0,32})[ \t]{0,9}-->",
    re.MULTILINE,
)


def check_document(
    subject: Subject, rules: Iterable[Rule], severities: Mapping[str, Severity], most: int = MOST
) -> list[Finding]:
    """Return the findings of the enabled rules, in order of place, with a maximum for each rule."""
    document = subject.document
    found: list[tuple[Spot, Rule]] = []
    switches = find_switches(document.data)
    for rule in rules:
        if rule.find is not None and rule.name in severities:
            spots = rule.find(subject)
            if switches:
                spots = filterfalse(partial(_is_switched_off, switches, rule.name), spots)
            for spot in islice(spots, most):
                found.append((spot, rule))
    if not found:
        return []
    found.sort(key=lambda one: one[0][:2])
    places = _Places(document.lines)
    return [_finding(document, places, spot, rule.name, severities[rule.name]) for spot, rule in found]


def make_file_finding(
    path: str, rule: str, severity: Severity, message: str, fix: str | None, line: int = 1
) -> Finding:
    """Return a finding of a line, or of a file, whose text is not at hand."""
    return Finding(rule, severity, path, line, 1, line, 1, message, fix)


def _finding(document: Document, places: _Places, spot: Spot, rule: str, severity: Severity) -> Finding:
    data, start = document.data, spot.start
    end = max(start, start + len(data[start : spot.end].rstrip(b"\r\n")))
    line, column = places.of(start)
    last, last_column = places.of_end(start, end)
    raw = document.lines.raw(line - 1)[:_KEPT] if len(document.lines) else b""
    text = b"\0".join((raw.strip(), data[start : min(end, start + _KEPT)]))
    return Finding(
        rule,
        severity,
        document.path,
        line,
        column,
        last,
        last_column,
        spot.message,
        spot.suggestion,
        spot.mend,
        text.decode("utf-8", "replace"),
        spot.same_as,
    )


class _Places:
    """Lines and columns of bytes that are asked for in their order, so that a long line is read once."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._line, self._offset, self._column = -1, 0, 1

    def of(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of a byte, which is not before the one that was asked for last."""
        line = self._lines.line_at(offset)
        if line != self._line:
            self._line, self._offset, self._column = line, self._lines.offset(line), 1
        self._column += self._length(self._offset, offset)
        self._offset = max(offset, self._offset)
        return line + 1, self._column

    def of_end(self, start: int, end: int) -> tuple[int, int]:
        """Return the line and the column of the end of what begins at the byte that was asked for last."""
        line = self._lines.line_at(max(start, end - 1))
        if line == self._line:
            return line + 1, self._column + self._length(start, end)
        return line + 1, 1 + self._length(self._lines.offset(line), end)

    def _length(self, start: int, end: int) -> int:
        return len(self._lines.data[start:end].decode("utf-8", "replace")) if end > start else 0


def find_switches(data: bytes) -> list[tuple[int, bool, frozenset[str]]]:
    """Return the offsets of comments that switch rules off or on, with the rules (none means all)."""
    if b"docyard:" not in data:
        return []
    return [
        (found.start(), found[1] == b"off", frozenset(found[2].decode().split()))
        for found in _SWITCH.finditer(data)
    ]


def _is_switched_off(switches: list[tuple[int, bool, frozenset[str]]], rule: str, spot: Spot) -> bool:
    is_off = False
    for start, off, names in switches:
        if start > spot.start:
            break
        if not names or rule in names:
            is_off = off
    return is_off


MOST_SUGGESTIONS = 200
"""Broken links of one run for which it is looked what they may have meant."""

_OF_LINKS = (broken_link.RULE, broken_fragment.RULE, broken_image.RULE)
_NAMES_OF_LINKS = frozenset(rule.name for rule in _OF_LINKS)


@dataclass(frozen=True)
class Selection:
    """The enabled rules: those of the settings, or only some (None: all), without some."""

    settings: Validation
    only: frozenset[str] | None = None
    off: frozenset[str] = frozenset()

    def severities(self, path: str) -> Mapping[str, Severity]:
        """Return the severity of each rule that holds for a path.

        One that is asked for by name is never off.
        """
        levels = self.settings.levels(path)
        found: dict[str, Severity] = {}
        for rule in RULES:
            if rule.name in self.off or (self.only is not None and rule.name not in self.only):
                continue
            level = levels.get(rule.name)
            severity = rule.severity if level is None else None if level == "off" else Severity(level)
            if severity is None and self.only is not None and level is None:
                severity = Severity.WARNING
            if severity is not None:
                found[rule.name] = severity
        return found


@dataclass(frozen=True)
class Validator:
    """Holds documents against rules. It can be sent to another process, which then reads them by itself."""

    files: FileSet
    selection: Selection

    @cached_property
    def corpus(self) -> Corpus:
        """The world of the files."""
        return Corpus(self.files)

    def __reduce__(self) -> tuple[type[Validator], tuple[object, ...]]:
        """Return another process is sent no document that was read here."""
        return Validator, (self.files, self.selection)

    def check(self, paths: Iterable[str]) -> list[Finding]:
        """Return what is found in some documents, in order of paths and places.

        Raises UnreadableFile, DamagedRepository.
        """
        return [finding for path in paths for finding in self._document(path)]

    def suggested(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings, the first of the broken links with what they may have meant.

        Looking for that takes longer than finding that they are broken.
        """
        broken = (number for number, one in enumerate(findings) if one.rule in _NAMES_OF_LINKS)
        first = list(islice(broken, MOST_SUGGESTIONS))
        near: dict[tuple[object, ...], str | None] = {}
        for path in dict.fromkeys(findings[number].path for number in first):
            near.update((_identity(one), one.suggestion) for one in self._document(path, suggests=True))
        found = list(findings)
        for number in first:
            found[number] = found[number]._replace(suggestion=near.get(_identity(found[number])))
        return found

    def check_manifests(self) -> list[Finding]:
        """Return what is wrong with the manifests, by which documents have values."""
        # Imported here because most workspaces have none.
        from workspace.config.taxonomy import InvalidManifest, read_manifest

        found: list[Finding] = []
        keys = tuple(self.files.config.taxonomy_keys)
        for path in self.files.manifests:
            severity = self.selection.severities(path).get(malformed_manifest.RULE.name)
            if severity is None:
                continue
            try:
                read_manifest(self.files.toml(path), path, keys)
            except InvalidManifest as error:
                line = error.details["line"]
                reason = error.message.removeprefix(f"{path}, line {line}: ").removeprefix(
                    f"{path}, line {line} "
                )
                found.append(
                    make_file_finding(
                        path,
                        malformed_manifest.RULE.name,
                        severity,
                        f"the manifest cannot be used: {reason}",
                        error.fix,
                        line if isinstance(line, int) else 1,
                    )
                )
        return found

    def _document(self, path: str, *, suggests: bool = False) -> list[Finding]:
        severities = self.selection.severities(path)
        try:
            document = self.corpus.read(path)
            subject = Subject(document, self.files.config, self.corpus.types, self.corpus, suggests)
            if suggests:
                return check_document(subject, _OF_LINKS, severities, MOST_SUGGESTIONS)
            return check_document(subject, RULES, severities)
        except NotADocument:
            return []
        except LimitExceeded as error:
            name = unreadable_document.RULE.name
            if name not in severities:
                return []
            return [make_file_finding(path, name, severities[name], error.message, error.fix)]


def _identity(finding: Finding) -> tuple[object, ...]:
    return finding.rule, finding.path, finding.line, finding.column, finding.message


_NUMBER = re.compile(r"\d+")


def map_earlier_paths(
    now: FileSet, before: FileSet, blobs: Mapping[str, str], paths: Iterable[str]
) -> dict[str, str]:
    """Return where each document stood before, by its path now; a new one is left out.

    One that was moved is known by its bytes, else by its name where only one of that name went and came.
    """
    known = set(before.documents)
    gone = known - set(now.documents)
    by_blob: dict[str, list[str]] = {}
    by_name: dict[str, list[str]] = {}
    for path in sorted(gone):
        by_blob.setdefault(blobs[path], []).append(path)
        by_name.setdefault(_name(path), []).append(path)
    come = Counter(_name(path) for path in now.documents if path not in known)
    found: dict[str, str] = {}
    for path in paths:
        if path in before.paths:
            found[path] = path
        elif gone and path in now.paths:
            same = by_blob.get(hash_blob(now.reader.read(path)), [])
            alike = by_name.get(_name(path), []) if come[_name(path)] == 1 else []
            if candidates := same or (alike if len(alike) == 1 else []):
                found[path] = candidates[0]
    return found


def exclude_earlier(
    findings: Iterable[Finding], earlier: Iterable[Finding], was_at: Mapping[str, str]
) -> list[Finding]:
    """Return the findings that were not there before; `was_at` says where each document stood then."""
    left = Counter(_key(finding, finding.path) for finding in earlier)
    new: list[Finding] = []
    for finding in findings:
        key = _key(finding, was_at.get(finding.path, ""))
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(finding)
    return new


def _key(finding: Finding, path: str) -> tuple[str, ...]:
    # Messages name lines, which move.
    return finding.rule, path, finding.text, _NUMBER.sub("0", finding.message)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
