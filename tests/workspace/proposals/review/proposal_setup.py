"""A bare repository whose branches are built from given file contents, and proposals to `main`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests import repositories
from tests.repositories import make_signature
from tests.workspace.proposals.event_writer import CLIENT_AUTHOR, EventWriter
from workspace.git import trees
from workspace.git.objects import Signature
from workspace.git.store import GitStore
from workspace.merge.commits import merge_commits
from workspace.merge.trees import Merge
from workspace.proposals.events import Opened, Submitted
from workspace.proposals.proposal import Proposal, Proposals
from workspace.proposals.review.review import ProposalReview
from workspace.snapshot.snapshot import Snapshot
from workspace.workspace import Workspace

Files = Mapping[str, str | bytes | None]


class ProposalSetup:
    """A bare repository whose branches tests move directly; `first_commit` is the first commit of `main`."""

    def __init__(self, path: Path, files: Files) -> None:
        self.repo = repositories.create_empty_repository(path, "--bare")
        self.store = GitStore(path)
        self._clock = make_signature().time
        self.first_commit = self.commit("main", files)
        self.writer = EventWriter(path)
        self.workspace = Workspace.open(path, branch="main", durable=False)
        self.proposal_reviews = ProposalReview(self.workspace)

    def commit(self, branch: str, files: Files, *other_parents: str, message: str = "Change") -> str:
        """Commit files to a branch, with further parents, and return the commit; None removes a file."""
        tip = self.store.tip(branch)
        id = self.create_commit(files, *([tip] if tip else []), *other_parents, message=message)
        self.move_branch(branch, id)
        return id

    def create_commit(self, files: Files, *parents: str, message: str = "Change", minutes: int = 1) -> str:
        """Create a commit with changes to its first parent, on no branch, and return its id."""
        self._clock += 60 * minutes
        author = Signature("Ada", "ada@example.org", self._clock)
        tree = self.store.commit(parents[0]).tree if parents else None
        blobs = {
            name: None
            if text is None
            else self.store.put_blob(text if isinstance(text, bytes) else text.encode())
            for name, text in files.items()
        }
        return self.store.put_commit(
            trees.rewrite_tree(self.store, tree, blobs), parents, author, author, message
        )

    def move_branch(self, branch: str, commit: str | None) -> None:
        """Move a branch to a commit, as `git branch -f` does; None deletes it."""
        file = self.store.common_dir / "refs" / "heads" / branch
        file.parent.mkdir(parents=True, exist_ok=True)
        if commit is None:
            file.unlink()
        else:
            file.write_text(f"{commit}\n")

    def propose(self, id: str, files: Files, title: str = "A proposal", base: str | None = None) -> Proposal:
        """Create and submit a proposal with one commit, and return it."""
        base = base or self.store.tip("main")
        branch = f"proposals/{id}"
        self.move_branch(branch, base)
        self.writer.append(Opened(title, "", "main", branch, base), by=CLIENT_AUTHOR, proposal=id)
        self.writer.append(Submitted(self.commit(branch, files)), by=CLIENT_AUTHOR, proposal=id)
        return self.find_proposal(id)

    def find_proposal(self, id: str) -> Proposal:
        """Return the current proposal with an id."""
        return Proposals(self.store).find(self.writer.log.read(), id)

    def list_proposals(self) -> tuple[Proposal, ...]:
        """Return every proposal."""
        return Proposals(self.store).list_all(self.writer.log.read())

    def merge(self, proposal: Proposal) -> str:
        """Commit the merge of a proposal to `main`, and return the commit."""
        assert proposal.tip is not None
        result = self.build_merge(proposal)
        files: dict[str, str | bytes | None] = {path: result.read(path) for path in result.changes}
        message = f"Merge\n\nDocyard-Proposal: {proposal.id}\n"
        return self.commit("main", files, proposal.tip, message=message)

    def build_merge(self, proposal: Proposal) -> Merge:
        """Return the merge of a proposal, without a commit."""
        assert proposal.tip is not None
        ours = Snapshot(self.store, self.store.tip("main"))
        return merge_commits(ours, ours.at(proposal.tip))
