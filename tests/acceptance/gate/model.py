"""A model of the review policy, which checks the history of a walk independently of Docyard.

Each first-parent commit that changes a protected path, by the rules at its first parent, must be the merge of
a proposal. A permitted person must merge exactly the commit that enough people approved with their tokens.
An approval counts only if the person neither opened the proposal nor committed to it.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tests.repositories import Repo


class RuleRequirement(NamedTuple):
    """The number of required approvals, the approvers and the mergers; an empty tuple permits all people."""

    approvals: int
    approvers: tuple[str, ...]
    mergers: tuple[str, ...]


class PolicyModel:
    """The approvals, openers and committers of a walk, and a check of the history with them."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.first_commit = self.checked_commit = repo.head()
        self.approvals: set[tuple[str, str, str]] = set()  # proposal, its commit, person
        self.openers: dict[str, str] = {}  # e-mail addresses by proposal
        self.committers: dict[str, str] = {}  # e-mail addresses by commit
        self.merge_attempts: set[tuple[str, str]] = set()  # proposal and person, since the last check
        self.counts: Counter[str] = Counter()
        self.log: list[str] = []

    def log_step(self, text: str) -> None:
        """Record a step for the message of a failed assertion."""
        self.log.append(text)

    def check(self) -> None:
        """Raise AssertionError if the policy does not permit a commit that was added since the last check."""
        commits = self.repo.git(
            "rev-list", "--first-parent", "--reverse", f"{self.checked_commit}..main"
        ).split()
        assert self.repo.git("merge-base", self.checked_commit, "main").strip() == self.checked_commit, (
            "main was rewritten"
        )
        for commit in commits:
            self._check_commit(commit)
        self.checked_commit = self.repo.git("rev-parse", "main").strip()
        self.merge_attempts.clear()

    def _check_commit(self, commit: str) -> None:
        parent, *merged_parents = self.repo.git("rev-list", "--parents", "-n1", commit).split()[1:]
        requirements = list(self._list_requirements(parent, commit))
        if not requirements:
            return
        report = "\n".join([self.repo.git("show", "--stat", "-m", "--first-parent", commit), *self.log[-12:]])
        assert len(merged_parents) == 1, f"a protected path changed without a merge:\n{report}"
        id = re.findall(
            r"^Docyard-Proposal: (\S+)$", self.repo.git("show", "-s", commit).replace("    ", ""), re.M
        )[-1]
        proposal_commits = self.repo.git("rev-list", f"{parent}..{merged_parents[0]}").split()
        author_emails = {
            self.committers[commit_id] for commit_id in proposal_commits if commit_id in self.committers
        } | {self.openers.get(id, "")}
        approvers = {
            name for proposal, tip, name in self.approvals if (proposal, tip) == (id, merged_parents[0])
        }
        valid_approvers = {name for name in approvers if f"{name}@example.org" not in author_emails}
        mergers = {name for proposal, name in self.merge_attempts if proposal == id}
        for requirement in requirements:
            rule_approvers = {
                name for name in valid_approvers if not requirement.approvers or name in requirement.approvers
            }
            assert len(rule_approvers) >= requirement.approvals, f"{requirement}, {rule_approvers}:\n{report}"
            rule_mergers = {
                name for name in mergers if not requirement.mergers or name in requirement.mergers
            }
            assert rule_mergers, f"{requirement}, merged by {mergers}:\n{report}"
        self.counts["merged"] += 1

    def _list_requirements(self, parent: str, commit: str) -> Iterator[RuleRequirement]:
        """Yield the requirements of the rules at a parent for the changes of its child."""
        rules = tomllib.loads(self.repo.git("show", f"{parent}:docyard.toml")).get("protect", [])
        diff = self.repo.git("diff-tree", "-r", "--no-renames", "--name-only", "-z", parent, commit)
        paths = [path for path in diff.split("\0") if path]
        for rule in rules:
            types = set(rule.get("types", []))
            if any(
                path == "docyard.toml"
                or path.startswith(".docyard/")
                or path.endswith(".taxonomy.toml")
                or (
                    ("paths" not in rule or path.startswith("specs/"))
                    and (not types or types & {self._read_type(parent, path), self._read_type(commit, path)})
                )
                for path in paths
            ):
                approvers, mergers = tuple(rule.get("approvers", [])), tuple(rule.get("merge", []))
                yield RuleRequirement(rule.get("approvals", 1), approvers, mergers)

    def _read_type(self, commit: str, path: str) -> str:
        text = self.repo.git("show", f"{commit}:{path}", check=False)
        match = re.match(r"---\n(?:.*\n)*?type: (\w+)\n(?:.*\n)*?---\n", text)
        return match[1] if match else ""
