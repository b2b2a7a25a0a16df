"""What the link graph stands for, and what it would have to stand for to know a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import Snapshot


class Standing(NamedTuple):
    """What the graph stands for: a commit (None: of a tree without one), its tree, and how links are read."""

    commit: str | None
    tree: str | None
    rules: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> Standing:
        """What the graph of a snapshot stands for."""
        config = snapshot.config
        rules = f"{config.limits.document_bytes} {config.links.model_dump_json()}"
        return cls(snapshot.commit, snapshot.tree, rules)

    def is_same(self, other: Standing | None) -> bool:
        """Whether another stands for the same documents: two commits may have one tree."""
        return other is not None and self[1:] == other[1:]
