"""The repository of a random walk, two dispatchers for agents, and people with tokens at the command line."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.terminal.exits import Exit
from index.service import SearchIndex
from tests.acceptance.gate.model import PolicyModel
from tests.repositories import Repo, create_repository
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from tools.toolsets import TOOLSETS
from workspace.policy.tokens import Tokens
from workspace.proposals.proposal import Proposal, ProposalState
from workspace.workspace import Workspace
from workspace.writing.read_before_write import SeenTexts

RULES = """overwrite = "any"
[[protect]]
paths = ["specs/**"]
checks = []
[[protect]]
types = ["runbook"]
approvals = 2
approvers = ["ada", "bea", "cyd"]
merge = ["bea", "cyd"]
checks = []
"""
RULES_WITHOUT_APPROVAL = 'overwrite = "any"\n[[protect]]\npaths = ["specs/**"]\napprovals = 0\nchecks = []\n'
RULES_FOR_ALL_PATHS = 'overwrite = "any"\n[[protect]]\napprovals = 2\nchecks = []\n'
NO_RULES = 'overwrite = "any"\n'

FILES: Mapping[str, str] = {
    "docyard.toml": RULES,
    "specs/api.md": "# API\n\n## Calls\n\nSee [steps](../notes/steps.md#begin).\n\n## Tasks\n\n- [ ] Draw\n",
    "specs/old.md": "# Old\n\n## Calls\n\nSome: [api](api.md#calls).  \n",
    "notes/steps.md": "# Steps\n\n## Begin\n\nHere.\n\n## Tasks\n\n- [ ] Walk\n",
    "notes/run.md": "---\ntype: runbook\n---\n\n# Run\n\n## Calls\n\nCall.\n",
    "free.md": "# Free\n\n## Calls\n\nAnything: [run](notes/run.md).\n\n## Tasks\n\n- [ ] Rest\n",
}
INITIAL_PATHS = ("specs/api.md", "specs/old.md", "notes/steps.md", "notes/run.md", "free.md")
PEOPLE = ("ada", "bea", "cyd")


class GateSetup:
    """A repository, two dispatchers for agents, the tokens of people, and the model."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        self.rng = random.Random(seed)
        self.repo: Repo = create_repository(folder / "docs", FILES)
        self.monkeypatch = monkeypatch
        self.model = PolicyModel(self.repo)
        self.dispatchers = [self._build_dispatcher(), self._build_dispatcher()]
        self.workspace = Workspace.open(self.repo.path, durable=False)
        self.tokens = Tokens(self.workspace.git.common_dir)
        self.secrets = {name: self.create_token(name) for name in PEOPLE}

    def _build_dispatcher(self) -> Callable[..., Answer]:
        workspace = Workspace.open(self.repo.path, durable=False)
        index = SearchIndex(workspace)
        workspace.inbound_links = index
        dispatcher, seen_texts = ToolDispatcher(workspace, index, TOOLSETS, False), SeenTexts()

        def call(tool: str, /, **arguments: object) -> Answer:
            return dispatcher.call(tool, arguments, client="an agent", seen_texts=seen_texts)

        return call

    def create_token(self, name: str) -> str:
        """Create a token of a person and return its secret."""
        return self.tokens.add(name, name.title(), f"{name}@example.org")

    def call(self, tool: str, /, **arguments: object) -> Answer:
        """Call a tool of a random dispatcher, without the arguments that are None."""
        fields = {name: value for name, value in arguments.items() if value is not None}
        response = self.rng.choice(self.dispatchers)(tool, **fields)
        self.model.log_step(
            f"{tool} {fields}: {response.data.get('code') or response.data.get('note') or 'done'}"
        )
        self.model.counts["proposed"] += "note" in response.data and "proposal" in response.data
        return response

    def run(self, *arguments: str, by: str | None = None) -> int:
        """Run a command with the token of a person, or without a token. Return the exit code."""
        self.monkeypatch.setenv("DOCYARD_TOKEN", self.secrets[by] if by else "")
        exit_code = main([*arguments, "-C", str(self.repo.path)])
        assert exit_code != Exit.USAGE, arguments
        self.model.log_step(f"{by}: {' '.join(arguments)}: {exit_code}")
        return exit_code

    def list_proposals(self) -> tuple[Proposal, ...]:
        """Return all proposals."""
        return self.workspace.proposal_actions().list_all()

    def find_proposal(self, id: str) -> Proposal | None:
        """Return a proposal; None for an unknown id."""
        return next((proposal for proposal in self.list_proposals() if proposal.id == id), None)

    def choose_proposal_id(self) -> str:
        """Return the id of a recent proposal, usually of an unmerged one, or the unknown id "none"."""
        recent_ids = [
            proposal.id
            for proposal in self.list_proposals()
            if proposal.state is not ProposalState.MERGED or self.rng.random() < 0.1
        ][:5]
        return self.rng.choice(recent_ids) if recent_ids else "none"

    def get_tip(self, id: str) -> str | None:
        """Return the tip of a proposal; None for an unknown id or a deleted branch."""
        proposal = self.find_proposal(id)
        return proposal.tip if proposal else None

    def choose_path(self) -> str:
        """Return the path of a file on main, or one of the initial paths, whose file may be removed."""
        return self.rng.choice(
            [*INITIAL_PATHS, *self.repo.git("ls-tree", "-r", "--name-only", "main").split("\n")[:-1]]
        )
