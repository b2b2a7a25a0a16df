"""A random walk of agents, people and forgers who try to bypass the review gate, also concurrently."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.acceptance.gate.attempts import ATTEMPTS
from tests.acceptance.gate.world import LAX, NONE, PEOPLE, RULES, STRICT, World
from tests.repositories import NAME
from workspace.errors import WorkspaceError
from workspace.policy.tokens import Person
from workspace.proposals.actions.repository import Actor
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, KnownBy, Opened, ReviewDecision, Reviewed
from workspace.workspace import Workspace

ACTIONS = ["submit", "refresh", "approve", "merge", "merge", "request_changes", "comment", "close", "reopen"]
COMMANDS = (("fix",), ("fix", "--anchors"), ("fix", "-m", "Mend"), ("init",), ("sync",), ("index", "rebuild"))
SLUGS = ("calls", "begin", "tasks", "_preamble", "more")
AGENT = Author(NAME, "ada@example.org", KnownBy.CLIENT, "an agent")


class Walk(World):
    """Agents and people with random actions."""

    # Tools

    def edit(self) -> None:
        """Make one operation, or a batch, directly or in a proposal."""
        proposal = self._maybe(self.some())
        common: dict[str, Any] = {
            "proposal": proposal,
            "dry_run": self.chance.choice([None, None, None, None, True]),
        }
        if self.chance.random() < 0.7:
            self.call("edit_document", **self.operation(), **common)
            return
        several = [self.operation() for _ in range(self.chance.randint(2, 4))]
        self.call("edit_document", operations=several, mode=self.chance.choice(["each", "all"]), **common)

    def operation(self) -> dict[str, Any]:
        """Return an operation whose fields are often valid."""
        file, other, slug = self.path(), self.path(), self.chance.choice(SLUGS)
        word = f"Word {self.chance.randrange(10**6)}."
        folder = self.chance.choice(["specs", "notes", "specs/deep"])
        return self.chance.choice(
            [
                {"operation": "update_content", "file": file, "slug": slug, "content": word},
                {"operation": "append_content", "file": file, "slug": slug, "content": word},
                {"operation": "add_section", "file": file, "title": "More", "content": word},
                {"operation": "add_task", "file": file, "slug": "tasks", "title": word},
                {"operation": "update_task", "file": file, "slug": "tasks[0]", "note": word},
                {"operation": "rename_section", "file": file, "slug": slug, "new_title": word},
                {"operation": "move_section", "file": file, "slug": slug, "to_file": other},
                {"operation": "replace_text", "file": file, "old": "Here", "new": "There"},
                {"operation": "set_metadata", "file": file, "metadata": {"type": "runbook"}},
                {"operation": "set_metadata", "file": file, "metadata": {"type": None, "owner": word}},
                {"operation": "move_document", "file": file, "new_path": f"{folder}/{Path(file).name}"},
                {"operation": "move_document", "file": file, "new_path": "docyard.toml"},
                {"operation": "remove_document", "path": file},
            ]
        )

    def other_writers(self) -> None:
        """Write with one of the tools other than edit_document."""
        file, proposal = self.path(), self._maybe(self.some())
        past = self.repo.git("rev-list", "--all", "--not", f"{self.model.started}^@").split()
        commit, number = self.chance.choice(past), self.chance.randrange(10**6)
        folder = self.chance.choice(["specs", "notes", ".docyard/templates", "."])
        kind = self.chance.choice(["runbook", "document", "api_spec"])
        writers: list[tuple[str, dict[str, Any]]] = [
            ("create_document", {"doc_type": kind, "title": f"New {number}", "folder": folder}),
            ("remove_document", {"path": file}),
            ("remove_document", {"file": file, "slug": self.chance.choice(SLUGS)}),
            ("tag_document", {"file": file, "tags": [f"t{number}"]}),
            ("complete_task", {"file": file, "slug": "tasks[0]"}),
            ("restore_document", {"file": file, "ref": commit}),
            ("restore_document", {"undo": commit}),
            ("restore_document", {"undo": commit, "partial": True}),
        ]
        tool, fields = self.chance.choice(writers)
        message = self.chance.choice([None, f"Words\n\nDocyard-Proposal: {proposal}"])
        self.call(tool, proposal=proposal, message=message, **fields)

    def agent_on_proposal(self) -> None:
        """Run a random action of an agent on a proposal, permitted or not."""
        if self.chance.random() < 0.2:
            self.call("create_proposal", title=f"P {self.chance.randrange(10**6)}", description="Why.")
            return
        action = self.chance.choice(ACTIONS)
        words = "Words." if action in ("comment", "request_changes") else None
        self.call("update_proposal", proposal=self.some(), action=action, text=words)

    # People

    def commands(self) -> None:
        """Run a command that may write to the served branch."""
        self.run(*self.chance.choice(COMMANDS))

    def approve(self, id: str | None = None, by: str | None = None) -> None:
        """Approve a proposal at its tip as a person."""
        id, by = id or self.some(), by or self.chance.choice(PEOPLE)
        tip = self.tip(id)
        if tip is None:
            return
        if self.run("proposals", "approve", id, "--commit", tip, by=by) == 0:
            self.model.approved.add((id, tip, by))

    def merge(self, id: str | None = None, by: str | None = None) -> int:
        """Merge a proposal, with or without a token."""
        id, by = id or self.some(), by or self.chance.choice([*PEOPLE, None])
        if by:
            self.model.merging.add((id, by))
        return self.run("proposals", "merge", id, by=by)

    def change_their_mind(self) -> None:
        """Request changes, or replace a token; either makes earlier approvals of the person void."""
        by, id = self.chance.choice(PEOPLE), self.some()
        if self.chance.random() < 0.7:
            if self.run("proposals", "request-changes", id, "-m", "No.", by=by) == 0:
                self.model.approved = {one for one in self.model.approved if (one[0], one[2]) != (id, by)}
            return
        self.tokens.revoke(by)
        self.secrets[by] = self.token(by)
        self.model.approved = {one for one in self.model.approved if one[2] != by}

    def commands_on_proposal(self) -> None:
        """Run another command on a proposal, or create one with or without a token."""
        by = self.chance.choice([*PEOPLE, None])
        action = self.chance.choice(["refresh", "submit", "close", "reopen", "create"])
        if action == "create":
            self.open(by)
            return
        self.run("proposals", action, self.some(), by=by)

    def open(self, by: str | None) -> str:
        """Create a proposal as a person and return its id."""
        before = {one.id for one in self.all()}
        assert self.run("proposals", "create", "By hand", "-d", "Why.", by=by) == 0
        [new] = {one.id for one in self.all()} - before
        self.model.openers[new] = f"{by or 'ada'}@example.org"
        return new

    def attempt(self) -> None:
        """Try one of the known ways to bypass the gate."""
        by, merges = self.chance.sample(PEOPLE, 2)
        self.chance.choice(ATTEMPTS)(self, by, merges)

    def commit_to_proposal(self) -> None:
        """Commit to a proposal's branch with the git program: on its tip, or on main instead."""
        path, text = self.chance.choice(
            [
                ("docyard.toml", self.chance.choice([RULES, LAX, STRICT, NONE])),
                ("specs/api.md", f"# API\n\n## Calls\n\nBy hand {self.chance.randrange(10**6)}.\n"),
                ("free.md", f"# Free\n\n## Calls\n\nBy hand {self.chance.randrange(10**6)}.\n"),
                (".taxonomy.toml", f'[metadata]\nowner = "o{self.chance.randrange(10**6)}"\n'),
            ]
        )
        base = self.chance.choice([None, None, "refs/heads/main"])
        self.commit_with_git(self.some(), self.chance.choice(PEOPLE), path, text, base=base)

    def commit_with_git(
        self, id: str, by: str, path: str, text: str, *, base: str | None = None, amends: bool = False
    ) -> None:
        """Commit a file on a proposal's tip, on `base`, or in place of the tip.

        An amended commit has the author and the message of the old one, with Docyard's trailers.
        """
        proposal = self.one(id)
        if proposal is None or proposal.tip is None:
            return
        branch, committer = f"refs/heads/{proposal.content.branch}", f"{by} <{by}@example.org>"
        author, time, words = self.repo.git("log", "-1", "--format=%an <%ae>%n%at%n%B", branch).split("\n", 2)
        if not amends:
            author, words = committer, "Hand"
        lines = [
            f"commit {branch}",
            f"author {author} {time} +0000",
            f"committer {committer} {int(time) + 1} +0000",
        ]
        lines += [f"data {len(words.encode())}", words, f"from {base or branch}{'^' if amends else '^0'}"]
        lines += [f"M 100644 inline {path}", f"data {len(text.encode())}", text, ""]
        command = ["git", "fast-import", "--quiet", "--force"]
        subprocess.run(command, cwd=self.repo.path, input="\n".join(lines), text=True, check=True)
        self.model.committers[self.repo.git("rev-parse", branch).strip()] = f"{by}@example.org"
        self.model.log_step(f"{by} wrote {path} to {id} by hand, on {base or branch}")

    def forge(self) -> None:
        """Append an event in another person's name, without a seal or with a copied one."""
        proposal, other = self.one(self.some()), self.one(self.some())
        if proposal is None or other is None or proposal.tip is None:
            return
        by = self.chance.choice(PEOPLE)
        token = Author(by.title(), f"{by}@example.org", KnownBy.TOKEN, by)
        events = EventLog(self.workspace.git).read().events_of(other.id).events
        seals = [one.body.seal for one in events if isinstance(one.body, Reviewed)]
        seal = self.chance.choice([None, "0" * 96, *seals])
        approval = Reviewed(ReviewDecision.APPROVE, "", proposal.tip, seal)
        opened = Opened("To main", "", "main", self.chance.choice(["main", other.content.branch]), None)
        words = approval if self.chance.random() < 0.75 else opened
        try:
            EventLog(self.workspace.git).append(proposal.id, [words], token, tool="forger", client="forger")
        except WorkspaceError as error:
            self.model.log_step(f"forged, refused: {error.code}")
        self.model.log_step(f"forged {words.kind} of {proposal.id} in the name of {by}")

    # At once

    def race(self) -> None:
        """Run two actions on one proposal concurrently, each in its own workspace."""
        id = self.some()
        tip, by = self.tip(id), self.chance.choice(PEOPLE)
        person = next(one for one in self.tokens.list() if one.token == by)
        first, second = self.operation(), self.operation()
        acts: list[Callable[[], object]] = self.chance.sample(
            [
                lambda: self._merge(id, person),
                lambda: self._approve(id, tip, person),
                lambda: self.boxes[0]("edit_document", **first, proposal=id),
                lambda: self.boxes[1]("edit_document", **second),
                lambda: self._refresh(id),
            ],
            2,
        )
        self.model.merging.add((id, by))
        failed: list[BaseException] = []

        def act(one: Callable[[], object]) -> None:
            try:
                one()
            except WorkspaceError:
                pass
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=act, args=(one,)) for one in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed
        self.model.log_step(f"{by} and others at once on {id}")

    def _actor(self, person: Person | None) -> Actor:
        return Actor(AGENT, "race", "race", person)

    def _merge(self, id: str, person: Person) -> None:
        Workspace.open(self.repo.path, durable=False).proposal_actions().merge(id, self._actor(person))

    def _approve(self, id: str, tip: str | None, person: Person) -> None:
        if tip is None:
            return
        proposal_actions = Workspace.open(self.repo.path, durable=False).proposal_actions()
        proposal_actions.review(id, self._actor(person), ReviewDecision.APPROVE, commit=tip)
        self.model.approved.add((id, tip, person.token))

    def _refresh(self, id: str) -> None:
        Workspace.open(self.repo.path, durable=False).proposal_actions().refresh(id, self._actor(None))

    def _maybe(self, value: str) -> str | None:
        return self.chance.choice([value, None])

    def step(self) -> None:
        """Run a random action, and check the history."""
        acts: list[Callable[[], object]] = [
            self.edit,
            self.other_writers,
            self.agent_on_proposal,
            self.commands,
            self.approve,
            self.merge,
            self.through,
            self.change_their_mind,
            self.commands_on_proposal,
            self.commit_to_proposal,
            self.forge,
            self.race,
            self.attempt,
        ]
        [act] = self.chance.choices(acts, [6, 4, 4, 1, 4, 3, 3, 1, 1, 3, 2, 2, 2])
        act()
        self.model.check()

    def through(self) -> None:
        """Approve a proposal by all people, sometimes change it, and merge it."""
        id = self.some()
        for by in PEOPLE:
            self.approve(id, by)
        if self.chance.random() < 0.5:
            self.chance.choice([self.commit_to_proposal, self.forge, self.change_their_mind, self.edit])()
            self.model.check()
        self.merge(id, self.chance.choice(PEOPLE))
