"""The relation of sections to the walkthrough under way, and questions that follow from a section.

A section is related to a step if it belongs to the step, or if the step links to the section or its document.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from index.link_graph.backlinks import resolve_outgoing
from index.sources.source import SourceUnavailable
from workspace.errors import LimitExceeded
from workspace.links.file_tree import OverlayFileTree
from workspace.snapshot.snapshot import DocumentNotFound, LfsTextMissing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from index.sources.sources import SourceHit
    from tools.retrieval.walkthroughs import CurrentPosition
    from tools.tool import Data
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.walkthrough import Step
    from workspace.snapshot.snapshot import Snapshot

_MAX_FOLLOW_UPS = 3
_MAX_LISTED_STEPS = 5


@dataclass(frozen=True)
class RelatedSteps:
    """The walkthrough under way, with the sections that its steps contain and link to."""

    current: CurrentPosition

    @cached_property
    def _document(self) -> Document:
        position = self.current.position
        return position.snapshot.document(position.walkthrough.id)

    @cached_property
    def _steps_by_address(self) -> Mapping[str, list[Step]]:
        """The steps that contain a section or link to it, by the address of the section."""
        position, document = self.current.position, self._document
        steps_by_address: dict[str, list[Step]] = {}
        step_by_key: dict[str, Step] = {}
        for step in position.walkthrough.steps:
            section = document.section_by_key(step.key)
            if section is None:
                continue
            for item in document.sections:
                if section.start <= item.start < section.tree_end:
                    step_by_key[item.key] = step
                    steps_by_address.setdefault(f"{document.path}#{item.key}", []).append(step)
        for link in resolve_outgoing(OverlayFileTree(position.snapshot), document):
            linking_step = step_by_key.get(link.section or "")
            if linking_step is not None and link.path is not None and not link.is_broken:
                address = link.path if link.target_key is None else f"{link.path}#{link.target_key}"
                steps_by_address.setdefault(address, []).append(linking_step)
        return steps_by_address

    def find_steps(self, hit: SourceHit) -> list[Step]:
        """Return the steps to which a hit is related, in order."""
        if hit.source is not self.current.source:
            return []
        steps = [
            *self._steps_by_address.get(hit.hit.address, ()),
            *self._steps_by_address.get(hit.hit.filepath, ()),
        ]
        return sorted(dict.fromkeys(steps), key=lambda step: step.number)

    def explain_relation(self, hit: SourceHit) -> str | None:
        """Return the reason why a hit is related to the step under way or the next one, or None."""
        for step in self.find_steps(hit):
            if step in (self.current.position.step, self.current.position.next_step):
                return f"related to step {step.number}, {step.title}"
        return None

    def measure_relevance(self, hit: SourceHit) -> float:
        """Return 1.0 for a hit related to the current or the next step, 0.5 for another step, else 0.0."""
        if self.explain_relation(hit) is not None:
            return 1.0
        return 0.5 if self.find_steps(hit) else 0.0

    def describe(self, hit: SourceHit) -> Data:
        """Return the fields of a result for a caller with a handle."""
        return {
            "walkthrough_relevance": self.measure_relevance(hit),
            "related_walkthrough_steps": [
                {"number": step.number, "title": step.title}
                for step in self.find_steps(hit)[:_MAX_LISTED_STEPS]
            ],
            "suggested_follow_up": self._suggest_follow_ups(hit),
        }

    def _suggest_follow_ups(self, hit: SourceHit) -> list[str]:
        """Return titles that the corpus answers: sections after and linked from a hit, and the step after."""
        titles: list[str] = []
        try:
            with hit.source.open() as index:
                snapshot = index.workspace.snapshot()
                document = snapshot.document(hit.hit.filepath)
                titles += _list_related_titles(snapshot, document, hit.hit.address)
        except (SourceUnavailable, DocumentNotFound, LfsTextMissing, LimitExceeded):
            pass  # the hit was read a moment ago, and its document has been removed since
        if (next_step := self.current.position.next_step) is not None:
            titles.append(next_step.title)
        own_titles = {"", hit.hit.heading}
        return [title for title in dict.fromkeys(titles) if title not in own_titles][:_MAX_FOLLOW_UPS]


def _list_related_titles(snapshot: Snapshot, document: Document, address: str) -> list[str]:
    """Return the titles of the section after a section, and of the first sections that it links to."""
    section = document.section_by_key(address.removeprefix(f"{document.path}#"))
    if section is None:
        return []
    titles = [item.title for item in document.sections[section.position + 1 : section.position + 2]]
    for link in resolve_outgoing(OverlayFileTree(snapshot), document):
        if link.section == section.key and link.path is not None and not link.is_broken:
            titles += _read_title(snapshot, link.path, link.target_key)
        if len(titles) >= _MAX_FOLLOW_UPS - 1:
            break
    return titles


def _read_title(snapshot: Snapshot, path: str, key: str | None) -> list[str]:
    try:
        document = snapshot.document(path)
    except (DocumentNotFound, LfsTextMissing, LimitExceeded):
        return []
    section: Section | None = document.section_by_key(key) if key is not None else None
    return [section.title if section is not None else document.title]
