"""A repository made of objects alone, with branches that go on by whole texts, and proposals to `main`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests import repositories
from tests.repositories import signature
from tests.workspace.proposals.saying import AGENT, Speaker
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


class Scene:
    """A bare repository whose branches are moved by hand; `first` is the first commit of `main`."""

    def __init__(self, path: Path, files: Files) -> None:
        self.repo = repositories.unborn(path, "--bare")
        self.store = GitStore(path)
        self._clock = signature().time
        self.first = self.commit("main", files)
        self.speaker = Speaker(path)
        self.workspace = Workspace.open(path, branch="main", durable=False)
        self.reviewing = ProposalReview(self.workspace)

    def commit(self, branch: str, files: Files, *others: str, message: str = "Change") -> str:
        """Commit files to a branch (None removes one), with further parents."""
        tip = self.store.tip(branch)
        id = self.made(files, *([tip] if tip else []), *others, message=message)
        self.move(branch, id)
        return id

    def made(self, files: Files, *parents: str, message: str = "Change", minutes: int = 1) -> str:
        """A commit on top of its first parent, of no branch."""
        self._clock += 60 * minutes
        who = Signature("Ada", "ada@example.org", self._clock)
        tree = self.store.commit(parents[0]).tree if parents else None
        blobs = {
            name: None
            if text is None
            else self.store.put_blob(text if isinstance(text, bytes) else text.encode())
            for name, text in files.items()
        }
        return self.store.put_commit(trees.rewrite_tree(self.store, tree, blobs), parents, who, who, message)

    def move(self, branch: str, commit: str | None) -> None:
        """Put a branch at a commit, as `git branch -f` does; None deletes it."""
        file = self.store.common_dir / "refs" / "heads" / branch
        file.parent.mkdir(parents=True, exist_ok=True)
        if commit is None:
            file.unlink()
        else:
            file.write_text(f"{commit}\n")

    def propose(self, id: str, files: Files, title: str = "A proposal", base: str | None = None) -> Proposal:
        """A proposal that was submitted, of one commit."""
        base = base or self.store.tip("main")
        branch = f"proposals/{id}"
        self.move(branch, base)
        self.speaker.say(Opened(title, "", "main", branch, base), by=AGENT, proposal=id)
        self.speaker.say(Submitted(self.commit(branch, files)), by=AGENT, proposal=id)
        return self.one(id)

    def one(self, id: str) -> Proposal:
        """A proposal as it stands."""
        return Proposals(self.store).find(self.speaker.log.read(), id)

    def all(self) -> tuple[Proposal, ...]:
        """Every proposal."""
        return Proposals(self.store).list_all(self.speaker.log.read())

    def merge(self, proposal: Proposal) -> str:
        """A merge commit of a proposal on `main`, of what merging it gives."""
        assert proposal.tip is not None
        merged = self.merged(proposal)
        files: dict[str, str | bytes | None] = {path: merged.read(path) for path in merged.changes}
        trailer = f"Merge\n\nDocyard-Proposal: {proposal.id}\n"
        return self.commit("main", files, proposal.tip, message=trailer)

    def merged(self, proposal: Proposal) -> Merge:
        """What a merge of a proposal would be."""
        assert proposal.tip is not None
        ours = Snapshot(self.store, self.store.tip("main"))
        return merge_commits(ours, ours.at(proposal.tip))
