"""A workspace is validated: which documents are held against which rules, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from workspace.config.config import LimitExceeded
from workspace.snapshot.snapshot import NotADocument
from workspace.validation.checking import check, whole
from workspace.validation.corpus import Corpus
from workspace.validation.finding import Finding, Severity
from workspace.validation.rule import Subject
from workspace.validation.rules import (
    RULES,
    broken_fragment,
    broken_image,
    broken_link,
    malformed_manifest,
    unreadable_document,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workspace.config.validation_settings import Validation
    from workspace.validation.files import Files


MOST_SUGGESTIONS = 200
"""Broken links of one run for which it is looked what they may have meant."""

_OF_LINKS = (broken_link.RULE, broken_fragment.RULE, broken_image.RULE)
_NAMES_OF_LINKS = frozenset(rule.name for rule in _OF_LINKS)


@dataclass(frozen=True)
class Selection:
    """Which rules hold: as the settings say, or only some (None: all), less some."""

    settings: Validation
    only: frozenset[str] | None = None
    off: frozenset[str] = frozenset()

    def severities(self, path: str) -> Mapping[str, Severity]:
        """The severity of each rule that holds for a path. One that is asked for by name is never off."""
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

    files: Files
    selection: Selection

    @cached_property
    def corpus(self) -> Corpus:
        """The world of the files."""
        return Corpus(self.files)

    def __reduce__(self) -> tuple[type[Validator], tuple[object, ...]]:
        """Another process is sent no document that was read here."""
        return Validator, (self.files, self.selection)

    def check(self, paths: Iterable[str]) -> list[Finding]:
        """What is found in some documents, in order of paths and places.

        Raises UnreadableFile, DamagedRepository.
        """
        return [finding for path in paths for finding in self._document(path)]

    def suggested(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings, the first of the broken links with what they may have meant.

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
        """What is wrong with the manifests, by which documents have values."""
        # Imported here because most workspaces have none.
        from workspace.config.manifests import InvalidManifest, read_manifest

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
                    whole(
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
                return check(subject, _OF_LINKS, severities, MOST_SUGGESTIONS)
            return check(subject, RULES, severities)
        except NotADocument:
            return []
        except LimitExceeded as error:
            name = unreadable_document.RULE.name
            if name not in severities:
                return []
            return [whole(path, name, severities[name], error.message, error.fix)]


def _identity(finding: Finding) -> tuple[object, ...]:
    return finding.rule, finding.path, finding.line, finding.column, finding.message
