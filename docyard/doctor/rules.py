"""Checks of docyard.toml and CODEOWNERS: rules without documents, people without tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from docyard.doctor.finding import Finding, Severity, format_list
from workspace.config.toml import CONFIG_PATH
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.git.trees import walk_tree
from workspace.paths import escape_path
from workspace.policy.protection import GlobMatcher, read_types_before
from workspace.proposals.code_owners import read_code_owners
from workspace.proposals.participants import Participants

if TYPE_CHECKING:
    from workspace.config.tables import Protection
    from workspace.policy.tokens import KnownPerson
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

AREA = "repository"


def check_rules(workspace: Workspace) -> Iterator[Finding]:
    """Yield the rules that govern no file, and the approvers and code owners whose tokens are unknown.

    Nothing is yielded for a commit with invalid settings, which another check reports.
    """
    snapshot = workspace.snapshot()
    try:
        rules = snapshot.config.protect
        tokens = workspace.tokens.read_all()
    except WorkspaceError:  # other checks report invalid settings and an unusable file of tokens
        return
    if rules and snapshot.documents:
        yield from _check_matches(snapshot, rules)
    if not tokens and workspace.sync_status().find_remote() is not None:
        yield from _describe_member_clone(rules)
        return
    for number, rule in enumerate(rules, 1):
        yield from _check_people(number, rule, tokens)
    yield from _check_code_owners(snapshot, tokens)


def _describe_member_clone(rules: tuple[Protection, ...]) -> Iterator[Finding]:
    """Yield one note for a clone without any token, as a member of a team has it, if rules need approvals."""
    if any(rule.approvals or rule.merge for rule in rules):
        yield Finding(
            Severity.NOTE,
            AREA,
            "there are no tokens of people here, as in a member's clone: the repository that has them, such "
            "as the server's, decides about approvals and merges of protected paths",
            "Nothing is to be done in a member's clone. Only where approvals are decided: docyard tokens add "
            "NAME, or docyard tokens trust NAME.",
        )


def _check_matches(snapshot: Snapshot, rules: tuple[Protection, ...]) -> Iterator[Finding]:
    """Yield the rules that match no file. All files are compared, because a rule also governs images."""
    entries = walk_tree(snapshot.git, snapshot.tree) if snapshot.tree else ()
    paths = [path for path, entry in entries if entry.is_blob]
    matcher = GlobMatcher(paths, snapshot.config.root)
    fix = f"Correct the rule in {CONFIG_PATH} and commit it, or write the documents that it governs."
    for number, rule in enumerate(rules, 1):
        unmatched_globs = [glob for glob in rule.paths if not matcher.match((glob,))]
        if unmatched_globs:
            governs_any = len(unmatched_globs) < len(rule.paths)
            yield Finding(
                Severity.NOTE if governs_any else Severity.WARNING,
                AREA,
                f"{'some paths of ' if governs_any else ''}rule {number} of {CONFIG_PATH} "
                f"{'match' if governs_any else 'matches'} no document "
                f"({format_list([escape_path(glob) for glob in unmatched_globs])})",
                fix,
            )
        if (
            rule.types
            and len(unmatched_globs) < max(1, len(rule.paths))
            and not _has_typed_document(snapshot, rule, matcher.match(rule.paths))
        ):
            yield Finding(
                Severity.WARNING,
                AREA,
                f"rule {number} of {CONFIG_PATH} matches no document (type {format_list(rule.types)})",
                fix,
            )


def _has_typed_document(snapshot: Snapshot, rule: Protection, paths: frozenset[str]) -> bool:
    for path in sorted(filter(snapshot.config.is_document, paths)):
        with suppress(LimitExceeded):  # the check of documents reports a document that is too large
            if not read_types_before(snapshot, path).isdisjoint(rule.types):
                return True
    return False


def _check_people(number: int, rule: Protection, tokens: Mapping[str, KnownPerson]) -> Iterator[Finding]:
    names = dict.fromkeys((*(rule.approvers if rule.approvals else ()), *rule.merge))
    unknown_names = [name for name in names if name not in tokens]
    if unknown_names:
        yield Finding(
            Severity.NOTE,
            AREA,
            f"rule {number} of {CONFIG_PATH}: no token of {format_list(unknown_names)} is known here",
            f"Correct the name, or docyard tokens add {unknown_names[0]}; if the token was created in "
            f"another copy: docyard tokens trust {unknown_names[0]}",
        )


def _check_code_owners(snapshot: Snapshot, tokens: Mapping[str, KnownPerson]) -> Iterator[Finding]:
    code_owners = read_code_owners(snapshot)
    if code_owners is None:
        return
    people = Participants(owner.person for owner in tokens.values())
    names = dict.fromkeys(name for rule in code_owners.rules for name in rule.owners)
    unknown_names = [
        name
        for name in names
        if (people.find_by_handle(name) if name.startswith("@") else people.find_by_email(name)) is None
    ]
    if unknown_names:
        yield Finding(
            Severity.NOTE,
            AREA,
            f"{code_owners.path}: no token of {format_list(unknown_names)} is known here",
            "Correct the names, or create the tokens: docyard tokens add NAME",
        )
