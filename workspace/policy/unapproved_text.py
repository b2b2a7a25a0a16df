"""Text that Docyard wrote before a rule required an approval of its changes.

A rule governs changes; it does not review the text that is there when the rule is added. The last change of a
document on its branch shows whether its text was governed: a direct write or a merge through Docyard obeys
the rules of the commit before it. A commit without Docyard's trailers was made with Git, which the policy
cannot restrict, and counts as a person's decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import InvalidConfig
from workspace.git.ancestry import Graph, Node, walk_first_parents
from workspace.git.messages import SYNC_TOOL, TOOL_TRAILER, read_trailers
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.policy.protection import TouchedPath, find_governing_rules
from workspace.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workspace.config.config import WorkspaceConfig
    from workspace.git.reader import GitReader

_MAX_COMMITS = 50_000  # on one line of first parents; older text counts as approved


class Text(NamedTuple):
    """The text of a document: its path, its blob, and its types."""

    path: str
    blob: str
    types: frozenset[str]


class _Verdict(NamedTuple):
    """The result of a walk that began at a commit with the text."""

    commit: str
    is_unapproved: bool


# The last verdict on a text in a repository. A walk from a later commit ends at the commit of the verdict.
_verdicts: LRUCache[tuple[str, Text], _Verdict] = LRUCache(10_000)


def find_approved_paths(config: WorkspaceConfig, touched_paths: Iterable[TouchedPath]) -> frozenset[str]:
    """Return the paths whose changes need an approval by settings."""
    return frozenset(
        path
        for governing_rule in find_governing_rules(config, tuple(touched_paths))
        if governing_rule.rule.approvals >= 1
        for path in governing_rule.paths
    )


def find_unapproved_texts(git: GitReader, tip: str, texts: Iterable[Text]) -> frozenset[str]:
    """Return the paths of texts at a commit that Docyard wrote when no rule required an approval.

    A text whose last change cannot be read, as in a shallow clone, is not included.
    """
    repository = str(git.common_dir)
    graph = Graph(git)
    verdicts = dict.fromkeys(texts, False)
    earlier_verdicts: dict[str, dict[Text, bool]] = {}
    for text in verdicts:
        if (verdict := _verdicts.find((repository, text))) is not None:
            earlier_verdicts.setdefault(verdict.commit, {})[text] = verdict.is_unapproved
    walks = [(tip, {text.path: text for text in verdicts})]
    while walks:
        start, pending = walks.pop()
        for node, parent in _walk(graph, start):
            for text, is_unapproved in earlier_verdicts.get(node.id, {}).items():
                if pending.pop(text.path, None) is not None:
                    verdicts[text] = is_unapproved
            for text in _find_changed_texts(graph, node, parent, pending):
                del pending[text.path]
                merged_commit = _find_synchronized_commit(git, graph, node, text)
                if merged_commit is not None:
                    walks.append((merged_commit, {text.path: text}))
                else:
                    verdicts[text] = _is_unapproved(git, node, text)
            if not pending:
                break
    for text, is_unapproved in verdicts.items():
        _verdicts.put((repository, text), _Verdict(tip, is_unapproved))
    return frozenset(text.path for text, is_unapproved in verdicts.items() if is_unapproved)


def _walk(graph: Graph, start: str) -> Iterator[tuple[Node, Node | None]]:
    """Yield the first-parent history, each commit with its first parent, as far as it can be read."""
    node = None
    with suppress(DamagedRepository):
        for parent in walk_first_parents(graph.node, frozenset, start, max_commits=_MAX_COMMITS):
            if node is not None:
                yield node, parent
            node = parent
    if node is not None and not node.parents:
        yield node, None


def _find_changed_texts(
    graph: Graph, node: Node, parent: Node | None, pending: Mapping[str, Text]
) -> list[Text]:
    """Return the texts that a commit has, and its parent does not have."""
    if parent is None:
        return [*pending.values()]
    if node.tree == parent.tree:
        return []
    entries, old_entries = graph.compare_trees(node.tree, parent.tree)
    names = {entry.name for entry in (*entries, *old_entries)}
    return [
        text
        for path, text in pending.items()
        if path.partition("/")[0] in names and graph.blob(parent.tree, path) != text.blob
    ]


def _find_synchronized_commit(git: GitReader, graph: Graph, node: Node, text: Text) -> str | None:
    """Return the other side of a synchronization's merge, if the text comes from there; else None."""
    if len(node.parents) < 2 or read_trailers(git.commit(node.id).message).get(TOOL_TRAILER) != SYNC_TOOL:
        return None
    with suppress(DamagedRepository):
        return next(
            (
                parent
                for parent in node.parents[1:]
                if graph.blob(graph.node(parent).tree, text.path) == text.blob
            ),
            None,
        )
    return None


def _is_unapproved(git: GitReader, node: Node, text: Text) -> bool:
    """Return True if Docyard made a commit, and no rule before it required an approval of a text."""
    if TOOL_TRAILER not in read_trailers(git.commit(node.id).message):
        return False
    if not node.parents:
        return True
    try:
        config = Snapshot(git, node.parents[0]).config
    except InvalidConfig:
        return True
    return text.path not in find_approved_paths(config, [TouchedPath(text.path, text.types)])
