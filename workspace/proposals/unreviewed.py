"""Text that a merge would put under a rule that did not govern the text when it was written.

If one side moved a document or gave it another type, a merge also applies the other side's changes there. A
direct write of the other side to the document at its old path, or under its old type, was allowed. After the
merge the same text is governed, but no reviewer has seen it. Two kinds of merges are checked. In the merge of
a proposal, theirs is the approved commit. In the merge of a synchronization, theirs is the remote's tip.

Rules and types are those of the merge's result, which need not be committed. A side's text on a governed path
was reviewed if that side's own rules govern it at that side's tip. A removal was reviewed if those rules
governed the file before.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.config import WorkspaceConfig
from workspace.config.taxonomy import MANIFEST, InvalidManifest, Manifest, Taxonomy, read_manifest
from workspace.config.toml import CONFIG_PATH, read_bytes
from workspace.errors import InvalidConfig
from workspace.git.ancestry import Graph
from workspace.git.objects import TreeEntry, hash_blob
from workspace.git.trees import WholeEntry, diff_trees
from workspace.merge.trees import find_file
from workspace.policy.protection import (
    GlobMatcher,
    TouchedPath,
    is_governed,
    is_settings_path,
    read_types,
    read_types_before,
)
from workspace.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from workspace.config.tables import Protection
    from workspace.merge.trees import Merge
    from workspace.snapshot.snapshot import Snapshot


class _MergedSettings:
    """The settings after a merge, and the types of documents by these settings. Raises InvalidConfig."""

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._manifests: dict[str, Manifest | None] = {}
        self._types: dict[str, frozenset[str]] = {}

    @cached_property
    def config(self) -> WorkspaceConfig:
        """The settings in force after the merge."""
        if CONFIG_PATH not in self._merge.changes:
            return self._merge.ours.config
        return WorkspaceConfig.read(self._merge.read(CONFIG_PATH))

    def types(self, path: str) -> frozenset[str]:
        """Return the types of the document at a path; return an empty set for a missing document."""
        if path not in self._types:
            data = self._merge.read(path) if self.config.is_document(path) else None
            self._types[path] = frozenset() if data is None else read_types(self._taxonomy, path, data)
        return self._types[path]

    @cached_property
    def _taxonomy(self) -> Taxonomy:
        return Taxonomy(self.config.taxonomy_keys, self._find_manifest)

    def _find_manifest(self, folder: str) -> Manifest | None:
        if folder not in self._manifests:
            self._manifests[folder] = self._read_manifest(f"{folder}/{MANIFEST}" if folder else MANIFEST)
        return self._manifests[folder]

    def _read_manifest(self, path: str) -> Manifest | None:
        entry = self._merge.entry(path)
        if isinstance(entry, TreeEntry):
            if not snapshot.is_listed(self.config, path, entry):
                return None
            entry = read_bytes(self._merge.ours.git, entry.id)
        if entry is None:
            return None
        try:
            return read_manifest(entry, path, tuple(self.config.taxonomy_keys))
        except InvalidManifest:
            return Manifest()  # as at a commit, an invalid manifest is empty and hides the manifests above it


_MAX_COMMITS = 2_000
"""The maximum number of commits that are searched for a removal; an earlier removal counts as unreviewed."""


class UnreviewedChange(NamedTuple):
    """A path whose change was not reviewed for a rule, and the path at which that change was made.

    `number` is the rule's number, from 1. `is_ours` is True for a change of our side of the merge.
    """

    path: str
    changed_path: str
    number: int
    is_ours: bool


def find_unreviewed_changes(merge: Merge) -> tuple[UnreviewedChange, ...]:
    """Return our side's unreviewed changes to paths that the merge changes; their side was reviewed.

    Raises InvalidConfig, LimitExceeded.
    """
    return _UnreviewedSearch(merge).run(merge.changes, (merge.ours,))


def find_unreviewed_on_both_sides(merge: Merge) -> tuple[UnreviewedChange, ...]:
    """Return the changes of each side under a rule that did not govern them on that side.

    Raises InvalidConfig, LimitExceeded.
    """
    sides = (merge.ours, merge.theirs)
    if not any(side.config.protect for side in sides):
        return ()
    changes = diff_trees(merge.ours.git, merge.theirs.tree, merge.ours.tree)
    return _UnreviewedSearch(merge).run({*merge.changes, *(change.path for change in changes)}, sides)


class _UnreviewedSearch:
    """A search for unreviewed changes in one merge, by the rules of its result."""

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._files = _MergedSettings(merge)
        self._bases = [merge.ours.at(base) for base in merge.bases]
        self._removals = {side: _Removals(side) for side in (merge.ours, merge.theirs)}

    def run(self, paths: Collection[str], sides: Sequence[Snapshot]) -> tuple[UnreviewedChange, ...]:
        """Return each path once for each side that changed it without review."""
        paths_by_side = {side: [path for path in paths if self._contributes(path, side)] for side in sides}
        unreviewed: dict[tuple[str, bool], UnreviewedChange] = {}
        for rule, number, governed_paths in self._list_rules(
            {path for side_paths in paths_by_side.values() for path in side_paths}
        ):
            for side, side_paths in paths_by_side.items():
                is_ours = side is self._merge.ours
                for path in side_paths:
                    if path not in governed_paths or (path, is_ours) in unreviewed:
                        continue
                    if not self._is_reviewed(path, side, rule):
                        changed_path = self._merge.find_path_on_side(path, side)
                        unreviewed[path, is_ours] = UnreviewedChange(path, changed_path, number, is_ours)
        return tuple(unreviewed[key] for key in sorted(unreviewed))

    def _contributes(self, path: str, side: Snapshot) -> bool:
        """Return True if the merge takes a change, a move or a removal of a path from a side."""
        merged_content, other_entry = (
            _get_merged_content(self._merge, path),
            find_file(self._get_other_side(side), path),
        )
        if isinstance(merged_content, bytes):
            equals_other_side = other_entry is not None and hash_blob(merged_content) == other_entry.id
        else:
            equals_other_side = _is_same(merged_content.entry, other_entry)
        return not equals_other_side and not self._is_unchanged(path, side)

    def _is_unchanged(self, path: str, side: Snapshot) -> bool:
        """Return True if every base has a side's file at the same path with the same content."""
        version_paths = self._merge.version_paths.get(path)
        base_path, side_path = (
            (version_paths.base, self._merge.find_path_on_side(path, side)) if version_paths else (path, path)
        )
        entry = find_file(side, side_path)
        return base_path == side_path and all(
            _is_same(find_file(commit, base_path), entry) for commit in self._bases
        )

    def _get_other_side(self, side: Snapshot) -> Snapshot:
        return self._merge.theirs if side is self._merge.ours else self._merge.ours

    def _list_rules(self, paths: Collection[str]) -> Iterator[tuple[Protection, int, frozenset[str]]]:
        """Yield the rules after the merge, with their numbers and the paths that they may govern.

        All rules govern the settings. The rules of either side govern docyard.toml too: otherwise a merge
        could choose the side without rules.
        """
        matcher = GlobMatcher([*paths], self._files.config.root)
        settings_paths = frozenset(path for path in paths if is_settings_path(path))
        for number, rule in enumerate(self._files.config.protect, 1):
            yield rule, number, matcher.match(rule.paths) | settings_paths
        if CONFIG_PATH in paths:
            for side in (self._merge.ours, self._merge.theirs):
                for number, rule in enumerate(side.config.protect, 1):
                    yield rule, number, frozenset({CONFIG_PATH})

    def _is_reviewed(self, path: str, side: Snapshot, rule: Protection) -> bool:
        """Return True if a side's change of a path was reviewed, or if the rule does not govern it."""
        if is_settings_path(path):
            commits = [side, *self._bases] if path == CONFIG_PATH else [side]
            return any(
                _is_as_strict(side_rule, rule) for commit in commits for side_rule in _read_rules(commit)
            )
        exists = _get_merged_content(self._merge, path) != WholeEntry(None)
        if exists and (not rule.types or not self._files.types(path).isdisjoint(rule.types)):
            return _is_governed_at(side, rule, self._merge.find_path_on_side(path, side))
        return self._is_removal_reviewed(path, side, rule)

    def _is_removal_reviewed(self, path: str, side: Snapshot, rule: Protection) -> bool:
        """Return False if a side removed, without review, a file that a rule governs on the other side.

        A file that the side moved is also checked at its path in the base, and at its path on that side.
        """
        other = self._get_other_side(side)
        types = read_types_before(other, path) if rule.types else frozenset[str]()
        is_governed_path = is_governed(rule, self._files.config.root, TouchedPath(path, types))
        if not is_governed_path or find_file(other, path) is None or not _is_governed_at(other, rule, path):
            return True
        version_paths = self._merge.version_paths.get(path)
        candidates = (
            path,
            self._merge.find_path_on_side(path, side),
            *([version_paths.base] if version_paths else []),
        )
        return any(
            self._was_changed_under_rule(candidate, side, rule) for candidate in dict.fromkeys(candidates)
        )

    def _was_changed_under_rule(self, path: str, side: Snapshot, rule: Protection) -> bool:
        """Return True if a side changed a file since a base while a rule governed the file."""
        entry = find_file(side, path)
        changed_bases = [base for base in self._bases if not _is_same(find_file(base, path), entry)]
        if not changed_bases:
            return False
        if entry is not None:
            return any(_is_governed_at(commit, rule, path) for commit in (side, *changed_bases))
        commit_before = self._removals[side].find_last_commit_with(path)
        return commit_before is not None and _is_governed_at(commit_before, rule, path)


