"""Changes of a document or section by commit, and the description of a commit: author, time and client.

The proposal of a commit without its own trailer is that of the merge on the first-parent history which
brought the commit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from workspace.git.messages import read_trailers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from workspace.git.ancestry import Graph
    from workspace.git.objects import Commit
    from workspace.git.reader import GitReader
    from workspace.history.places import TextRange, Versions

CREATED, CHANGED, RENAMED, MOVED, REMOVED = "created", "changed", "renamed", "moved", "removed"
KINDS = (CREATED, CHANGED, RENAMED, MOVED, REMOVED)


@dataclass(frozen=True, slots=True)
class CommitChange:
    """The change that a commit made to the followed document or section.

    `kind` is one of KINDS; `renamed` and `moved` may change its text, too. `path` and `fragment` are its
    address after the commit, or the one that it had, if it was removed. `old_path` and `old_fragment` are
    those in `parent`, None where it was not there. `before` and `after` are read from the repository
    when they are asked for: None where there is nothing, or more than is read.
    """

    told: CommitInfo
    parent: str | None
    kind: str
    old: TextRange
    new: TextRange
    versions: Versions

    @property
    def commit(self) -> str:
        """The commit's id."""
        return self.told.commit

    @property
    def path(self) -> str:
        """The path after the commit."""
        return (self.new if self.new.is_there else self.old).path

    @property
    def fragment(self) -> str | None:
        """The section's key after the commit; None for a document."""
        return (self.new if self.new.is_there else self.old).key

    @property
    def old_path(self) -> str | None:
        """The path before the commit."""
        return self.old.path if self.old.is_there else None

    @property
    def old_fragment(self) -> str | None:
        """The section's key before the commit."""
        return self.old.key if self.old.is_there else None

    @property
    def before(self) -> bytes | None:
        """The text before the commit."""
        return self.versions.text(self.old)

    @property
    def after(self) -> bytes | None:
        """The text after the commit."""
        return self.versions.text(self.new)

    @property
    def size(self) -> int:
        """The bytes of the larger text, known without reading it."""
        return max(self.versions.size(self.old), self.versions.size(self.new))

    @property
    def lines(self) -> tuple[int, int]:
        """The lines of their documents, counted from 1, on which the texts before and after begin."""
        return self.versions.line(self.old), self.versions.line(self.new)

    @property
    def author_name(self) -> str:
        """The author's name."""
        return self.told.author_name

    @property
    def author_email(self) -> str:
        """The author's address."""
        return self.told.author_email

    @property
    def time(self) -> datetime:
        """When the author made it, in UTC."""
        return self.told.time

    @property
    def subject(self) -> str:
        """The first line of the commit's message."""
        return self.told.subject

    @property
    def client(self) -> str | None:
        """The client that asked for it, from the commit's trailers."""
        return self.told.client

    @property
    def tool(self) -> str | None:
        """The tool that was called."""
        return self.told.tool

    @property
    def proposal(self) -> str | None:
        """The proposal that it came from."""
        return self.told.proposal


def classify_change(old: TextRange, new: TextRange, versions: Versions, *, is_elsewhere: bool) -> str:
    """Return the kind of change between two places of one thing, perhaps in different documents."""
    if not new.is_there:
        return REMOVED
    if not old.is_there:
        return CREATED
    if is_elsewhere:
        return MOVED
    if old.key is None or (old.path != new.path and old.key == new.key):
        return CHANGED if old.path == new.path else RENAMED
    if _find_title(old, versions) != _find_title(new, versions):
        return RENAMED
    # Where only the address differs, the section stands below another one, or that was renamed.
    return CHANGED if old.key == new.key else MOVED


def _find_title(place: TextRange, versions: Versions) -> str | None:
    document = versions.document(place.path, place.blob or "")
    section = document.section_by_key(place.key or "") if document else None
    return section.title if section else None


_LATEST = 253_402_300_799  # the last second of the year 9999, past which no date is written


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """A commit's author, time in UTC, first line, and trailers."""

    commit: str
    author_name: str
    author_email: str
    time: datetime
    subject: str
    client: str | None
    tool: str | None
    proposal: str | None


def describe_commit(commit: Commit) -> CommitInfo:
    """Return the description of a commit. Years outside 1970 to 9999 are shown as the nearest of these."""
    trailers = read_trailers(commit.message)
    return CommitInfo(
        commit=commit.id,
        author_name=commit.author.name,
        author_email=commit.author.email,
        time=datetime.fromtimestamp(min(max(commit.author.time, 0), _LATEST), UTC),
        subject=commit.message.strip().partition("\n")[0].strip(),
        client=trailers.get("Docyard-Client"),
        tool=trailers.get("Docyard-Tool"),
        proposal=trailers.get("Docyard-Proposal"),
    )


DISCUSSION = "docyard/discussion"
"""Where what is said of proposals is kept (`workspace.proposals`): without it, there was none."""

_MOST = 20_000  # commits that are looked at; what came before them is not told


def attribute_to_proposals(
    changes: Sequence[CommitChange], git: GitReader, graph: Graph, tip: str
) -> tuple[CommitChange, ...]:
    """Return the changes, found from a tip backward, each with the proposal that brought its commit."""
    silent = {change.commit for change in changes if change.proposal is None}
    if not silent or not any(git.find_object(name) for name in (DISCUSSION, f"origin/{DISCUSSION}")):
        return tuple(changes)
    merges = _find_merges(graph, tip, silent)
    said = {merge: describe_commit(git.commit(merge)).proposal for merge in {*merges.values()}}
    return tuple(
        replace(change, told=replace(change.told, proposal=said[merges[change.commit]]))
        if change.commit in merges
        else change
        for change in changes
    )


def _find_merges(graph: Graph, tip: str, wanted: Collection[str]) -> Mapping[str, str]:
    """Return the first merge on the first-parent history that had each commit; commits on it are left out."""
    since = min(graph.time(commit) for commit in wanted)
    line = graph.first_parents(tip, most=_MOST, since=since)
    seen = {node.id for node in line}
    found: dict[str, str] = {}
    for merge in reversed(line):
        for node in graph.ancestors(merge.parents[1:], seen=seen, since=since, most=2 * _MOST):
            if node.id in wanted:
                found[node.id] = merge.id
    return found
