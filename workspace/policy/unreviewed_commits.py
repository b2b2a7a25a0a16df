"""Commits made with Git that change protected paths, so that no proposal was reviewed.

Docyard cannot refuse such a commit. A commit with Docyard's trailers is not searched: a direct write or a
merge through Docyard obeys the rules of the commit before it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.toml import CONFIG_PATH
from workspace.errors import InvalidConfig
from workspace.git.ancestry import Graph, Node, list_commits_between
from workspace.git.messages import TOOL_TRAILER, read_trailers
from workspace.git.repository import DamagedRepository
from workspace.git.trees import WholeEntry, diff_trees, find_in_tree
from workspace.policy.protection import find_governing_rules, find_touched_paths, format_paths
from workspace.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from workspace.git.reader import GitReader

_MAX_COMMITS = 2_000


class UnreviewedCommit(NamedTuple):
    """A commit made with Git: the protected paths that it changes, and the number of the first rule."""

    commit: str
    paths: tuple[str, ...]
    number: int

    @property
    def message(self) -> str:
        """The commit, its paths and the rule, as the message of a warning."""
        verb = "is" if len(self.paths) == 1 else "are"
        return (
            f"commit {self.commit[:12]} was made with Git and has no review: it changes "
            f"{format_paths(self.paths)}, which {verb} protected by rule {self.number} of {CONFIG_PATH}"
        )

    @property
    def fix(self) -> str:
        """The commands that show the commit and propose the next change."""
        return (
            f"Ask a reviewer to read `git show {self.commit[:12]}`. Propose the next change: "
            "`docyard proposals create TITLE`, then commit on its branch."
        )


def find_unreviewed_commits(git: GitReader, tip: str, base: str | None) -> tuple[UnreviewedCommit, ...]:
    """Return the commits of a branch since a base that change protected paths by hand, newest first.

    Only the first-parent history is searched, up to 2,000 commits. What a merge takes from the base is
    not a change. Without a base, as before the first push of a branch, nothing is returned.
    """
    if base is None:
        return ()
    graph = Graph(git)
    with suppress(DamagedRepository):
        new_commits, _ = list_commits_between(graph, tip, base, max_commits=_MAX_COMMITS)
        return tuple(_find(git, graph, tip, new_commits))
    return ()


def _find(git: GitReader, graph: Graph, tip: str, new_commits: Set[str]) -> Iterator[UnreviewedCommit]:
    for node in graph.first_parents(tip, max_commits=_MAX_COMMITS):
        if node.id not in new_commits:
            return
        if not node.parents or TOOL_TRAILER in read_trailers(git.commit(node.id).message):
            continue
        with suppress(DamagedRepository, InvalidConfig):
            snapshot = Snapshot(git, node.parents[0])
            if not snapshot.config.protect:
                continue
            changes = _list_changes(git, graph, node, new_commits)
            rules = find_governing_rules(snapshot.config, find_touched_paths(snapshot, changes))
            if rules:
                paths = sorted({path for rule in rules for path in rule.paths})
                yield UnreviewedCommit(node.id, tuple(paths), rules[0].number)


def _list_changes(git: GitReader, graph: Graph, node: Node, new_commits: Set[str]) -> dict[str, WholeEntry]:
    """Return the changes of a commit, without those that a merge takes from the base."""
    base_trees = [graph.node(parent).tree for parent in node.parents[1:] if parent not in new_commits]
    return {
        change.path: WholeEntry(change.new)
        for change in diff_trees(graph, graph.node(node.parents[0]).tree, node.tree)
        if all(find_in_tree(git, tree, change.path) != change.new for tree in base_trees)
    }
