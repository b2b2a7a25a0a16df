"""Fixtures: for each kind of forge, a local forge with a bare repository, and its client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import pygit2
import pytest

from docyard.forges.forge_repository import ForgeAccess, resolve_forge_repository
from docyard.forges.open_forge import create_forge
from docyard.forges.port import Forge, NewPullRequest, PullRequest
from docyard.forges.transport import TransportLimits
from tests import repositories
from tests.docyard.forges.local_forge import FULL_TOKEN, LocalForge, start_local_forge
from workspace.git.remotes.url import parse_remote_url

FORGE_KINDS = ("github", "gitlab", "gitea")
GITHUB_AND_SLOW_KINDS = (
    "github",
    pytest.param("gitlab", marks=pytest.mark.slow),
    pytest.param("gitea", marks=pytest.mark.slow),
)
"""Parameters for tests that depend little on the kind of forge: other kinds than GitHub run only if slow."""

# On a busy machine, a request needs less time than these limits.
LONG_LIMITS = TransportLimits(connect_s=30, read_s=30, total_s=60, delay_s=0.01, max_delay_s=0.5)
SHORT_LIMITS = LONG_LIMITS._replace(connect_s=1, read_s=0.2, total_s=0.5)


@dataclass
class ForgeClientSetup:
    """A local forge, its bare repository, and its client `forge`."""

    local_forge: LocalForge
    bare_repo: repositories.Repo
    forge: Forge
    branch_numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def create_client(self, token: str = FULL_TOKEN, limits: TransportLimits = LONG_LIMITS) -> Forge:
        """Create another client of the same repository."""
        remote_url = parse_remote_url(f"{self.local_forge.url}/{self.local_forge.git_path}")
        return create_forge(
            resolve_forge_repository(
                remote_url, self.local_forge.kind, ForgeAccess(self.local_forge.url, token)
            ),
            limits,
        )

    def create_branch(self, text: str = "New text.\n", file: str = "README.md") -> str:
        """Create a branch with one commit, and return its name."""
        name = f"docyard/k7m2q9x{next(self.branch_numbers)}-words"
        self.commit(name, text, file, parent="main")
        return name

    def commit(self, branch: str, text: str, file: str = "README.md", parent: str | None = None) -> str:
        """Write a file in the root folder of a branch, and return the id of the new commit."""
        repo = pygit2.Repository(str(self.bare_repo.path))
        parent_commit = repo.branches.local[parent or branch].peel(pygit2.Commit)
        tree = repo.TreeBuilder(parent_commit.tree)
        tree.insert(file, repo.create_blob(text.encode()), pygit2.enums.FileMode.BLOB)
        signature = pygit2.Signature("Ada", "ada@example.org")
        commit = repo.create_commit(None, signature, signature, "A change", tree.write(), [parent_commit.id])
        repo.references.create(f"refs/heads/{branch}", commit, force=True)
        return str(commit)

    def open_pull_request(self, branch: str | None = None) -> PullRequest:
        """Open a pull request for a branch, by default a new one."""
        branch = branch or self.create_branch()
        return self.forge.open(NewPullRequest("Rewrite the text", "Because.\n\n- [x] done", branch, "main"))


@pytest.fixture(scope="module", params=FORGE_KINDS)
def shared_forge_setup(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ForgeClientSetup]:
    bare_repo = repositories.create_bare_repository(tmp_path_factory.mktemp(request.param) / "docs.git")
    with start_local_forge(request.param, bare_repo.path) as local_forge:
        forge_setup = ForgeClientSetup(local_forge, bare_repo, None)  # type: ignore[arg-type]
        forge_setup.forge = forge_setup.create_client()
        yield forge_setup
        forge_setup.forge.close_connections()


@pytest.fixture
def forge_setup(shared_forge_setup: ForgeClientSetup) -> ForgeClientSetup:
    """Return the setup after removing the pull requests and recorded requests of earlier tests."""
    local_forge = shared_forge_setup.local_forge
    local_forge.state.pull_requests.clear()
    local_forge.faults.clear()
    local_forge.requests.clear()
    local_forge.has_reviewers_endpoint, local_forge.page_size = True, 2
    return shared_forge_setup
