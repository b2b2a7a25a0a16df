"""A model of the review policy, which reads the history after each step of a walk, independently of Docyard.

By the rules at its first parent, each first-parent commit that changes a protected path must be the merge of
a proposal. A permitted person merged exactly the commit that enough people approved with their tokens. None
of these people opened the proposal or committed to it.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tests.repositories import Repo


class Demand(NamedTuple):
    """The requirements of a rule: approvals, approvers, and mergers; an empty list permits all people."""

    approvals: int
    approvers: tuple[str, ...]
    mergers: tuple[str, ...]


class Model:
    """The approvals, the authors of proposals and commits, and the check of the history."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.started = self.checked = repo.head()
        self.approved: set[tuple[str, str, str]] = set()  # proposal, its commit, by whom
        self.openers: dict[str, str] = {}  # proposal: e-mail
        self.committers: dict[str, str] = {}  # commit: e-mail
        self.merging: set[tuple[str, str]] = set()  # proposal, by whom, since the last check
        self.seen: Counter[str] = Counter()
        self.log: list[str] = []

    def log_step(self, text: str) -> None:
        """Record a step for the message of a failure."""
        self.log.append(text)

    def check(self) -> None:
        """Check that the policy permits each commit that was added since the last check."""
        commits = self.repo.git("rev-list", "--first-parent", "--reverse", f"{self.checked}..main").split()
        assert self.repo.git("merge-base", self.checked, "main").strip() == self.checked, "main was rewritten"
        for commit in commits:
            self._check(commit)
        self.checked = self.repo.git("rev-parse", "main").strip()
        self.merging.clear()

    def _check(self, commit: str) -> None:
        before, *others = self.repo.git("rev-list", "--parents", "-n1", commit).split()[1:]
        demands = list(self._demands(before, commit))
        if not demands:
            return
        story = "\n".join([self.repo.git("show", "--stat", "-m", "--first-parent", commit), *self.log[-12:]])
        assert len(others) == 1, f"protected, and no merge of a proposal:\n{story}"
        id = re.findall(
            r"^Docyard-Proposal: (\S+)$", self.repo.git("show", "-s", commit).replace("    ", ""), re.M
        )[-1]
        written = self.repo.git("rev-list", f"{before}..{others[0]}").split()
        own = {self.committers[one] for one in written if one in self.committers} | {self.openers.get(id, "")}
        approved = {by for of, at, by in self.approved if (of, at) == (id, others[0])}
        counting = {by for by in approved if f"{by}@example.org" not in own}
        mergers = {by for of, by in self.merging if of == id}
        for demand in demands:
            enough = {by for by in counting if not demand.approvers or by in demand.approvers}
            assert len(enough) >= demand.approvals, f"{demand}, {enough}:\n{story}"
            may = {by for by in mergers if not demand.mergers or by in demand.mergers}
            assert may, f"{demand}, merged by {mergers}:\n{story}"
        self.seen["merged"] += 1

    def _demands(self, before: str, commit: str) -> Iterator[Demand]:
        """Yield the requirements of the rules of a commit for its child."""
        rules = tomllib.loads(self.repo.git("show", f"{before}:docyard.toml")).get("protect", [])
        names = self.repo.git("diff-tree", "-r", "--no-renames", "--name-only", "-z", before, commit)
        paths = [path for path in names.split("\0") if path]
        for rule in rules:
            kinds = set(rule.get("types", []))
            if any(
                path in ("docyard.toml",)
                or path.startswith(".docyard/")
                or path.endswith(".taxonomy.toml")
                or (
                    ("paths" not in rule or path.startswith("specs/"))
                    and (not kinds or kinds & {self._kind(before, path), self._kind(commit, path)})
                )
                for path in paths
            ):
                approvers, mergers = tuple(rule.get("approvers", [])), tuple(rule.get("merge", []))
                yield Demand(rule.get("approvals", 1), approvers, mergers)

    def _kind(self, commit: str, path: str) -> str:
        text = self.repo.git("show", f"{commit}:{path}", check=False)
        found = re.match(r"---\n(?:.*\n)*?type: (\w+)\n(?:.*\n)*?---\n", text)
        return found[1] if found else ""
