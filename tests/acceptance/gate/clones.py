"""Three clones of one remote: agents write, people review, and all synchronize, in random order.

Every write has a unique word. A person who approves a proposal sees the words of the documents that it
changes. The model checks one promise, independently of the implementation: no protected path of any clone's
branch, or of the remote's, has a word that no person has seen.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from index.service import SearchIndex
from tests import repositories
from tests.repositories import Repo
from tools.registry import Toolbox
from tools.tool import Answer
from tools.toolsets import TOOLSETS
from workspace.errors import WorkspaceError
from workspace.git.remotes.credentials import Access
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitId
from workspace.merge.trees import FileConflict, Resolutions
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, KnownBy, ReviewDecision
from workspace.proposals.proposal import Proposal, ProposalState
from workspace.snapshot.snapshot import Snapshot
from workspace.sync.sync import sync
from workspace.workspace import Workspace
from workspace.writing.read_before_write import SeenTexts

RULES = (
    'overwrite = "any"\n[[protect]]\npaths = ["specs/**"]\nchecks = []\n'
    '[[protect]]\ntypes = ["runbook"]\nchecks = []\n'
)
PAGE = "# {}\n\nIntroduction.\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n\n## Tasks\n\n- [ ] Begin\n"
FILES: Mapping[str, str] = {
    "docyard.toml": RULES,
    "specs/api.md": PAGE.format("API"),
    "free/a.md": PAGE.format("A"),
    "free/b.md": PAGE.format("B"),
    "notes/run.md": "---\ntype: runbook\n---\n\n" + PAGE.format("Run"),
}
SLUGS = ("one", "two", "tasks", "_preamble")
NAMES = ("api", "a", "b", "c", "run")
FOLDERS = ("specs", "free", "notes")
MOST_OPEN = 6
_WORD = re.compile(rb"\bw\d+\b")
_TYPE = re.compile(rb"---\n(?:.*\n)*?type: runbook\n(?:.*\n)*?---\n")


@dataclass
class Clone:
    """One clone, its tools, and the person who works there."""

    repo: Repo
    workspace: Workspace
    call: Callable[..., Answer]
    person: Actor


class Clones:
    """The clones, and the words that people have seen."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.there = repositories.bare(folder / "there.git", FILES)
        self.seen: set[bytes] = set()
        self.counts: Counter[str] = Counter()
        self.story: list[str] = []
        self._words = 0
        self._met: dict[str, int] = {}
        self._checked: set[str] = set()
        secret = ""
        self.clones: list[Clone] = []
        for number in range(3):
            path = folder / f"clone{number}"
            bare = ["--bare"] if number else []
            self.there.git("clone", "-q", *bare, str(self.there.path), str(path))
            repo = Repo(path)
            repo.git("config", "user.name", f"Server {number}")
            repo.git("config", "user.email", f"server{number}@example.org")
            workspace = Workspace.open(path, durable=False)
            tokens = Tokens(workspace.git.common_dir)
            if secret:
                tokens.trust(secret, "Bea", "bea@example.org")
            else:
                secret = tokens.add("bea", "Bea", "bea@example.org")
            author = Author("Bea", "bea@example.org", KnownBy.TOKEN, "bea")
            person = Actor(author, "proposals", "command line", tokens.person(secret))
            self.clones.append(Clone(repo, workspace, self._tools(workspace), person))

    def _tools(self, workspace: Workspace) -> Callable[..., Answer]:
        toolbox, seen_texts = Toolbox(workspace, SearchIndex(workspace), TOOLSETS, False), SeenTexts()

        def call(tool: str, /, **given: object) -> Answer:
            fields = {name: value for name, value in given.items() if value is not None}
            return toolbox.call(tool, fields, client="an agent", seen_texts=seen_texts)

        return call

    # The model

    def check(self) -> None:
        """Raise AssertionError if a protected path has a word that no person has seen."""
        for clone in self.clones:
            self._check(clone.workspace.snapshot())
        tip = self.there.git("rev-parse", "main").strip()
        holder = next((one for one in self.clones if one.workspace.git.has(tip)), None)
        assert holder is not None
        self._check(holder.workspace.snapshot(tip))

    def _check(self, snapshot: Snapshot) -> None:
        assert snapshot.commit is not None
        if snapshot.commit in self._checked:
            return
        for path, blob in snapshot.documents.items():
            text = snapshot.git.blob(blob)
            if path.startswith("specs/") or _TYPE.match(text):
                unseen = {*_WORD.findall(text)} - self.seen
                assert not unseen, "\n".join(
                    [f"{path} at {snapshot.commit} has {unseen}, which no person saw", *self.story[-60:]]
                )
        self._checked.add(snapshot.commit)

    def log_step(self, clone: Clone, text: str) -> None:
        """Record a step for the message of a failure."""
        self.story.append(f"{clone.repo.path.name}: {text}")

    # Actions of agents

    def word(self) -> str:
        """Return a word that no other write has."""
        self._words += 1
        return f"w{self._words}"

    def path(self, clone: Clone) -> str:
        """Return the path of a document, usually an existing one."""
        known = list(clone.workspace.snapshot().documents)
        if known and self.chance.random() < 0.9:
            return self.chance.choice(known)
        return f"{self.chance.choice(FOLDERS)}/{self.chance.choice(NAMES)}.md"

    def operation(self, clone: Clone) -> dict[str, Any]:
        """Return an operation that writes a new word, moves a document, or changes its type."""
        file, other, slug = self.path(clone), self.path(clone), self.chance.choice(SLUGS)
        word = f"Text {self.word()}.\n"
        new = f"{self.chance.choice(FOLDERS)}/{self.chance.choice(NAMES)}.md"
        return self.chance.choice(
            [
                {"operation": "append_content", "file": file, "slug": slug, "content": word},
                {"operation": "append_content", "file": file, "slug": slug, "content": word},
                {"operation": "update_content", "file": file, "slug": slug, "content": word},
                {"operation": "update_content", "file": file, "slug": slug, "content": word},
                {"operation": "add_section", "file": file, "title": f"More {word.strip()}", "content": word},
                {"operation": "add_task", "file": file, "slug": "tasks", "title": word.strip()},
                {"operation": "rename_section", "file": file, "slug": slug, "new_title": word.strip()},
                {"operation": "move_section", "file": file, "slug": slug, "to_file": other},
                {"operation": "move_document", "file": file, "new_path": new},
                {"operation": "move_document", "file": file, "new_path": new},
                {"operation": "set_metadata", "file": file, "metadata": {"type": "runbook"}},
                {"operation": "set_metadata", "file": file, "metadata": {"type": None, "owner": self.word()}},
                {"operation": "remove_document", "path": file},
            ]
        )

    def edit(self, clone: Clone) -> None:
        """Write directly, or to a proposal."""
        proposal = self.chance.choice([None, None, None, self.some(clone)])
        several = [self.operation(clone) for _ in range(self.chance.choice([1, 1, 2]))]
        self._call(clone, "edit_document", operations=several, proposal=proposal)

    def edit_freely(self, clone: Clone) -> None:
        """Write directly to an unprotected document, which a proposal may move."""
        documents = clone.workspace.snapshot().documents
        free = [path for path in documents if not path.startswith("specs/")]
        if free:
            operation = {"operation": "append_content", "file": self.chance.choice(free)}
            slug = self.chance.choice(SLUGS)
            self._call(clone, "edit_document", **operation, slug=slug, content=f"Text {self.word()}.\n")

    def other_writers(self, clone: Clone) -> None:
        """Write with one of the tools other than edit_document."""
        past = clone.repo.git("rev-list", "-n30", "main").split()
        commit, file = self.chance.choice(past), self.path(clone)
        folder = self.chance.choice(FOLDERS)
        writers: list[tuple[str, dict[str, Any]]] = [
            ("create_document", {"doc_type": "document", "title": f"New {self.word()}", "folder": folder}),
            ("tag_document", {"file": file, "tags": [self.word()]}),
            ("remove_document", {"path": file}),
            ("restore_document", {"file": file, "ref": commit}),
            ("restore_document", {"undo": commit}),
        ]
        tool, fields = self.chance.choice(writers)
        self._call(clone, tool, **fields)

    def propose(self, clone: Clone) -> None:
        """Make a change that needs a proposal, because it moves a document under a rule, and submit it."""
        documents = clone.workspace.snapshot().documents
        free = [path for path in documents if not path.startswith("specs/")]
        if not free or len(self.open_of(clone)) >= MOST_OPEN:
            self.close(clone)
            return
        file = self.chance.choice(free)
        new = f"specs/{self.chance.choice(NAMES)}{self.chance.randrange(9)}.md"
        operation = self.chance.choice(
            [
                {"operation": "move_document", "file": file, "new_path": new},
                {"operation": "move_document", "file": file, "new_path": new},
                {"operation": "set_metadata", "file": file, "metadata": {"type": "runbook"}},
            ]
        )
        answer = self._call(clone, "edit_document", **operation)
        if "proposal" in answer.data and not answer.is_error:
            self._call(clone, "update_proposal", proposal=answer.data["proposal"], action="submit")

    def refresh(self, clone: Clone) -> None:
        """Refresh a proposal, and resolve its conflicts for one side."""
        id = self.some(clone)
        answer = self._call(clone, "update_proposal", proposal=id, action="refresh")
        if answer.data.get("code") == "MERGE_CONFLICT":
            shown = clone.call("view_proposal", proposal=id).data
            names = ("file", "kind", "where", "part")
            resolutions = [
                {name: found[name] for name in names if name in found}
                | {"choice": self.chance.choice(["ours", "theirs"])}
                for found in shown.get("conflicts", ())
            ]
            seen = {"commit": shown.get("commit"), "target_commit": shown.get("target_commit")}
            fields = {"proposal": id, "action": "refresh", "resolutions": resolutions, **seen}
            self._call(clone, "update_proposal", **fields)

    def _call(self, clone: Clone, tool: str, **fields: object) -> Answer:
        answer = clone.call(tool, **fields)
        id = answer.data.get("proposal")
        if isinstance(id, str):
            self._met.setdefault(id, len(self._met))
        done = answer.data.get("code") or answer.data.get("proposal") or "done"
        self.log_step(clone, f"{tool} {fields}: {done}")
        self.counts[str(answer.data.get("code") or tool)] += 1
        return answer

    # Actions of people

    def open_of(self, clone: Clone) -> list[Proposal]:
        """Return the open proposals in the order in which the walk met them.

        Ids are random, and times have seconds: a walk of the same seed would differ in any other order.
        """
        found = [one for one in clone.workspace.proposal_actions().list_all() if one.is_open]
        return sorted(found, key=lambda one: self._met.get(one.id, 0))

    def some(self, clone: Clone) -> str:
        """Return the id of an open proposal, or an unknown id."""
        found = [one.id for one in self.open_of(clone)]
        return self.chance.choice(found) if found else "none"

    def close(self, clone: Clone) -> None:
        """Close a proposal."""
        self._call(clone, "update_proposal", proposal=self.some(clone), action="close")

    def approve(self, clone: Clone, id: str | None = None) -> None:
        """Approve a proposal at its tip, and record the words of its changes as seen."""
        id = id or self.some(clone)
        proposal_actions = clone.workspace.proposal_actions()
        try:
            proposal = proposal_actions.find(id)
            if proposal.state is ProposalState.DRAFT:
                proposal_actions.submit(id, clone.person)
            proposal = proposal_actions.review(id, clone.person, ReviewDecision.APPROVE).proposal
        except WorkspaceError as error:
            self.log_step(clone, f"approve {id}: {error.code}")
            return
        self.log_step(clone, f"approve {id} at {proposal.tip}")
        self.counts["approve"] += 1
        assert proposal.tip is not None
        snapshot = clone.workspace.snapshot(proposal.tip)
        for path in clone.workspace.proposal_reviews().changes(proposal).paths:
            blob = snapshot.documents.get(path)
            if blob is not None:
                self.seen.update(_WORD.findall(snapshot.git.blob(blob)))

    def merge(self, clone: Clone, id: str | None = None) -> None:
        """Merge a proposal as a person."""
        id = id or self.some(clone)
        try:
            clone.workspace.proposal_actions().merge(id, clone.person)
        except WorkspaceError as error:
            blocks = [block["code"] for block in error.details.get("blocks", ())]
            self.log_step(clone, f"merge {id}: {error.code} {blocks}")
            self.counts.update(blocks or [error.code])
            return
        self.log_step(clone, f"merge {id}")
        self.counts["merge"] += 1

    def review(self, clone: Clone) -> None:
        """Approve a proposal, sometimes write or synchronize in between, and merge it."""
        id = self.some(clone)
        self.approve(clone, id)
        if self.chance.random() < 0.5:
            self.chance.choice([self.edit_freely, self.edit_freely, self.edit, self.sync])(clone)
            self.check()
        self.merge(clone, id)

    def race(self, clone: Clone) -> None:
        """Move a document under a rule in another clone, and write to it here before a fetch."""
        other = self.chance.choice([one for one in self.clones if one is not clone])
        for one in (other, clone):
            self.sync(one)
        documents = other.workspace.snapshot().documents
        free = [path for path in documents if not path.startswith("specs/")]
        known = {one.id for one in self.open_of(other)}
        self.propose(other)
        for id in [one.id for one in self.open_of(other) if one.id not in known]:
            self.approve(other, id)
            self.merge(other, id)
        self.sync(other)
        moved = [path for path in free if path not in other.workspace.snapshot().documents]
        for file in moved or free[:1]:
            content = f"Text {self.word()}.\n"
            slug = self.chance.choice(SLUGS)
            operation = {"operation": "append_content", "file": file, "slug": slug, "content": content}
            self._call(clone, "edit_document", **operation)
        self.sync(clone)

    def sync(self, clone: Clone) -> None:
        """Synchronize; after a conflict, sometimes resolve it for one side or with new text."""
        choose = self._chooser({}) if self.chance.random() < 0.5 else None
        for _ in range(3):
            reviewed: dict[str, ResolutionChoice] = {}
            try:
                found = sync(clone.workspace, Access(), choose=choose)
            except WorkspaceError as error:
                unreviewed = error.details.get("unreviewed", ())
                for one in unreviewed:
                    reviewed[one["path"]] = (
                        ResolutionChoice.THEIRS if one["side"] == "ours" else ResolutionChoice.OURS
                    )
                outcome = f"{error.code} {unreviewed[0]['side'] if unreviewed else ''}".strip()
            else:
                outcome = "merged" if found.merged else found.state.value
            self.log_step(clone, f"sync, {'deciding' if choose else 'undecided'}: {outcome}")
            self.counts[f"sync {outcome}"] += 1
            if not reviewed or self.chance.random() < 0.5:
                break
            choose = self._chooser(reviewed)

    def _chooser(
        self, reviewed: Mapping[str, ResolutionChoice]
    ) -> Callable[[Sequence[FileConflict]], Resolutions]:
        """Return a function that selects the reviewed side of files, else one side or a random one."""
        side = self.chance.choice([ResolutionChoice.OURS, ResolutionChoice.THEIRS, None])

        def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
            found: dict[str, dict[UnitId, Resolution]] = {}
            for path, conflict in conflicts:
                choice = reviewed.get(path) or side or self.chance.choice([*ResolutionChoice])
                content = f"Text {self.word()}.\n".encode() if choice is ResolutionChoice.CONTENT else None
                found.setdefault(path, {})[conflict.unit] = Resolution(choice, content)
            return found

        return choose

    def step(self) -> None:
        """Run a random action in a random clone, and check the promise."""
        acts: list[Callable[[Clone], None]] = [
            self.edit,
            self.edit_freely,
            self.other_writers,
            self.propose,
            self.refresh,
            self.approve,
            self.merge,
            self.review,
            self.close,
            self.sync,
            self.race,
        ]
        [act] = self.chance.choices(acts, [8, 6, 3, 6, 2, 2, 2, 6, 1, 5, 2])
        act(self.chance.choice(self.clones))
        self.check()
