"""Validation runs: documents checked against the enabled rules.

The byte offsets that rules return are converted to lines and columns.

A run over a range of commits reports only new findings. A finding is old if the same rule has the same
message, apart from numbers, or the same comparison key, for the same words on an equal line of the same
document. So a finding is new if its line changed. A broken link is new as well if its target was removed or
renamed.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import filterfalse, islice
from typing import TYPE_CHECKING

from workspace.errors import LimitExceeded
from workspace.git.objects import hash_blob
from workspace.snapshot.snapshot import LfsTextMissing
from workspace.validation.file_tree import FileSetTree
from workspace.validation.rule import Finding, RuleContext, Severity
from workspace.validation.rules import (
    RULES,
    duplicate_identifier,
    malformed_manifest,
    unknown_identifier,
    unreadable_document,
)
from workspace.validation.rules.links import broken_fragment, broken_image, broken_link

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workspace.config.tables import Validation
    from workspace.document.document import Document
    from workspace.history.drift import Drift
    from workspace.markdown.lines import Lines
    from workspace.trace import IdentifierProblem
    from workspace.validation.files import FileSet
    from workspace.validation.rule import ByteFinding, Finding, Rule, RuleContext

MAX_RULE_FINDINGS = 100_000
"""The maximum number of findings of one rule in one document."""

_MAX_TEXT_BYTES = 200

_SWITCH_COMMENT = re.compile(
    rb"^[ \t]{0,3}<!--[ \t]{0,9}docyard:[ \t]{0,9}(off|on)((?:[ \t]{1,9}[a-z0-9-]{1,40}){0,32})[ \t]{0,9}-->",
    re.MULTILINE,
)


def check_document(
    context: RuleContext,
    rules: Iterable[Rule],
    severities: Mapping[str, Severity],
    max_findings: int = MAX_RULE_FINDINGS,
) -> list[Finding]:
    """Return the findings of the enabled rules in order of position, at most `max_findings` for each rule."""
    document = context.document
    findings_and_rules: list[tuple[ByteFinding, Rule]] = []
    switches = find_switches(document.data)
    for rule in rules:
        if rule.find is not None and rule.name in severities:
            byte_findings = rule.find(context)
            if switches:
                byte_findings = filterfalse(partial(_is_disabled, switches, rule.name), byte_findings)
            for byte_finding in islice(byte_findings, max_findings):
                findings_and_rules.append((byte_finding, rule))
    if not findings_and_rules:
        return []
    findings_and_rules.sort(key=lambda pair: pair[0][:2])
    positions = _PositionMap(document.lines)
    return [
        _build_finding(document, positions, byte_finding, rule.name, severities[rule.name])
        for byte_finding, rule in findings_and_rules
    ]


def make_file_finding(
    path: str, rule: str, severity: Severity, message: str, fix: str | None, line: int = 1
) -> Finding:
    """Return a finding for a line, or for a full file, without the text of the line."""
    return Finding(rule, severity, path, line, 1, line, 1, message, fix)


def _build_finding(
    document: Document, positions: _PositionMap, byte_finding: ByteFinding, rule: str, severity: Severity
) -> Finding:
    data, start = document.data, byte_finding.start
    end = max(start, start + len(data[start : byte_finding.end].rstrip(b"\r\n")))
    line, column = positions.find(start)
    end_line, end_column = positions.find_end(start, end)
    line_bytes = document.lines.line_bytes(line - 1)[:_MAX_TEXT_BYTES] if len(document.lines) else b""
    text = b"\0".join((line_bytes.strip(), data[start : min(end, start + _MAX_TEXT_BYTES)]))
    return Finding(
        rule,
        severity,
        document.path,
        line,
        column,
        end_line,
        end_column,
        byte_finding.message,
        byte_finding.suggestion,
        byte_finding.fix_splices,
        text.decode("utf-8", "replace"),
        byte_finding.comparison_key,
    )


class _PositionMap:
    """The lines and columns of bytes, for ascending offsets, so that a long line is decoded once."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._line, self._offset, self._column = -1, 0, 1

    def find(self, offset: int) -> tuple[int, int]:
        """Return the line and column of a byte; its offset must not be before the offset of the last call."""
        line = self._lines.line_at(offset)
        if line != self._line:
            self._line, self._offset, self._column = line, self._lines.offset(line), 1
        self._column += self._count_characters(self._offset, offset)
        self._offset = max(offset, self._offset)
        return line + 1, self._column

    def find_end(self, start: int, end: int) -> tuple[int, int]:
        """Return the line and column of a range's end; `find` must have been called with `start`."""
        line = self._lines.line_at(max(start, end - 1))
        if line == self._line:
            return line + 1, self._column + self._count_characters(start, end)
        return line + 1, 1 + self._count_characters(self._lines.offset(line), end)

    def _count_characters(self, start: int, end: int) -> int:
        return len(self._lines.data[start:end].decode("utf-8", "replace")) if end > start else 0


