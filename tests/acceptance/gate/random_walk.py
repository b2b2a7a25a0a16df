"""A random walk: agents, people and forgers try to bypass the review gate, also concurrently."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.acceptance.gate.attempts import ATTEMPTS
from tests.acceptance.gate.gate_setup import (
    NO_RULES,
    PEOPLE,
    RULES,
    RULES_FOR_ALL_PATHS,
    RULES_WITHOUT_APPROVAL,
    GateSetup,
)
from tests.repositories import NAME
from workspace.errors import WorkspaceError
from workspace.policy.tokens import Person
from workspace.proposals.actions.repository import Actor
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, IdentitySource, Opened, ReviewDecision, Reviewed
from workspace.workspace import Workspace

PROPOSAL_ACTIONS = [
    "submit",
    "refresh",
    "approve",
    "merge",
    "merge",
    "request_changes",
    "comment",
    "close",
    "reopen",
]
WRITING_COMMANDS = (
    ("fix",),
    ("fix", "--anchors"),
    ("fix", "-m", "Fix"),
    ("init",),
    ("sync",),
    ("index", "rebuild"),
)
SLUGS = ("calls", "begin", "tasks", "_preamble", "more")
AGENT_AUTHOR = Author(NAME, "ada@example.org", IdentitySource.CLIENT, "an agent")


class Walk(GateSetup):
    """A walk of random actions by agents and people."""

    # Tools

    def edit(self) -> None:
        """Run an operation or a batch, directly or in a proposal, sometimes as a dry run."""
        proposal = self._choose_or_none(self.choose_proposal_id())
        common_fields: dict[str, Any] = {
            "proposal": proposal,
            "dry_run": self.rng.choice([None, None, None, None, True]),
        }
        if self.rng.random() < 0.7:
            self.call("edit_document", **self.choose_operation(), **common_fields)
            return
        operations = [self.choose_operation() for _ in range(self.rng.randint(2, 4))]
        self.call(
            "edit_document", operations=operations, mode=self.rng.choice(["each", "all"]), **common_fields
        )

    def choose_operation(self) -> dict[str, Any]:
        """Return an operation whose fields are often valid."""
        file, other_file, slug = self.choose_path(), self.choose_path(), self.rng.choice(SLUGS)
        word = f"Word {self.rng.randrange(10**6)}."
        folder = self.rng.choice(["specs", "notes", "specs/deep"])
        return self.rng.choice(
            [
                {"operation": "update_content", "file": file, "slug": slug, "content": word},
                {"operation": "append_content", "file": file, "slug": slug, "content": word},
                {"operation": "add_section", "file": file, "title": "More", "content": word},
                {"operation": "add_task", "file": file, "slug": "tasks", "title": word},
                {"operation": "update_task", "file": file, "slug": "tasks[0]", "note": word},
                {"operation": "rename_section", "file": file, "slug": slug, "new_title": word},
                {"operation": "move_section", "file": file, "slug": slug, "to_file": other_file},
                {"operation": "replace_text", "file": file, "old": "Here", "new": "There"},
                {"operation": "set_metadata", "file": file, "metadata": {"type": "runbook"}},
                {"operation": "set_metadata", "file": file, "metadata": {"type": None, "owner": word}},
                {"operation": "move_document", "file": file, "new_path": f"{folder}/{Path(file).name}"},
                {"operation": "move_document", "file": file, "new_path": "docyard.toml"},
                {"operation": "remove_document", "path": file},
            ]
        )

    def write_with_other_tool(self) -> None:
        """Write with one of the tools other than edit_document."""
        file, proposal = self.choose_path(), self._choose_or_none(self.choose_proposal_id())
        commits = self.repo.git("rev-list", "--all", "--not", f"{self.model.first_commit}^@").split()
        commit, number = self.rng.choice(commits), self.rng.randrange(10**6)
        folder = self.rng.choice(["specs", "notes", ".docyard/templates", "."])
        doc_type = self.rng.choice(["runbook", "document", "api_spec"])
        tool_calls: list[tuple[str, dict[str, Any]]] = [
            ("create_document", {"doc_type": doc_type, "title": f"New {number}", "folder": folder}),
            ("remove_document", {"path": file}),
            ("remove_document", {"file": file, "slug": self.rng.choice(SLUGS)}),
            ("tag_document", {"file": file, "tags": [f"t{number}"]}),
            ("complete_task", {"file": file, "slug": "tasks[0]"}),
            ("restore_document", {"file": file, "ref": commit}),
            ("restore_document", {"undo": commit}),
            ("restore_document", {"undo": commit, "mode": "each"}),
        ]
        tool, fields = self.rng.choice(tool_calls)
        message = self.rng.choice([None, f"Words\n\nDocyard-Proposal: {proposal}"])
        self.call(tool, proposal=proposal, message=message, **fields)

    def act_on_proposal_as_agent(self) -> None:
        """Run a random action of an agent on a proposal, permitted or not, or create a proposal."""
        if self.rng.random() < 0.2:
            self.call("create_proposal", title=f"P {self.rng.randrange(10**6)}", description="Why.")
            return
        action = self.rng.choice(PROPOSAL_ACTIONS)
        text = "Words." if action in ("comment", "request_changes") else None
        self.call("update_proposal", proposal=self.choose_proposal_id(), action=action, text=text)

    # People

    def run_command(self) -> None:
        """Run a command that may write to the served branch."""
        self.run(*self.rng.choice(WRITING_COMMANDS))

    def approve(self, id: str | None = None, person_name: str | None = None) -> None:
        """Approve a proposal at its tip as a person."""
        id, person_name = id or self.choose_proposal_id(), person_name or self.rng.choice(PEOPLE)
        tip = self.get_tip(id)
        if tip is None:
            return
        if self.run("proposals", "approve", id, "--commit", tip, by=person_name) == 0:
            self.model.approvals.add((id, tip, person_name))

    def merge(self, id: str | None = None, person_name: str | None = None) -> int:
        """Merge a proposal, with or without a token."""
        id, person_name = id or self.choose_proposal_id(), person_name or self.rng.choice([*PEOPLE, None])
        if person_name:
            self.model.merge_attempts.add((id, person_name))
        return self.run("proposals", "merge", id, by=person_name)

    def void_approvals(self) -> None:
        """Request changes of a proposal, or replace a token; this voids earlier approvals of the person."""
        person_name, id = self.rng.choice(PEOPLE), self.choose_proposal_id()
        if self.rng.random() < 0.7:
            if self.run("proposals", "request-changes", id, "-m", "No.", by=person_name) == 0:
                self.model.approvals = {
                    approval
                    for approval in self.model.approvals
                    if (approval[0], approval[2]) != (id, person_name)
                }
            return
        self.tokens.revoke(person_name)
        self.secrets[person_name] = self.create_token(person_name)
        self.model.approvals = {approval for approval in self.model.approvals if approval[2] != person_name}

    def run_proposal_command(self) -> None:
        """Run another command on a proposal, or create a proposal, with or without a token."""
        person_name = self.rng.choice([*PEOPLE, None])
        action = self.rng.choice(["refresh", "submit", "close", "reopen", "create"])
        if action == "create":
            self.create_proposal(person_name)
            return
        self.run("proposals", action, self.choose_proposal_id(), by=person_name)

    def create_proposal(self, person_name: str | None) -> str:
        """Create a proposal with the token of a person, or without a token, and return its id."""
        old_ids = {proposal.id for proposal in self.list_proposals()}
        assert self.run("proposals", "create", "By hand", "-d", "Why.", by=person_name) == 0
        [new_id] = {proposal.id for proposal in self.list_proposals()} - old_ids
        self.model.openers[new_id] = f"{person_name or 'ada'}@example.org"
        return new_id

    def attempt(self) -> None:
        """Make a known attempt to bypass the gate."""
        approver, merger = self.rng.sample(PEOPLE, 2)
        self.rng.choice(ATTEMPTS)(self, approver, merger)

    def commit_to_proposal(self) -> None:
        """Commit to a proposal's branch with the git program, with its tip or the tip of main as parent."""
        path, text = self.rng.choice(
            [
                (
                    "docyard.toml",
                    self.rng.choice([RULES, RULES_WITHOUT_APPROVAL, RULES_FOR_ALL_PATHS, NO_RULES]),
                ),
                ("specs/api.md", f"# API\n\n## Calls\n\nBy hand {self.rng.randrange(10**6)}.\n"),
                ("free.md", f"# Free\n\n## Calls\n\nBy hand {self.rng.randrange(10**6)}.\n"),
                (".taxonomy.toml", f'[metadata]\nowner = "o{self.rng.randrange(10**6)}"\n'),
            ]
        )
        base = self.rng.choice([None, None, "refs/heads/main"])
        self.commit_with_git(self.choose_proposal_id(), self.rng.choice(PEOPLE), path, text, base=base)

    def commit_with_git(
        self,
        id: str,
        person_name: str,
        path: str,
        text: str,
        *,
        base: str | None = None,
        amends: bool = False,
    ) -> None:
        """Commit a file to a proposal's branch, on its tip or on `base`; replace the tip if `amends` is true.

        An amended commit has the author and the message of the old commit, with the trailers of Docyard.
        """
        proposal = self.find_proposal(id)
        if proposal is None or proposal.tip is None:
            return
        branch, committer = (
            f"refs/heads/{proposal.content.branch}",
            f"{person_name} <{person_name}@example.org>",
        )
        author, time, message = self.repo.git("log", "-1", "--format=%an <%ae>%n%at%n%B", branch).split(
            "\n", 2
        )
        if not amends:
            author, message = committer, "Manual commit"
        lines = [
            f"commit {branch}",
            f"author {author} {time} +0000",
            f"committer {committer} {int(time) + 1} +0000",
        ]
        lines += [f"data {len(message.encode())}", message, f"from {base or branch}{'^' if amends else '^0'}"]
        lines += [f"M 100644 inline {path}", f"data {len(text.encode())}", text, ""]
        command = ["git", "fast-import", "--quiet", "--force"]
        subprocess.run(command, cwd=self.repo.path, input="\n".join(lines), text=True, check=True)
        self.model.committers[self.repo.git("rev-parse", branch).strip()] = f"{person_name}@example.org"
        self.model.log_step(f"{person_name} wrote {path} to {id} with git, on {base or branch}")

    def forge_event(self) -> None:
        """Append a forged approval, or a second opening event, in a person's name."""
        proposal, other_proposal = (
            self.find_proposal(self.choose_proposal_id()),
            self.find_proposal(self.choose_proposal_id()),
        )
        if proposal is None or other_proposal is None or proposal.tip is None:
            return
        person_name = self.rng.choice(PEOPLE)
        author = Author(person_name.title(), f"{person_name}@example.org", IdentitySource.TOKEN, person_name)
        events = EventLog(self.workspace.git).read().events_of(other_proposal.id).events
        seals = [event.body.seal for event in events if isinstance(event.body, Reviewed)]
        seal = self.rng.choice([None, "0" * 96, *seals])
        approval = Reviewed(ReviewDecision.APPROVE, "", proposal.tip, seal)
        opening_event = Opened(
            "To main", "", "main", self.rng.choice(["main", other_proposal.content.branch]), None
        )
        body = approval if self.rng.random() < 0.75 else opening_event
        try:
            EventLog(self.workspace.git).append(proposal.id, [body], author, tool="forger", client="forger")
        except WorkspaceError as error:
            self.model.log_step(f"forged, refused: {error.code}")
        self.model.log_step(f"forged {body.kind} of {proposal.id} in the name of {person_name}")

    # Concurrent actions

    def race(self) -> None:
        """Run two actions concurrently, of: merge, approve, refresh, edit the proposal, edit the branch.

        Each action has its own workspace.
        """
        id = self.choose_proposal_id()
        tip, person_name = self.get_tip(id), self.rng.choice(PEOPLE)
        person = next(person for person in self.tokens.list() if person.token == person_name)
        first, second = self.choose_operation(), self.choose_operation()
        actions: list[Callable[[], object]] = self.rng.sample(
            [
                lambda: self._merge(id, person),
                lambda: self._approve(id, tip, person),
                lambda: self.dispatchers[0]("edit_document", **first, proposal=id),
                lambda: self.dispatchers[1]("edit_document", **second),
                lambda: self._refresh(id),
            ],
            2,
        )
        self.model.merge_attempts.add((id, person_name))
        errors: list[BaseException] = []

        def run_action(action: Callable[[], object]) -> None:
            try:
                action()
            except WorkspaceError:
                pass
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run_action, args=(action,)) for action in actions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors, errors
        self.model.log_step(f"race on {id} with {person_name}")

    def _build_actor(self, person: Person | None) -> Actor:
        return Actor(AGENT_AUTHOR, "race", "race", person)

    def _merge(self, id: str, person: Person) -> None:
        Workspace.open(self.repo.path, durable=False).proposal_actions().merge(id, self._build_actor(person))

    def _approve(self, id: str, tip: str | None, person: Person) -> None:
        if tip is None:
            return
        proposal_actions = Workspace.open(self.repo.path, durable=False).proposal_actions()
        proposal_actions.review(id, self._build_actor(person), ReviewDecision.APPROVE, commit=tip)
        self.model.approvals.add((id, tip, person.token))

    def _refresh(self, id: str) -> None:
        Workspace.open(self.repo.path, durable=False).proposal_actions().refresh(id, self._build_actor(None))

    def _choose_or_none(self, id: str) -> str | None:
        return self.rng.choice([id, None])

    def step(self) -> None:
        """Run a random action, and check the history."""
        actions: list[Callable[[], object]] = [
            self.edit,
            self.write_with_other_tool,
            self.act_on_proposal_as_agent,
            self.run_command,
            self.approve,
            self.merge,
            self.approve_and_merge,
            self.void_approvals,
            self.run_proposal_command,
            self.commit_to_proposal,
            self.forge_event,
            self.race,
            self.attempt,
        ]
        [action] = self.rng.choices(actions, [6, 4, 4, 1, 4, 3, 3, 1, 1, 3, 2, 2, 2])
        action()
        self.model.check()

    def approve_and_merge(self) -> None:
        """Approve a proposal as each person, sometimes change it, and merge it."""
        id = self.choose_proposal_id()
        for person_name in PEOPLE:
            self.approve(id, person_name)
        if self.rng.random() < 0.5:
            self.rng.choice([self.commit_to_proposal, self.forge_event, self.void_approvals, self.edit])()
            self.model.check()
        self.merge(id, self.rng.choice(PEOPLE))
