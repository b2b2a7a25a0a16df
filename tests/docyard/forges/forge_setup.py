"""A workspace whose remote is on a running local forge, so that its proposals can have pull requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from docyard.forges.forge_repository import ForgeAccess
from docyard.forges.open_forge import open_forge
from docyard.forges.port import Forge, NewPullRequest
from docyard.forges.pull_request_sync import ForgeCheckResult, PullRequestImporter, PullRequestOutcome
from docyard.forges.pull_requests import OpenedPullRequest, open_pull_request
from docyard.forges.transport import TransportLimits
from tests.docyard.forges.local_forge import FULL_TOKEN, LocalForge, start_local_forge
from tests.repositories import Repo
from tests.workspace.proposals.actions.proposal_setup import ProposalSetup
from workspace.git.remotes.credentials import Access
from workspace.proposals.proposal import Proposal

LONG_LIMITS = TransportLimits(connect_s=30, read_s=30, total_s=60, delay_s=0.01, max_delay_s=0.1)
PAGE = "# Page\n\n## Use\n\nUse it.\n"
_PAGE_COUNT = 40


class ForgeSetup(ProposalSetup):
    """A proposal setup whose remote is on a local forge. Each proposal can change a page of its own."""

    def __init__(self, path: Path, local_forge: LocalForge, remote: Repo, settings: str = "") -> None:
        super().__init__(path, f'[forge]\nkind = "{local_forge.kind}"\n{settings}')
        self.local_forge, self.remote = local_forge, remote
        self.repo.commit({f"page-{number}.md": PAGE for number in range(_PAGE_COUNT)})
        url = f"{local_forge.url}/{local_forge.git_path}"
        self.repo.git("config", f"url.{remote.path}.insteadOf", url)
        self.repo.git("remote", "add", "origin", url)
        self.repo.git("push", "-q", "-u", "origin", "main")
        self.importer = PullRequestImporter(self.workspace)
        self._page_numbers = count()
        self._forge: Forge | None = None

    def get_access(self) -> ForgeAccess:
        """Return the URL and the token of the local forge."""
        return ForgeAccess(self.local_forge.url, FULL_TOKEN)

    @property
    def forge(self) -> Forge:
        """Return the client of the forge, which is created at the first use."""
        if self._forge is None:
            self._forge = open_forge(self.workspace, self.get_access(), LONG_LIMITS)
        assert self._forge is not None
        return self._forge

    def create_pull_request(self) -> tuple[Proposal, int]:
        """Submit a proposal for a new page and open its pull request; return the proposal and the number."""
        proposal = self.submit_proposal("More.", self.choose_page())
        self.push(proposal)
        request = self.forge.open(
            NewPullRequest(proposal.content.title, "Why.", proposal.content.branch, "main")
        )
        return proposal, request.number

    def open_pull_request(self, proposal: Proposal) -> OpenedPullRequest:
        """Open or update the pull request of a proposal."""
        return open_pull_request(self.workspace, proposal, self.forge, Access())

    def choose_page(self) -> str:
        """Return the path of the next page that no proposal changes yet."""
        return f"page-{next(self._page_numbers)}.md"

    def find_page(self, proposal: Proposal) -> str:
        """Return the path of the page that an open proposal changes."""
        return self.workspace.proposal_reviews().changes(self.reload(proposal)).documents[0].path

    def push(self, proposal: Proposal) -> None:
        self.repo.git("push", "-q", "origin", proposal.content.branch)

    def pull(self) -> None:
        self.repo.git("pull", "-q", "--ff-only")

    def reload(self, proposal: Proposal) -> Proposal:
        return self.proposal_actions.find(proposal.id)

    def check_pull_request(self, proposal: Proposal, *, was_pushed: bool = False) -> PullRequestOutcome:
        """Synchronize one proposal with its pull request, and return the outcome."""
        check_result = self.check_forge(branches=[proposal.content.branch], was_pushed=was_pushed)
        assert check_result.error is None, check_result.error
        (outcome,) = check_result.pull_requests
        return outcome

    def check_forge(self, **options: object) -> ForgeCheckResult:
        return self.importer.import_changes(self.forge, "origin", **options)  # type: ignore[arg-type]

    def add_commit(self, proposal: Proposal, text: str = "Other text.") -> None:
        """Add a commit to a proposal."""
        self.append(proposal.id, text, self.find_page(proposal))

    def close(self) -> None:
        if self._forge is not None:
            self._forge.close_connections()


@contextmanager
def open_forge_setup(kind: str, folder: Path, settings: str = "") -> Iterator[ForgeSetup]:
    """Start a local forge of a kind, and yield a setup in `folder` whose remote is on that forge."""
    remote = Repo(folder / "docs.git")
    remote.path.mkdir(parents=True)
    remote.git("init", "-q", "--bare", "-b", "main")
    with start_local_forge(kind, remote.path) as local_forge:
        local_forge.page_size = 100
        forge_setup = ForgeSetup(folder / "clone", local_forge, remote, settings)
        try:
            yield forge_setup
        finally:
            forge_setup.close()
