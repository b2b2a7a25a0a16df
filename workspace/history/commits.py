"""Changes of a document or section by commit, and the description of a commit: author, time and client.

A commit without a proposal trailer of its own gets the proposal of the first-parent merge that contains it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from workspace.git.messages import TOOL_TRAILER, read_trailers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from workspace.git.ancestry import Graph
    from workspace.git.objects import Commit
    from workspace.git.reader import GitReader
    from workspace.history.text_ranges import TextRange, Versions

CREATED, CHANGED, RENAMED, MOVED, REMOVED = "created", "changed", "renamed", "moved", "removed"
CHANGE_KINDS = (CREATED, CHANGED, RENAMED, MOVED, REMOVED)


@dataclass(frozen=True, slots=True)
class CommitChange:
    """The change that a commit made to the tracked document or section.

    `kind` is one of CHANGE_KINDS; `renamed` and `moved` may also change the text. `path` and `fragment` are
    the address after the commit, or the last address of removed text. `old_path` and `old_fragment` are the
    address in `parent`, None if the text did not exist there.

    `before` and `after` are read from the repository on access; None if the text is missing or too large.
    """

    info: CommitInfo
    parent: str | None
    kind: str
    old: TextRange
    new: TextRange
    versions: Versions

    @property
    def commit(self) -> str:
        """The commit's id."""
        return self.info.commit

    @property
    def path(self) -> str:
        """The path after the commit."""
        return (self.new if self.new.exists else self.old).path

    @property
    def fragment(self) -> str | None:
        """The section's key after the commit; None for a document."""
        return (self.new if self.new.exists else self.old).key

    @property
    def old_path(self) -> str | None:
        """The path before the commit."""
        return self.old.path if self.old.exists else None

    @property
    def old_fragment(self) -> str | None:
        """The section's key before the commit."""
        return self.old.key if self.old.exists else None

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
        """The size of the larger text in bytes, found without reading the text."""
        return max(self.versions.size(self.old), self.versions.size(self.new))

    @property
    def start_lines(self) -> tuple[int, int]:
        """The lines on which the texts before and after begin in their documents, counted from 1."""
        return self.versions.line(self.old), self.versions.line(self.new)

    @property
    def author_name(self) -> str:
        """The author's name."""
        return self.info.author_name

    @property
    def author_email(self) -> str:
        """The author's email address."""
        return self.info.author_email

    @property
    def time(self) -> datetime:
        """The time of authorship, in UTC."""
        return self.info.time

    @property
    def subject(self) -> str:
        """The first line of the commit's message."""
        return self.info.subject

    @property
    def client(self) -> str | None:
        """The client that requested the change, from the commit's trailers."""
        return self.info.client

    @property
    def tool(self) -> str | None:
        """The tool that was called."""
        return self.info.tool

    @property
    def proposal(self) -> str | None:
        """The proposal that the commit belongs to."""
        return self.info.proposal


def classify_change(old: TextRange, new: TextRange, versions: Versions, *, is_in_other_document: bool) -> str:
    """Return the kind of change between two ranges of one text, perhaps in different documents."""
    if not new.exists:
        return REMOVED
    if not old.exists:
        return CREATED
    if is_in_other_document:
        return MOVED
    if old.key is None or (old.path != new.path and old.key == new.key):
        return CHANGED if old.path == new.path else RENAMED
    if _find_title(old, versions) != _find_title(new, versions):
        return RENAMED
    # If only the address differs, the section has another parent, or its parent was renamed.
    return CHANGED if old.key == new.key else MOVED


def _find_title(text_range: TextRange, versions: Versions) -> str | None:
    document = versions.document(text_range.path, text_range.blob or "")
    section = document.section_by_key(text_range.key or "") if document else None
    return section.title if section else None


_MAX_TIMESTAMP = 253_402_300_799  # the last second of the year 9999, the latest date that can be formatted


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
    """Return the description of a commit; times outside of 1970 to 9999 are replaced by the nearest one."""
    trailers = read_trailers(commit.message)
    return CommitInfo(
        commit=commit.id,
        author_name=commit.author.name,
        author_email=commit.author.email,
        time=datetime.fromtimestamp(min(max(commit.author.time, 0), _MAX_TIMESTAMP), UTC),
        subject=commit.message.strip().partition("\n")[0].strip(),
        client=trailers.get("Docyard-Client"),
        tool=trailers.get(TOOL_TRAILER),
        proposal=trailers.get("Docyard-Proposal"),
    )


DISCUSSION_BRANCH = "docyard/discussion"
"""The branch of the events of proposals (`workspace.proposals`); without it there are no proposals."""

_MAX_SCANNED_COMMITS = 20_000  # the maximum number of scanned commits; older ones are not attributed


def attribute_to_proposals(
    changes: Sequence[CommitChange], git: GitReader, graph: Graph, tip: str
) -> tuple[CommitChange, ...]:
    """Return the changes, each with the proposal of its commit. All commits are ancestors of `tip`."""
    unattributed_commits = {change.commit for change in changes if change.proposal is None}
    if not unattributed_commits or not any(
        git.find_object(name) for name in (DISCUSSION_BRANCH, f"origin/{DISCUSSION_BRANCH}")
    ):
        return tuple(changes)
    merge_by_commit = _find_merges(graph, tip, unattributed_commits)
    proposal_by_merge = {
        merge: describe_commit(git.commit(merge)).proposal for merge in {*merge_by_commit.values()}
    }
    return tuple(
        replace(change, info=replace(change.info, proposal=proposal_by_merge[merge_by_commit[change.commit]]))
        if change.commit in merge_by_commit
        else change
        for change in changes
    )


def _find_merges(graph: Graph, tip: str, commits: Collection[str]) -> Mapping[str, str]:
    """Return the first merge on the first-parent history that contains each commit, by commit.

    Commits that are on the first-parent history themselves are left out.
    """
    since = min(map(graph.time, commits))
    first_parents = graph.first_parents(tip, max_commits=_MAX_SCANNED_COMMITS, since=since)
    visited = {node.id for node in first_parents}
    merge_by_commit: dict[str, str] = {}
    for merge in reversed(first_parents):
        for node in graph.ancestors(
            merge.parents[1:], visited=visited, since=since, max_visited=2 * _MAX_SCANNED_COMMITS
        ):
            if node.id in commits:
                merge_by_commit[node.id] = merge.id
    return merge_by_commit
