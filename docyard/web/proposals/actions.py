"""What people do with a proposal, each by a form, and done once however often that is sent.

What could not be done with a proposal: why, what is new there, and the words, so that none are lost.

A proposal is submitted on a page; where a forge is asked for, its pull request is opened with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from docyard.web.diff import build_diff, format_element_id
from docyard.web.errors import get_status
from docyard.web.proposals.conflicts import handle_conflicts_form
from docyard.web.proposals.view import build_head, digest_text
from workspace.errors import WorkspaceError
from workspace.merge.commits import MergeConflict
from workspace.proposals.actions.actions import PullRequestFailed
from workspace.proposals.actions.discuss import NeedsPerson, OwnProposal, ProposalMoved
from workspace.proposals.actions.repository import ProposalEnded
from workspace.proposals.events import ReviewDecision
from workspace.publishing.after_commit import has_committed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.responses import Response

    from docyard.web.diff import DiffPage
    from docyard.web.page_request import PageRequest
    from workspace.proposals.actions.actions import ProposalActions
    from workspace.proposals.actions.repository import ActionResult, Actor
    from workspace.proposals.proposal import Proposal


_COMMIT = re.compile("[0-9a-f]{40}")
_WORDS = ("title", "description", "quote", "text")
_FINAL = (NeedsPerson, OwnProposal, ProposalEnded)

_AGAIN = {
    "approve": "Approve it as it is now",
    "request-changes": "Ask for changes",
    "merge": "Merge it as it is now",
    "comment": "Comment",
    "edit": "Save",
    "close": "Close",
    "reopen": "Reopen",
    "submit": "Submit it again",
}


class UnknownAction(WorkspaceError):
    """Nothing of this name can be done with a proposal."""

    code: ClassVar[str] = "ACT_NOT_FOUND"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(
            "this cannot be done with a proposal", fix=f"What can be done: {', '.join(known)}.", act=name[:60]
        )


class TextChanged(WorkspaceError):
    """Somebody else has changed the title or description that a form would replace."""

    code: ClassVar[str] = "WORDS_CHANGED"

    def __init__(self) -> None:
        super().__init__(
            "the title or description was changed since you began to edit them",
            fix="Nothing was saved. Take over what you want to keep of how it reads now, and save it again.",
        )


def render_refusal(asked: PageRequest, one: Proposal, act: str, error: WorkspaceError) -> Response:
    """Return the page that says why an act was refused; its form holds the words, to be sent again."""
    one = asked.workspace.proposing().find(one.id)  # as it is by now
    words = {name: asked.fields[name] for name in _WORDS if name in asked.fields}
    again_as, again = act, _AGAIN.get(act, "")
    if isinstance(error, _FINAL):
        # The same would be refused again; what was to be said can still be said.
        words = {name: value for name, value in words.items() if name == "text" and value.strip()}
        again_as, again = ("comment", "Say it as a comment") if words else (act, "")
    if isinstance(error, PullRequestFailed):
        words = {}  # they are kept
    news = _find_new_changes(asked, one) if isinstance(error, ProposalMoved) else None
    if isinstance(error, ProposalMoved) and news is None:
        again = ""  # nobody decides on what could not be shown
    return asked.page(
        "refused.html",
        status=get_status(error),
        **build_head(asked, one),
        error=error,
        act=act,
        again_as=again_as,
        again=again,
        needs_person=isinstance(error, NeedsPerson),
        blocks=[block["message"] for block in error.details.get("blocks", ())][1:],
        news=news,
        words=words,
        # A verdict is for what its sender has seen: that stays, unless this page shows what came since.
        commit=one.tip if news is not None else asked.fields.get("commit"),
        kept={name: asked.fields[name] for name in ("file", "slug", "reply_to") if name in asked.fields},
    )


def _find_new_changes(asked: PageRequest, one: Proposal) -> DiffPage | None:
    """Return a proposal's changes since the form's commit; None if they are unknown."""
    from workspace.proposals.review.changes import compare_commits

    seen = asked.fields.get("commit", "")
    if one.tip is None or not _COMMIT.fullmatch(seen) or not asked.workspace.exists(seen):
        return None
    try:
        return build_diff(compare_commits(asked.workspace.snapshot(seen), asked.workspace.snapshot(one.tip)))
    except WorkspaceError:  # such as an id that is no commit's
        return None


def submit_proposal(proposing: ProposalActions, id: str, actor: Actor, key: str | None) -> ActionResult:
    """Ask for a review. Raises PullRequestFailed where that is done, but the pull request is not."""
    acted = proposing.submit(id, actor, request=key)
    announced = proposing.announce(acted.proposal)
    if announced is not None and announced.error is not None:
        announced.error.details["proposal"] = id
        raise announced.error
    return acted


def handle_action(asked: PageRequest) -> Response:
    """Run the action of a form, and redirect the browser to its result."""
    proposing = asked.workspace.proposing()
    name = asked.path["act"]
    one = proposing.find(asked.path["id"])
    if name == "resolve":
        return handle_conflicts_form(asked, one)
    doing = _ACTS.get(name)
    if doing is None:
        raise UnknownAction(name, [*_ACTS, "resolve"])
    try:
        return asked.redirect(doing(asked, proposing, one))
    except MergeConflict:
        return asked.redirect(asked.urls.proposal(one.id, "conflicts"))
    except WorkspaceError as error:
        if has_committed() and not isinstance(error, PullRequestFailed):
            raise
        return render_refusal(asked, one, name, error)


def redirect_back(asked: PageRequest) -> Response:
    """Return the address of a form's answer, asked for by itself: it leads to the proposal."""
    return asked.redirect(asked.urls.proposal(asked.workspace.proposing().find(asked.path["id"]).id))