def find_switches(data: bytes) -> list[tuple[int, bool, frozenset[str]]]:
    """Return the comments that turn rules off or on: the offset, True for off, the rules (empty: all)."""
    if b"docyard:" not in data:
        return []
    return [
        (match.start(), match[1] == b"off", frozenset(match[2].decode().split()))
        for match in _SWITCH_COMMENT.finditer(data)
    ]


def _is_disabled(
    switches: list[tuple[int, bool, frozenset[str]]], rule: str, byte_finding: ByteFinding
) -> bool:
    is_off = False
    for start, is_off_switch, names in switches:
        if start > byte_finding.start:
            break
        if not names or rule in names:
            is_off = is_off_switch
    return is_off


MAX_SUGGESTIONS = 200
"""The maximum number of broken links in one run for which similar destinations are searched."""

_LINK_RULES = (broken_link.RULE, broken_fragment.RULE, broken_image.RULE)
_LINK_RULE_NAMES = frozenset(rule.name for rule in _LINK_RULES)


@dataclass(frozen=True)
class RuleSelection:
    """The rules of the settings, limited to `selected_rules` (None means all), without `disabled_rules`."""

    settings: Validation
    selected_rules: frozenset[str] | None = None
    disabled_rules: frozenset[str] = frozenset()

    def may_enable(self, rule: Rule) -> bool:
        """Return True if a rule is enabled for any path."""
        if rule.name in self.disabled_rules or (
            self.selected_rules is not None and rule.name not in self.selected_rules
        ):
            return False
        tables = (self.settings.rules, *(override.rules for override in self.settings.override))
        levels = [table[rule.name] for table in tables if rule.name in table]
        is_on_by_default = rule.severity is not None and rule.name not in self.settings.rules
        return self.selected_rules is not None or is_on_by_default or any(level != "off" for level in levels)

    def get_severities(self, path: str) -> Mapping[str, Severity]:
        """Return the severity of each enabled rule for a path.

        A rule that is off by default is enabled if `selected_rules` contains it.
        """
        levels = self.settings.levels(path)
        severities: dict[str, Severity] = {}
        for rule in RULES:
            if rule.name in self.disabled_rules or (
                self.selected_rules is not None and rule.name not in self.selected_rules
            ):
                continue
            level = levels.get(rule.name)
            severity = rule.severity if level is None else None if level == "off" else Severity(level)
            if severity is None and self.selected_rules is not None and level is None:
                severity = Severity.WARNING
            if severity is not None:
                severities[rule.name] = severity
        return severities