class _Removals:
    """The commits of a side's first-parent history that removed files, searched once for all files."""

    def __init__(self, side: Snapshot) -> None:
        assert side.commit is not None
        self._side = side
        self._last_commits: dict[str, Snapshot] = {}
        self._steps = pairwise(Graph(side.git).first_parents(side.commit, max_commits=_MAX_COMMITS + 1))

    def find_last_commit_with(self, path: str) -> Snapshot | None:
        """Return the last commit with a file that the tip does not have; None if no commit is found."""
        while path not in self._last_commits and (step := next(self._steps, None)) is not None:
            newer, older = step
            for change in diff_trees(self._side.git, older.tree, newer.tree):
                if change.new is None:
                    self._last_commits.setdefault(change.path, self._side.at(older.id))
        return self._last_commits.get(path)


def _is_governed_at(commit: Snapshot, rule: Protection, path: str) -> bool:
    """Return True if a commit has a rule for a path that is at least as strict as `rule`."""
    for candidate in _read_rules(commit):
        if _is_as_strict(candidate, rule):
            types = read_types_before(commit, path) if candidate.types else frozenset[str]()
            if is_governed(candidate, commit.config.root, TouchedPath(path, types)):
                return True
    return False


def _is_as_strict(candidate: Protection, rule: Protection) -> bool:
    """Return True if `candidate` is at least as strict as `rule`."""
    return (
        candidate.approvals >= rule.approvals
        and _is_within(candidate.approvers, rule.approvers)
        and _is_within(candidate.merge, rule.merge)
    )


def _is_within(names: Sequence[str], others: Sequence[str]) -> bool:
    """Return True if all names of one list are in another; an empty list means everyone."""
    return not others or (bool(names) and {*names} <= {*others})


def _read_rules(commit: Snapshot) -> Sequence[Protection]:
    """Return the rules of a commit; return no rules if its settings are invalid."""
    with suppress(InvalidConfig):
        return commit.config.protect
    return ()


def _get_merged_content(merge: Merge, path: str) -> bytes | WholeEntry:
    change = merge.changes.get(path)
    return WholeEntry(find_file(merge.ours, path)) if change is None else change


def _is_same(left: TreeEntry | None, right: TreeEntry | None) -> bool:
    if left is None or right is None:
        return left is right
    return (left.id, left.mode) == (right.id, right.mode)