def _key(asked: PageRequest) -> str | None:
    return asked.fields.get("key") or None


def _comment(asked: PageRequest, proposing: ProposalActions, one: Proposal) -> str:
    fields = asked.fields
    file, slug, view = fields.get("file") or None, fields.get("slug") or None, fields.get("view", "")
    acted = proposing.comment(
        one.id,
        asked.actor,
        fields.get("text", ""),
        file=file,
        slug=slug,
        quote=fields.get("quote", ""),
        reply_to=fields.get("reply_to") or None,
        request=_key(asked),
    )
    if view and file is not None:
        id = format_element_id(file, slug) if slug is not None else format_element_id(file)
        shown = asked.urls.proposal(
            one.id, "changes", view=view, path=fields.get("path"), offset=fields.get("offset")
        )
        return f"{shown}#{id}"
    return _get_comment_url(asked, acted)


def _approve(asked: PageRequest, proposing: ProposalActions, one: Proposal) -> str:
    return _review(asked, proposing, one, ReviewDecision.APPROVE)


def _request_changes(asked: PageRequest, proposing: ProposalActions, one: Proposal) -> str:
    return _review(asked, proposing, one, ReviewDecision.REQUEST_CHANGES)


def _review(asked: PageRequest, proposing: ProposalActions, one: Proposal, verdict: ReviewDecision) -> str:
    acted = proposing.review(
        one.id,
        asked.actor,
        verdict,
        asked.fields.get("text", ""),
        commit=asked.fields.get("commit") or None,
        request=_key(asked),
    )
    return _get_comment_url(asked, acted)


def _submit(asked: PageRequest, proposing: ProposalActions, one: Proposal) -> str:
    return _get_proposal_url(asked, submit_proposal(proposing, one.id, asked.actor, _key(asked)))


def _edit(asked: PageRequest, proposing: ProposalActions, one: Proposal) -> str:
    wanted = [asked.fields.get(name, "").strip() for name in ("title", "description")]

    def confirm(now: Proposal) -> None:
        is_done = wanted == [now.content.title, now.content.description]  # as by the same form, sent twice
        if asked.fields.get("seen", digest_text(now)) != digest_text(now) and not is_done:
            raise TextChanged

    acted = proposing.edit(
        one.id,
        asked.actor,
        title=asked.fields.get("title"),
        description=asked.fields.get("description"),
        request=_key(asked),
        confirm=confirm,
    )
    return _get_proposal_url(asked, acted)


def _close(asked: PageRequest, proposing: ProposalActions, one: Proposal) -> str:
    text = asked.fields.get("text", "")
    return _get_proposal_url(asked, proposing.close(one.id, asked.actor, text, request=_key(asked)))


def _reopen(asked: PageRequest, proposing: ProposalActions, one: Proposal) -> str:
    text = asked.fields.get("text", "")
    return _get_proposal_url(asked, proposing.reopen(one.id, asked.actor, text, request=_key(asked)))


def _refresh(asked: PageRequest, proposing: ProposalActions, one: Proposal) -> str:
    return _get_proposal_url(asked, proposing.refresh(one.id, asked.actor, request=_key(asked)))


def _merge(asked: PageRequest, proposing: ProposalActions, one: Proposal) -> str:
    commit = asked.fields.get("commit") or None
    return _get_proposal_url(asked, proposing.merge(one.id, asked.actor, commit=commit, request=_key(asked)))


def _get_proposal_url(asked: PageRequest, acted: ActionResult) -> str:
    """Return where the browser sees what was done."""
    return asked.urls.proposal(acted.proposal.id)


def _get_comment_url(asked: PageRequest, acted: ActionResult) -> str:
    """Return the same for words: where they stand."""
    url = _get_proposal_url(asked, acted)
    return f"{url}#said-{acted.event_ids[0]}" if acted.event_ids else url


_ACTS: Mapping[str, Callable[[PageRequest, ProposalActions, Proposal], str]] = {
    "comment": _comment,
    "submit": _submit,
    "approve": _approve,
    "request-changes": _request_changes,
    "merge": _merge,
    "close": _close,
    "reopen": _reopen,
    "refresh": _refresh,
    "edit": _edit,
}
