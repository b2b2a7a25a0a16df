"""A repository with a workspace, an agent, and people with tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests import repositories
from tests.repositories import Repo
from workspace.edits.operation import Operation
from workspace.edits.text import AppendContent
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.actions import ProposalActions
from workspace.proposals.actions.repository import Actor, ProposedWrite
from workspace.proposals.events import Author, IdentitySource, ReviewDecision
from workspace.proposals.proposal import Proposal
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode
from workspace.writing.write import WriteResult

GUIDE = "# Guide\n\nIntroduction.\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n"
FILES: Mapping[str, str] = {
    "guide.md": GUIDE,
    "notes.md": "# Notes\n\nNothing yet.\n",
    "specs/api.md": "# API\n\n## Calls\n\nNone.\n",
}
RULE = '[[protect]]\npaths = ["specs/**"]\napprovals = 1\n'

AGENT_ACTOR = Actor(
    Author("Ada", "ada@example.org", IdentitySource.CLIENT, "an agent"), "update_proposal", "an agent"
)
GIT_ACTOR = Actor(Author("Ada", "ada@example.org", IdentitySource.GIT), "proposals", "command line")


class ProposalSetup:
    """A repository of `FILES`, and the proposals of its branch `main`."""

    def __init__(self, path: Path, settings: str = "") -> None:
        files = {**FILES, "docyard.toml": settings} if settings else FILES
        self.repo: Repo = repositories.create_repository(path, files)
        self.workspace = Workspace.open(self.repo.path, durable=False)

    @property
    def proposal_actions(self) -> ProposalActions:
        return self.workspace.proposal_actions()

    def person(self, token_name: str = "bea") -> Actor:
        """Return a person with a token, and create the token at the first call."""
        tokens = Tokens(self.workspace.git.common_dir)
        if tokens.key(token_name) is None:
            tokens.add(token_name, token_name.title(), f"{token_name}@example.org")
        known_token = tokens.find_owner(token_name)
        assert known_token is not None
        return GIT_ACTOR._replace(person=known_token.person)

    def open(self, title: str = "Say more", **options: object) -> Proposal:
        """Open a proposal without changes as an agent."""
        return self.proposal_actions.open(title, "Why.", AGENT_ACTOR, **options)  # type: ignore[arg-type]

    def append(self, proposal_id: str, text: str, file: str = "guide.md", slug: str = "use") -> WriteResult:
        """Append text to a section on the branch of a proposal, as an agent."""
        return write_text(self.proposal_actions.open_branch(proposal_id), text, file, slug)

    def write(self, text: str, file: str = "guide.md", slug: str = "install") -> WriteResult:
        """Append text to a section of the served branch."""
        return write_text(self.workspace, text, file, slug)

    def submit_proposal(self, text: str = "More.", file: str = "guide.md", slug: str = "use") -> Proposal:
        """Create and submit a proposal that appends to a section, and return it."""
        proposal = self.open()
        self.append(proposal.id, text, file, slug)
        return self.proposal_actions.submit(proposal.id, AGENT_ACTOR).proposal

    def propose(
        self, text: str = "One.", *, file: str = "specs/api.md", slug: str = "calls"
    ) -> ProposedWrite:
        """Append text by a direct write to a protected path, which creates a proposal."""
        return self.proposal_actions.propose(
            [make_append(text, file, slug)], AGENT_ACTOR, mode=BatchMode.EACH
        )

    def approve(self, proposal: Proposal, token_name: str = "bea") -> Proposal:
        """Approve a proposal as the person with this token."""
        person = self.person(token_name)
        return self.proposal_actions.review(proposal.id, person, ReviewDecision.APPROVE).proposal

    def show(self, path: str, ref: str = "main") -> str:
        """Return the text of a file at a ref."""
        return self.repo.git("show", f"{ref}:{path}")

    def log(self, *arguments: str) -> list[str]:
        """Return the lines of `git log`."""
        return self.repo.git("log", *arguments).splitlines()

    def check_repository_intact(self) -> None:
        """Check that the repository is intact and the working tree is clean."""
        assert self.repo.fsck() == ""
        assert self.repo.status() == ""


def make_append(text: str, file: str = "guide.md", slug: str = "use") -> Operation:
    return AppendContent(file=file, slug=slug, content=text)


def write_text(workspace: Workspace, text: str, file: str, slug: str) -> WriteResult:
    operations: Sequence[Operation] = [make_append(text, file, slug)]
    result = workspace.write(operations, mode=BatchMode.ALL, tool="edit_document", client="an agent")
    for step in result.steps:
        if step.error is not None:
            raise step.error
    return result
