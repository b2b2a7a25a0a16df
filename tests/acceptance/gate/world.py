"""The repository of a walk, two servers for agents, and people with tokens at the command line."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.terminal.exits import Exit
from index.service import SearchIndex
from tests.acceptance.gate.model import Model
from tests.repositories import Repo, normal
from tools.registry import Toolbox
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
LAX = 'overwrite = "any"\n[[protect]]\npaths = ["specs/**"]\napprovals = 0\nchecks = []\n'
STRICT = 'overwrite = "any"\n[[protect]]\napprovals = 2\nchecks = []\n'
NONE = 'overwrite = "any"\n'

FILES: Mapping[str, str] = {
    "docyard.toml": RULES,
    "specs/api.md": "# API\n\n## Calls\n\nSee [steps](../notes/steps.md#begin).\n\n## Tasks\n\n- [ ] Draw\n",
    "specs/old.md": "# Old\n\n## Calls\n\nSome: [api](api.md#calls).  \n",
    "notes/steps.md": "# Steps\n\n## Begin\n\nHere.\n\n## Tasks\n\n- [ ] Walk\n",
    "notes/run.md": "---\ntype: runbook\n---\n\n# Run\n\n## Calls\n\nCall.\n",
    "free.md": "# Free\n\n## Calls\n\nAnything: [run](notes/run.md).\n\n## Tasks\n\n- [ ] Rest\n",
}
PATHS = ("specs/api.md", "specs/old.md", "notes/steps.md", "notes/run.md", "free.md")
PEOPLE = ("ada", "bea", "cyd")


class World:
    """A repository, two toolboxes, people with tokens, and the model."""

    def __init__(self, folder: Path, environment: pytest.MonkeyPatch, seed: int) -> None:
        self.chance = random.Random(seed)
        self.repo: Repo = normal(folder / "docs", FILES)
        self.environment = environment
        self.model = Model(self.repo)
        self.boxes = [self._toolbox(), self._toolbox()]
        self.workspace = Workspace.open(self.repo.path, durable=False)
        self.tokens = Tokens(self.workspace.git.common_dir)
        self.secrets = {name: self.token(name) for name in PEOPLE}

    def _toolbox(self) -> Callable[..., Answer]:
        workspace = Workspace.open(self.repo.path, durable=False)
        index = SearchIndex(workspace)
        workspace.inbound = index
        toolbox, seen_texts = Toolbox(workspace, index, TOOLSETS, False), SeenTexts()

        def call(tool: str, /, **given: object) -> Answer:
            return toolbox.call(tool, given, client="an agent", seen_texts=seen_texts)

        return call

    def token(self, name: str) -> str:
        """Create a token of a person and return its secret."""
        return self.tokens.add(name, name.title(), f"{name}@example.org")

    def call(self, tool: str, /, **given: object) -> Answer:
        """Call a tool of one of two servers; arguments that are None are omitted."""
        fields = {name: value for name, value in given.items() if value is not None}
        answer = self.chance.choice(self.boxes)(tool, **fields)
        self.model.log_step(
            f"{tool} {fields}: {answer.data.get('code') or answer.data.get('note') or 'done'}"
        )
        self.model.seen["proposed"] += "note" in answer.data and "proposal" in answer.data
        return answer

    def run(self, *arguments: str, by: str | None = None) -> int:
        """Run a command with the token of a person, or without one."""
        self.environment.setenv("DOCYARD_TOKEN", self.secrets[by] if by else "")
        code = main([*arguments, "-C", str(self.repo.path)])
        assert code != Exit.USAGE, arguments
        self.model.log_step(f"{by}: {' '.join(arguments)}: {code}")
        return code

    def all(self) -> tuple[Proposal, ...]:
        return self.workspace.proposal_actions().list_all()

    def one(self, id: str) -> Proposal | None:
        return next((one for one in self.all() if one.id == id), None)

    def some(self) -> str:
        """Return the id of a proposal, most often a recent one."""
        found = [
            one.id
            for one in self.all()
            if one.state is not ProposalState.MERGED or self.chance.random() < 0.1
        ][:5]
        return self.chance.choice(found) if found else "none"

    def tip(self, id: str) -> str | None:
        proposal = self.one(id)
        return proposal.tip if proposal else None

    def path(self) -> str:
        """Return the path of a document of main, or of a removed one."""
        return self.chance.choice(
            [*PATHS, *self.repo.git("ls-tree", "-r", "--name-only", "main").split("\n")[:-1]]
        )