@dataclass(frozen=True)
class Validator:
    """A checker of documents against rules; it can be pickled for a process that reads the files itself.

    `drifts` and `identifier_problems` are those of documents by path, if their rules are enabled.
    """

    files: FileSet
    selection: RuleSelection
    drifts: Mapping[str, Sequence[Drift]] = field(default_factory=dict)
    identifier_problems: Mapping[str, Sequence[IdentifierProblem]] = field(default_factory=dict)

    @cached_property
    def file_tree(self) -> FileSetTree:
        """The files as a tree, in which links are resolved."""
        return FileSetTree(self.files)

    def __reduce__(self) -> tuple[type[Validator], tuple[object, ...]]:
        """Return the arguments for another process, without the cached documents."""
        return Validator, (self.files, self.selection, self.drifts, self.identifier_problems)

    def check(self, paths: Iterable[str]) -> list[Finding]:
        """Return the findings in some documents, in order of paths and positions.

        Raises UnreadableFile, DamagedRepository.
        """
        return [finding for path in paths for finding in self._check_document(path)]

    def with_identifier_problems(self) -> Validator:
        """Return a validator with the problems of identifiers in all documents, if their rules are enabled.

        Raises UnreadableFile, DamagedRepository.
        """
        if not any(map(self.selection.may_enable, (duplicate_identifier.RULE, unknown_identifier.RULE))):
            return self
        return replace(self, identifier_problems=self._find_identifier_problems())

    def _find_identifier_problems(self) -> Mapping[str, Sequence[IdentifierProblem]]:
        # Imported here because most workspaces have no identifiers.
        from workspace.trace import compile_pattern, find_document_problems

        settings = self.files.config.trace
        pattern = compile_pattern(settings.prefixes)
        reader, limits = self.files.reader, self.files.config.limits
        paths = [
            path
            for path in self.files.documents
            if reader.get_size(path) <= limits.document_bytes and pattern.search(reader.read(path))
        ]
        documents = map(self.file_tree.document, paths)
        return find_document_problems(filter(None, documents), settings)

    def add_suggestions(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings, with suggestions for the first 200 broken links.

        A search for similar destinations takes longer than the detection of broken links.
        """
        broken_link_indexes = (
            index for index, finding in enumerate(findings) if finding.rule in _LINK_RULE_NAMES
        )
        first_indexes = list(islice(broken_link_indexes, MAX_SUGGESTIONS))
        suggestions: dict[tuple[object, ...], str | None] = {}
        for path in dict.fromkeys(findings[index].path for index in first_indexes):
            suggestions.update(
                (_make_identity(finding), finding.suggestion)
                for finding in self._check_document(path, makes_suggestions=True)
            )
        updated_findings = list(findings)
        for index in first_indexes:
            updated_findings[index] = updated_findings[index]._replace(
                suggestion=suggestions.get(_make_identity(updated_findings[index]))
            )
        return updated_findings

    def check_manifests(self) -> list[Finding]:
        """Return the findings of taxonomy manifests, which give values to documents."""
        # Imported here because most workspaces have no manifests.
        from workspace.config.taxonomy import InvalidManifest, read_manifest

        findings: list[Finding] = []
        keys = tuple(self.files.config.taxonomy_keys)
        for path in self.files.manifests:
            severity = self.selection.get_severities(path).get(malformed_manifest.RULE.name)
            if severity is None:
                continue
            try:
                read_manifest(self.files.read_toml(path), path, keys)
            except InvalidManifest as error:
                line = error.details["line"]
                reason = error.message.removeprefix(f"{path}, line {line}: ").removeprefix(
                    f"{path}, line {line} "
                )
                findings.append(
                    make_file_finding(
                        path,
                        malformed_manifest.RULE.name,
                        severity,
                        f"the manifest cannot be used: {reason}",
                        error.fix,
                        line if isinstance(line, int) else 1,
                    )
                )
        return findings

    def _check_document(self, path: str, *, makes_suggestions: bool = False) -> list[Finding]:
        severities = self.selection.get_severities(path)
        try:
            document = self.file_tree.read_document(path)
            context = RuleContext(
                document,
                self.files.config,
                self.file_tree.types,
                self.file_tree,
                makes_suggestions,
                self.drifts.get(path, ()),
                self.identifier_problems.get(path, ()),
            )
            if makes_suggestions:
                return check_document(context, _LINK_RULES, severities, MAX_SUGGESTIONS)
            return check_document(context, RULES, severities)
        except LfsTextMissing:
            return []
        except LimitExceeded as error:
            name = unreadable_document.RULE.name
            if name not in severities:
                return []
            return [make_file_finding(path, name, severities[name], error.message, error.fix)]


def _make_identity(finding: Finding) -> tuple[object, ...]:
    return finding.rule, finding.path, finding.line, finding.column, finding.message


_NUMBER = re.compile(r"\d+")


def map_earlier_paths(
    current_files: FileSet, earlier_files: FileSet, earlier_blobs: Mapping[str, str], paths: Iterable[str]
) -> dict[str, str]:
    """Return the earlier path of each document, by its current path; new documents are omitted.

    `earlier_blobs` are the blob ids of the earlier files by path.

    A moved document is identified by its bytes, or else by its file name if one document of this name was
    removed and one was added.
    """
    earlier_documents = set(earlier_files.documents)
    removed_paths = earlier_documents - set(current_files.documents)
    paths_by_blob: dict[str, list[str]] = {}
    paths_by_name: dict[str, list[str]] = {}
    for path in sorted(removed_paths):
        paths_by_blob.setdefault(earlier_blobs[path], []).append(path)
        paths_by_name.setdefault(_get_file_name(path), []).append(path)
    added_names = Counter(
        _get_file_name(path) for path in current_files.documents if path not in earlier_documents
    )
    earlier_paths: dict[str, str] = {}
    for path in paths:
        if path in earlier_files.paths:
            earlier_paths[path] = path
        elif removed_paths and path in current_files.paths:
            equal_paths = paths_by_blob.get(hash_blob(current_files.reader.read(path)), [])
            same_name_paths = (
                paths_by_name.get(_get_file_name(path), []) if added_names[_get_file_name(path)] == 1 else []
            )
            if candidates := equal_paths or (same_name_paths if len(same_name_paths) == 1 else []):
                earlier_paths[path] = candidates[0]
    return earlier_paths


def exclude_earlier_findings(
    findings: Iterable[Finding], earlier_findings: Iterable[Finding], earlier_paths: Mapping[str, str]
) -> list[Finding]:
    """Return the new findings; `earlier_paths` has the earlier path of each document."""
    remaining_counts = Counter(_make_comparison_key(finding, finding.path) for finding in earlier_findings)
    new_findings: list[Finding] = []
    for finding in findings:
        key = _make_comparison_key(finding, earlier_paths.get(finding.path, ""))
        if remaining_counts[key] > 0:
            remaining_counts[key] -= 1
        else:
            new_findings.append(finding)
    return new_findings


def _make_comparison_key(finding: Finding, path: str) -> tuple[str, ...]:
    # Messages contain line numbers, which differ between versions.
    message = finding.comparison_key or _NUMBER.sub("0", finding.message)
    return finding.rule, path, finding.text, message


def _get_file_name(path: str) -> str:
    return path.rpartition("/")[2]
