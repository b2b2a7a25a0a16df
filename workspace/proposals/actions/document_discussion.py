"""The comments on the documents of a branch. Their events are stored like those of a proposal.

The events are in a folder of the discussion's branch whose name is derived from the name of the branch. The
folder has no opening, so no version of Docyard lists it as a proposal. Clones have the same comments on
branches of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.git.store import require_writable
from workspace.proposal_ids import DISCUSSION_BRANCH, derive_id, parse_branch_id
from workspace.proposals.actions.discuss import get_comment_values
from workspace.proposals.actions.repository import InvalidTarget, make_key_reused_error
from workspace.proposals.answers import build_answer_events, changes_threads
from workspace.proposals.comments import build_comment_target
from workspace.proposals.events import Commented, validate_text
from workspace.proposals.proposal import collect_threads
from workspace.writing.idempotency import check_idempotency_key
from workspace.writing.write import DetachedHead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.proposals.actions.repository import Actor, ProposalRepository
    from workspace.proposals.answers import CommentAnswer
    from workspace.proposals.event_log import AppendResult
    from workspace.proposals.proposal import Thread


class AppendedComments(NamedTuple):
    """The result of comments or answers: the commit and the ids of their events.

    `commit` is None if nothing changed. `is_new` is False if nothing changed, or if an earlier call with the
    same key appended the events.
    """

    commit: str | None = None
    event_ids: tuple[str, ...] = ()
    is_new: bool = False

    @classmethod
    def of(cls, append_result: AppendResult) -> AppendedComments:
        """Return the result of appended events."""
        ids = tuple(event.id for event in append_result.events)
        return cls(append_result.commit, ids, not append_result.is_repeat)


class DocumentDiscussion:
    """The comments on the documents of the served branch. Thread-safe.

    Each method raises DetachedHead without a branch, and InvalidTarget for a branch without documents of its
    own. Methods that write raise ReadOnly, SigningRequired, KeyReused, Busy, and the errors of `Publication`.
    """

    def __init__(self, repository: ProposalRepository) -> None:
        self._repository = repository

    @property
    def branch(self) -> str:
        """The branch whose documents are discussed."""
        branch = self._repository.workspace.branch
        if branch is None:
            raise DetachedHead(
                "HEAD is detached, so there is no branch whose documents have comments",
                fix="Check out a branch with git switch NAME, or give the command --branch NAME.",
            )
        proposal_id = parse_branch_id(branch)
        if branch == DISCUSSION_BRANCH or proposal_id is not None:
            raise InvalidTarget(
                f"the branch '{branch}' has no comments on documents of its own",
                fix=f"Use the comments of the proposal '{proposal_id}'."
                if proposal_id
                else "Serve a branch of documents, for example with --branch main.",
            )
        return branch

    def list_threads(self) -> tuple[Thread, ...]:
        """Return the threads, the resolved ones too, in the order in which they began."""
        return collect_threads(self._repository.list_events(_derive_folder(self.branch)))

    def comment(
        self, actor: Actor, text: str, *, file: str, slug: str | None, quote: str = "", key: str | None = None
    ) -> AppendedComments:
        """Comment on a document at the tip, or on a section of it or words quoted from it.

        Raises InvalidEventText, DocumentNotFound, SectionNotFound, AmbiguousAddress, InvalidAddress.
        """
        comment_text, branch = validate_text(text, "comment"), self.branch
        require_writable(self._repository.workspace.git)
        if (earlier_result := self._find_earlier_events(branch, key)) is not None:
            expected_values = (comment_text, None, (file, quote.strip()))
            if [get_comment_values(event.body) for event in earlier_result.events] != [expected_values]:
                raise make_key_reused_error(used_in=earlier_result.commit)
            return AppendedComments.of(earlier_result)
        snapshot = self._repository.workspace.snapshot()
        target = build_comment_target(snapshot.document(file), slug, quote)
        body = Commented(comment_text, target, snapshot.commit)
        return AppendedComments.of(
            self._repository.append(_derive_folder(branch), [body], actor, key, branch=branch)
        )

    def answer(
        self,
        actor: Actor,
        answers: Sequence[CommentAnswer],
        *,
        key: str | None = None,
        dry_run: bool = False,
    ) -> AppendedComments:
        """Append replies to threads and their resolutions as one commit; a dry run only checks them.

        Raises CommentNotFound, InvalidEventText.
        """
        branch = self.branch
        require_writable(self._repository.workspace.git)
        if key is not None:
            check_idempotency_key(key)
        folder, threads = _derive_folder(branch), self.list_threads()
        bodies = build_answer_events(threads, answers, self._repository.workspace.tip())
        earlier_result = self._repository.find_earlier_events(folder, bodies, key)
        if earlier_result is not None:
            return AppendedComments.of(earlier_result)
        if dry_run or not changes_threads(threads, bodies):
            return AppendedComments()
        return AppendedComments.of(self._repository.append(folder, bodies, actor, key, branch=branch))

    def _find_earlier_events(self, branch: str, key: str | None) -> AppendResult | None:
        if key is not None:
            check_idempotency_key(key)
        return self._repository.find_events_by_key(_derive_folder(branch), key)


def _derive_folder(branch: str) -> str:
    """Return the id of the folder of a branch's comments.

    No idempotency key contains a space, so no proposal that is opened with a key has the same id.
    """
    return derive_id(f"comments on {branch}")
