"""Three clones of one remote: agents write, people review, and all synchronize, in random order.

Every text that an agent writes has a unique word. A person who approves a proposal sees the words of the
documents that the proposal changes. The check is independent of the implementation: no protected path of any
clone's branch, or of the remote's, has a word that no person has seen.
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
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from tools.toolsets import TOOLSETS
from workspace.errors import WorkspaceError
from workspace.git.remotes.credentials import Access
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitId
from workspace.merge.trees import FileConflict, Resolutions
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource, ReviewDecision
from workspace.proposals.proposal import Proposal, ProposalState
from workspace.snapshot.snapshot import Snapshot
from workspace.sync.sync import sync
from workspace.workspace import Workspace
from workspace.writing.read_before_write import SeenTexts

RULES = (
    'overwrite = "any"\n[[protect]]\npaths = ["specs/**"]\nchecks = []\n'
    '[[protect]]\ntypes = ["runbook"]\nchecks = []\n'
)
PAGE_TEMPLATE = "# {}\n\nIntroduction.\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n\n## Tasks\n\n- [ ] Begin\n"
FILES: Mapping[str, str] = {
    "docyard.toml": RULES,
    "specs/api.md": PAGE_TEMPLATE.format("API"),
    "free/a.md": PAGE_TEMPLATE.format("A"),
    "free/b.md": PAGE_TEMPLATE.format("B"),
    "notes/run.md": "---\ntype: runbook\n---\n\n" + PAGE_TEMPLATE.format("Run"),
}
SLUGS = ("one", "two", "tasks", "_preamble")
DOCUMENT_NAMES = ("api", "a", "b", "c", "run")
FOLDERS = ("specs", "free", "notes")
MAX_OPEN_PROPOSALS = 6
_UNIQUE_WORD = re.compile(rb"\bw\d+\b")
_RUNBOOK_TYPE = re.compile(rb"---\n(?:.*\n)*?type: runbook\n(?:.*\n)*?---\n")


@dataclass
class Clone:
    """A clone, its tools, and the person who works in it."""

    repo: Repo
    workspace: Workspace
    call: Callable[..., Answer]
    person: Actor


class Clones:
    """The clones and their remote, the random actions, and the words that people have seen."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.remote = repositories.create_bare_repository(folder / "remote.git", FILES)
        self.seen_words: set[bytes] = set()
        self.counts: Counter[str] = Counter()
        self.steps: list[str] = []
        self._word_count = 0
        self._proposal_order: dict[str, int] = {}
        self._checked_commits: set[str] = set()
        secret = ""
        self.clones: list[Clone] = []
        for number in range(3):
            path = folder / f"clone{number}"
            bare_option = ["--bare"] if number else []
            self.remote.git("clone", "-q", *bare_option, str(self.remote.path), str(path))
            repo = Repo(path)
            repo.git("config", "user.name", f"Server {number}")
            repo.git("config", "user.email", f"server{number}@example.org")
            workspace = Workspace.open(path, durable=False)
            tokens = Tokens(workspace.git.common_dir)
            if secret:
                tokens.trust(secret, "Bea", "bea@example.org")
            else:
                secret = tokens.add("bea", "Bea", "bea@example.org")
            author = Author("Bea", "bea@example.org", IdentitySource.TOKEN, "bea")
            person = Actor(author, "proposals", "command line", tokens.person(secret))
            self.clones.append(Clone(repo, workspace, self._build_tools(workspace), person))

    def _build_tools(self, workspace: Workspace) -> Callable[..., Answer]:
        dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False)
        seen_texts = SeenTexts()

        def call(tool: str, /, **arguments: object) -> Answer:
            fields = {name: value for name, value in arguments.items() if value is not None}
            return dispatcher.call(tool, fields, client="an agent", seen_texts=seen_texts)

        return call

    # Check

    def check(self) -> None:
        """Raise AssertionError if a protected document contains a word that no person has seen."""
        for clone in self.clones:
            self._check_snapshot(clone.workspace.snapshot())
        tip = self.remote.git("rev-parse", "main").strip()
        clone_with_tip = next((clone for clone in self.clones if clone.workspace.git.has_object(tip)), None)
        assert clone_with_tip is not None
        self._check_snapshot(clone_with_tip.workspace.snapshot(tip))

    def _check_snapshot(self, snapshot: Snapshot) -> None:
        assert snapshot.commit is not None
        if snapshot.commit in self._checked_commits:
            return
        for path, blob in snapshot.documents.items():
            text = snapshot.git.blob(blob)
            if path.startswith("specs/") or _RUNBOOK_TYPE.match(text):
                unseen_words = {*_UNIQUE_WORD.findall(text)} - self.seen_words
                assert not unseen_words, "\n".join(
                    [
                        f"{path} at {snapshot.commit} has {unseen_words}, which no person saw",
                        *self.steps[-60:],
                    ]
                )
        self._checked_commits.add(snapshot.commit)

    def log_step(self, clone: Clone, text: str) -> None:
        """Record a step for the message of a failed assertion."""
        self.steps.append(f"{clone.repo.path.name}: {text}")

    # Actions of agents

    def create_word(self) -> str:
        """Return a word that no other write has."""
        self._word_count += 1
        return f"w{self._word_count}"

    def choose_path(self, clone: Clone) -> str:
        """Return the path of a document, usually of an existing document."""
        paths = list(clone.workspace.snapshot().documents)
        if paths and self.rng.random() < 0.9:
            return self.rng.choice(paths)
        return f"{self.rng.choice(FOLDERS)}/{self.rng.choice(DOCUMENT_NAMES)}.md"

    def choose_operation(self, clone: Clone) -> dict[str, Any]:
        """Return a random operation; each text that it writes has a new word."""
        file, other_file, slug = self.choose_path(clone), self.choose_path(clone), self.rng.choice(SLUGS)
        word = f"Text {self.create_word()}.\n"
        new_path = f"{self.rng.choice(FOLDERS)}/{self.rng.choice(DOCUMENT_NAMES)}.md"
        return self.rng.choice(
            [
                {"operation": "append_content", "file": file, "slug": slug, "content": word},
                {"operation": "append_content", "file": file, "slug": slug, "content": word},
                {"operation": "update_content", "file": file, "slug": slug, "content": word},
                {"operation": "update_content", "file": file, "slug": slug, "content": word},
                {"operation": "add_section", "file": file, "title": f"More {word.strip()}", "content": word},
                {"operation": "add_task", "file": file, "slug": "tasks", "title": word.strip()},
                {"operation": "rename_section", "file": file, "slug": slug, "new_title": word.strip()},
                {"operation": "move_section", "file": file, "slug": slug, "to_file": other_file},
                {"operation": "move_document", "file": file, "new_path": new_path},
                {"operation": "move_document", "file": file, "new_path": new_path},
                {"operation": "set_metadata", "file": file, "metadata": {"type": "runbook"}},
                {
                    "operation": "set_metadata",
                    "file": file,
                    "metadata": {"type": None, "owner": self.create_word()},
                },
                {"operation": "remove_document", "path": file},
            ]
        )

    def edit(self, clone: Clone) -> None:
        """Run one or two operations in a call, directly or in a proposal."""
        proposal = self.rng.choice([None, None, None, self.choose_proposal_id(clone)])
        operations = [self.choose_operation(clone) for _ in range(self.rng.choice([1, 1, 2]))]
        self._call(clone, "edit_document", operations=operations, proposal=proposal)

    def edit_outside_specs(self, clone: Clone) -> None:
        """Write directly to a document outside `specs/`, which a proposal may move to `specs/`."""
        documents = clone.workspace.snapshot().documents
        paths_outside_specs = [path for path in documents if not path.startswith("specs/")]
        if paths_outside_specs:
            operation = {"operation": "append_content", "file": self.rng.choice(paths_outside_specs)}
            slug = self.rng.choice(SLUGS)
            self._call(
                clone, "edit_document", **operation, slug=slug, content=f"Text {self.create_word()}.\n"
            )

    def write_with_other_tool(self, clone: Clone) -> None:
        """Write with one of the tools other than edit_document."""
        commits = clone.repo.git("rev-list", "-n30", "main").split()
        commit, file = self.rng.choice(commits), self.choose_path(clone)
        folder = self.rng.choice(FOLDERS)
        tool_calls: list[tuple[str, dict[str, Any]]] = [
            (
                "create_document",
                {"doc_type": "document", "title": f"New {self.create_word()}", "folder": folder},
            ),
            ("tag_document", {"file": file, "tags": [self.create_word()]}),
            ("remove_document", {"path": file}),
            ("restore_document", {"file": file, "ref": commit}),
            ("restore_document", {"undo": commit}),
        ]
        tool, fields = self.rng.choice(tool_calls)
        self._call(clone, tool, **fields)

    def propose(self, clone: Clone) -> None:
        """Move a document to a protected path, or give it a protected type; submit the new proposal.

        If too many proposals are open, or if all documents are in `specs/`, close a proposal instead.
        """
        documents = clone.workspace.snapshot().documents
        paths_outside_specs = [path for path in documents if not path.startswith("specs/")]
        if not paths_outside_specs or len(self.list_open_proposals(clone)) >= MAX_OPEN_PROPOSALS:
            self.close(clone)
            return
        file = self.rng.choice(paths_outside_specs)
        new_path = f"specs/{self.rng.choice(DOCUMENT_NAMES)}{self.rng.randrange(9)}.md"
        operation = self.rng.choice(
            [
                {"operation": "move_document", "file": file, "new_path": new_path},
                {"operation": "move_document", "file": file, "new_path": new_path},
                {"operation": "set_metadata", "file": file, "metadata": {"type": "runbook"}},
            ]
        )
        response = self._call(clone, "edit_document", **operation)
        if "proposal" in response.data and not response.is_error:
            self._call(clone, "update_proposal", proposal=response.data["proposal"], action="submit")

    def refresh(self, clone: Clone) -> None:
        """Refresh a proposal, and resolve each of its conflicts with a random side."""
        id = self.choose_proposal_id(clone)
        response = self._call(clone, "update_proposal", proposal=id, action="refresh")
        if response.data.get("code") == "MERGE_CONFLICT":
            view = clone.call("view_proposal", proposal=id).data
            field_names = ("file", "kind", "where", "part")
            resolutions = [
                {name: conflict[name] for name in field_names if name in conflict}
                | {"choice": self.rng.choice(["ours", "theirs"])}
                for conflict in view.get("conflicts", ())
            ]
            commits = {"commit": view.get("commit"), "target_commit": view.get("target_commit")}
            fields = {"proposal": id, "action": "refresh", "resolutions": resolutions, **commits}
            self._call(clone, "update_proposal", **fields)

    def _call(self, clone: Clone, tool: str, **fields: object) -> Answer:
        response = clone.call(tool, **fields)
        id = response.data.get("proposal")
        if isinstance(id, str):
            self._proposal_order.setdefault(id, len(self._proposal_order))
        outcome = response.data.get("code") or response.data.get("proposal") or "done"
        self.log_step(clone, f"{tool} {fields}: {outcome}")
        self.counts[str(response.data.get("code") or tool)] += 1
        return response

    # Actions of people

    def list_open_proposals(self, clone: Clone) -> list[Proposal]:
        """Return the open proposals in the order of their first use by the walk.

        In any other order, walks of the same seed would differ, because ids are random.
        """
        proposals = [
            proposal for proposal in clone.workspace.proposal_actions().list_all() if proposal.is_open
        ]
        return sorted(proposals, key=lambda proposal: self._proposal_order.get(proposal.id, 0))

    def choose_proposal_id(self, clone: Clone) -> str:
        """Return the id of an open proposal, or an unknown id."""
        ids = [proposal.id for proposal in self.list_open_proposals(clone)]
        return self.rng.choice(ids) if ids else "none"

    def close(self, clone: Clone) -> None:
        """Close a random proposal."""
        self._call(clone, "update_proposal", proposal=self.choose_proposal_id(clone), action="close")

    def approve(self, clone: Clone, id: str | None = None) -> None:
        """Approve a proposal at its tip, and record the words of the documents that it changes as seen."""
        id = id or self.choose_proposal_id(clone)
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
                self.seen_words.update(_UNIQUE_WORD.findall(snapshot.git.blob(blob)))

    def merge(self, clone: Clone, id: str | None = None) -> None:
        """Merge a proposal as a person."""
        id = id or self.choose_proposal_id(clone)
        try:
            clone.workspace.proposal_actions().merge(id, clone.person)
        except WorkspaceError as error:
            blockers = [blocker["code"] for blocker in error.details.get("blocks", ())]
            self.log_step(clone, f"merge {id}: {error.code} {blockers}")
            self.counts.update(blockers or [error.code])
            return
        self.log_step(clone, f"merge {id}")
        self.counts["merge"] += 1

    def approve_and_merge(self, clone: Clone) -> None:
        """Approve a proposal, sometimes write or synchronize in between, and merge it."""
        id = self.choose_proposal_id(clone)
        self.approve(clone, id)
        if self.rng.random() < 0.5:
            self.rng.choice([self.edit_outside_specs, self.edit_outside_specs, self.edit, self.sync])(clone)
            self.check()
        self.merge(clone, id)

    def race(self, clone: Clone) -> None:
        """Protect a document in another clone, and write to the document in `clone` before its next fetch."""
        other_clone = self.rng.choice([candidate for candidate in self.clones if candidate is not clone])
        for racer in (other_clone, clone):
            self.sync(racer)
        documents = other_clone.workspace.snapshot().documents
        paths_outside_specs = [path for path in documents if not path.startswith("specs/")]
        old_ids = {proposal.id for proposal in self.list_open_proposals(other_clone)}
        self.propose(other_clone)
        for id in [
            proposal.id for proposal in self.list_open_proposals(other_clone) if proposal.id not in old_ids
        ]:
            self.approve(other_clone, id)
            self.merge(other_clone, id)
        self.sync(other_clone)
        moved_files = [
            path for path in paths_outside_specs if path not in other_clone.workspace.snapshot().documents
        ]
        for file in moved_files or paths_outside_specs[:1]:
            content = f"Text {self.create_word()}.\n"
            slug = self.rng.choice(SLUGS)
            operation = {"operation": "append_content", "file": file, "slug": slug, "content": content}
            self._call(clone, "edit_document", **operation)
        self.sync(clone)

    def sync(self, clone: Clone) -> None:
        """Synchronize; sometimes resolve conflicts, with one side or with new text."""
        choose = self._build_chooser({}) if self.rng.random() < 0.5 else None
        for _ in range(3):
            reviewed_sides: dict[str, ResolutionChoice] = {}
            try:
                result = sync(clone.workspace, Access(), choose=choose)
            except WorkspaceError as error:
                unreviewed = error.details.get("unreviewed", ())
                for change in unreviewed:
                    reviewed_sides[change["path"]] = (
                        ResolutionChoice.THEIRS if change["side"] == "ours" else ResolutionChoice.OURS
                    )
                outcome = f"{error.code} {unreviewed[0]['side'] if unreviewed else ''}".strip()
            else:
                outcome = "merged" if result.merge_commit else result.state.value
            self.log_step(clone, f"sync {'with' if choose else 'without'} resolutions: {outcome}")
            self.counts[f"sync {outcome}"] += 1
            if not reviewed_sides or self.rng.random() < 0.5:
                break
            choose = self._build_chooser(reviewed_sides)

    def _build_chooser(
        self, reviewed_sides: Mapping[str, ResolutionChoice]
    ) -> Callable[[Sequence[FileConflict]], Resolutions]:
        """Return a function that selects the reviewed side of a file, or else a fixed or random side."""
        side = self.rng.choice([ResolutionChoice.OURS, ResolutionChoice.THEIRS, None])

        def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
            resolutions: dict[str, dict[UnitId, Resolution]] = {}
            for path, conflict in conflicts:
                choice = reviewed_sides.get(path) or side or self.rng.choice([*ResolutionChoice])
                content = (
                    f"Text {self.create_word()}.\n".encode() if choice is ResolutionChoice.CONTENT else None
                )
                resolutions.setdefault(path, {})[conflict.unit] = Resolution(choice, content)
            return resolutions

        return choose

    def step(self) -> None:
        """Run a random action in a random clone, and check the protected paths."""
        actions: list[Callable[[Clone], None]] = [
            self.edit,
            self.edit_outside_specs,
            self.write_with_other_tool,
            self.propose,
            self.refresh,
            self.approve,
            self.merge,
            self.approve_and_merge,
            self.close,
            self.sync,
            self.race,
        ]
        [action] = self.rng.choices(actions, [8, 6, 3, 6, 2, 2, 2, 6, 1, 5, 2])
        action(self.rng.choice(self.clones))
        self.check()
