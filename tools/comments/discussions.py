"""The discussions that have comments: that of the documents of the branch, and that of each proposal."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tools.pages import cut_part
from tools.proposals.comments import describe_thread
from tools.read_context import ReadContext
from tools.tool import Call, Data, call
from workspace.errors import WorkspaceError
from workspace.escapes import escape_invisible
from workspace.proposals.actions.repository import InvalidTarget
from workspace.proposals.answers import find_thread, make_comment_not_found_error
from workspace.proposals.comments import LocatedThread, TargetFilter, TextStatus
from workspace.writing.write import DetachedHead

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools.tool import Context
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.proposals.answers import CommentNotFound
    from workspace.proposals.comments import CommentLocation, LocationFilter
    from workspace.proposals.proposal import Proposal, Thread
    from workspace.workspace import Workspace

_MAX_SECTION_TOKENS = 1_000
_MAX_SECTION_SHARE = 4  # at least so many sections fit into an answer
_MAX_THREAD_BYTES = 12_000


class CommentDiscussion(NamedTuple):
    """The threads of one discussion, and the commit at which their texts are read.

    `proposal` is None for the comments on the documents of the branch. `read_context` is None if the branch
    of the proposal was deleted.
    """

    threads: tuple[Thread, ...]
    read_context: ReadContext | None
    proposal: Proposal | None = None

    @property
    def proposal_id(self) -> str | None:
        """The id of the proposal; None for the documents of the branch."""
        return self.proposal.id if self.proposal is not None else None

    def build_filter(self, location: LocationFilter) -> TargetFilter:
        """Return the filter for comments whose text may be at a location."""
        snapshot = self.read_context.snapshot if self.read_context is not None else None
        return TargetFilter(snapshot, location)

    def build_comment_call(self, id: str) -> Call:
        """Return the call that shows a comment in full."""
        proposal_field = {"proposal": self.proposal.id} if self.proposal is not None else {}
        return call("list_comments", **proposal_field, comment=id)

    def locate(self, context: Context, thread: Thread, position: int = 0) -> LocatedThread:
        """Return a thread with the current location of its text."""
        location = None
        if self.read_context is not None:
            snapshot = self.read_context.snapshot
            location = context.workspace.proposal_reviews().find_location(thread.comment, snapshot)
        return LocatedThread(thread, location, position)


def read_document_discussion(context: Context, ref: str | None = None) -> CommentDiscussion:
    """Return the comments on the documents of the served branch, whose texts are read at a ref.

    Raises DetachedHead, InvalidTarget, and the errors of `Workspace.at`.
    """
    threads = context.workspace.proposal_actions().document_discussion.list_threads()
    return CommentDiscussion(threads, ReadContext.at(context, ref))


def read_proposal_discussion(context: Context, proposal: Proposal) -> CommentDiscussion:
    """Return the comments of a proposal, whose texts are read at its tip, or at its merged tip."""
    tip = proposal.merge_record.tip if proposal.merge_record is not None else proposal.tip
    if tip is None:
        return CommentDiscussion(proposal.content.threads, None, proposal)
    open_id = proposal.id if proposal.is_open else None
    read_context = ReadContext(context, context.workspace.snapshot(tip), open_id or tip, open_id)
    return CommentDiscussion(proposal.content.threads, read_context, proposal)


def read_open_discussions(context: Context) -> tuple[list[CommentDiscussion], list[str]]:
    """Return the comments on documents, then those of each open proposal, the first opened first.

    Without a branch, only the comments of proposals are returned, with a hint.
    """
    discussions: list[CommentDiscussion] = []
    hints: list[str] = []
    try:
        discussions.append(read_document_discussion(context))
    except (DetachedHead, InvalidTarget) as error:
        hints.append(f"comments on documents are not listed: {error.message}. {error.fix}")
    for proposal in reversed(context.workspace.proposal_actions().list_all()):
        if proposal.is_open and proposal.content.threads:
            discussions.append(read_proposal_discussion(context, proposal))
    return discussions, hints


def find_discussion(workspace: Workspace, ids: Iterable[str], proposal: str | None) -> CommentDiscussion:
    """Return the discussion with comments of these ids; the named proposal is searched first.

    Raises ProposalNotFound, CommentNotFound, and CommentsApart if no discussion has all of them.
    """
    examined_discussions: list[CommentDiscussion] = []
    remaining_discussions = _list_all(workspace, proposal)

    def list_discussions() -> Iterator[CommentDiscussion]:
        """Yield the discussions; each is read only if the comment is not in those before it."""
        yield from examined_discussions
        for discussion in remaining_discussions:
            examined_discussions.append(discussion)
            yield discussion

    found_discussions: list[CommentDiscussion] = []
    for id in ids:
        discussion = next((item for item in list_discussions() if find_thread(item.threads, id)), None)
        if discussion is None:
            raise _make_not_found_error(examined_discussions, id)
        if discussion not in found_discussions:
            found_discussions.append(discussion)
    if len(found_discussions) > 1:
        names = [
            "the documents" if item.proposal is None else f"the proposal {item.proposal.id}"
            for item in found_discussions
        ]
        raise CommentsApart(
            f"the comments belong to different discussions: {' and '.join(names[:3])}",
            fix="Answer the comments of each discussion in a call of its own.",
            field="answers",
        )
    return found_discussions[0]


class CommentsApart(WorkspaceError):
    """An error: comments of several discussions are answered in one call, which is one commit."""

    code = "COMMENTS_APART"


def _list_all(workspace: Workspace, proposal_name: str | None) -> Iterator[CommentDiscussion]:
    """Yield the discussions, that of the named proposal first; those of ended proposals too."""
    actions = workspace.proposal_actions()
    named_proposal = actions.find(proposal_name) if proposal_name is not None else None
    if named_proposal is not None:
        yield CommentDiscussion(named_proposal.content.threads, None, named_proposal)
    with suppress(DetachedHead, InvalidTarget):  # only proposals have comments then
        yield CommentDiscussion(actions.document_discussion.list_threads(), None)
    for proposal in actions.list_all():
        if named_proposal is None or proposal.id != named_proposal.id:
            yield CommentDiscussion(proposal.content.threads, None, proposal)


def _make_not_found_error(discussions: Iterable[CommentDiscussion], id: str) -> CommentNotFound:
    threads = [thread for discussion in discussions for thread in discussion.threads]
    return make_comment_not_found_error(threads, id, "comment")


class EntryWriter:
    """The entries of one list of comments. A section's text is in the first entry of that section only."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._comment_by_section: dict[tuple[str | None, str, str | None], str] = {}
        self._section_tokens = max(min(_MAX_SECTION_TOKENS, context.text_tokens // _MAX_SECTION_SHARE), 1)

    def describe(self, discussion: CommentDiscussion, located_thread: LocatedThread) -> Data:
        """Return a thread with its location, and the text of its section as it is now."""
        max_bytes = min(_MAX_THREAD_BYTES, self._context.text_characters // 2)
        data = describe_thread(located_thread, discussion.build_comment_call, max_bytes)
        if discussion.proposal is not None:
            data = {"comment": data.pop("comment"), "proposal": discussion.proposal.id, **data}
        location = located_thread.location
        if location is None or location.status is TextStatus.GONE or discussion.read_context is None:
            return data
        section_key = discussion.proposal_id, location.path, location.slug
        first_id = self._comment_by_section.setdefault(section_key, located_thread.thread.comment.id)
        if first_id != located_thread.thread.comment.id:
            return {**data, "section": {"same_as": first_id}}
        return {**data, "section": self._describe_section(discussion.read_context, location)}

    def _describe_section(self, read_context: ReadContext, location: CommentLocation) -> Data:
        """Return the text of a section, or of a whole document, and the call that reads the rest."""
        try:
            document = read_context.snapshot.document(location.path)
            section = document.section_by_key(location.slug) if location.slug is not None else None
        except WorkspaceError as error:  # such as a document that is too large
            return {"error": escape_invisible(error.message)}
        start, end = _find_range(document, section)
        part = cut_part(document, document.sections, start, end, tokens=self._section_tokens)
        self._context.record_seen_sections(document, part.complete_sections)
        if part.next_offset is None:
            return {"text": part.text}
        address: Data = {"file": document.path}
        if section is not None:
            address |= {"slug": section.key, "offset": part.next_offset}
        rest_call = read_context.build_continuation_call("view_document", **address)
        rest_field = {"rest": str(rest_call)} if self._context.offers("view_document") else {}
        return {"text": part.text, "truncated": True, **rest_field}


def _find_range(document: Document, section: Section | None) -> tuple[int, int]:
    if section is None:
        return document.front_matter_end, len(document.data)
    return section.start, section.end
