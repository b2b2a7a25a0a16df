"""What people do with a proposal, each by a form, and done once however often that is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docyard.web.diff import place_id
from docyard.web.proposals.conflicts import resolve
from docyard.web.proposals.refusing import UnknownAct, WordsChanged, refused
from docyard.web.proposals.submitting import submit
from docyard.web.proposals.view import seen_words
from workspace.errors import WorkspaceError
from workspace.merge.committing import MergeConflict
from workspace.proposals import Verdict
from workspace.proposals.actions import NotAnnounced
from workspace.publishing.after_commit import has_committed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.responses import Response

    from docyard.web.request import Asked
    from workspace.proposals import Proposal
    from workspace.proposals.actions import Acted, Proposing


def act(asked: Asked) -> Response:
    """Does what a form asks for, and sends the browser to where that is seen."""
    proposing = asked.workspace.proposing()
    name = asked.path["act"]
    one = proposing.one(asked.path["id"])
    if name == "resolve":
        return resolve(asked, one)
    doing = _ACTS.get(name)
    if doing is None:
        raise UnknownAct(name, [*_ACTS, "resolve"])
    try:
        return asked.redirect(doing(asked, proposing, one))
    except MergeConflict:
        return asked.redirect(asked.urls.proposal(one.id, "conflicts"))
    except WorkspaceError as error:
        if has_committed() and not isinstance(error, NotAnnounced):
            raise
        return refused(asked, one, name, error)


def back(asked: Asked) -> Response:
    """The address of a form's answer, asked for by itself: it leads to the proposal."""
    return asked.redirect(asked.urls.proposal(asked.workspace.proposing().one(asked.path["id"]).id))


def _key(asked: Asked) -> str | None:
    return asked.fields.get("key") or None


def _comment(asked: Asked, proposing: Proposing, one: Proposal) -> str:
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
        id = place_id(file, slug) if slug is not None else place_id(file)
        shown = asked.urls.proposal(
            one.id, "changes", view=view, path=fields.get("path"), offset=fields.get("offset")
        )
        return f"{shown}#{id}"
    return _heard(asked, acted)


def _approve(asked: Asked, proposing: Proposing, one: Proposal) -> str:
    return _review(asked, proposing, one, Verdict.APPROVE)


def _request_changes(asked: Asked, proposing: Proposing, one: Proposal) -> str:
    return _review(asked, proposing, one, Verdict.REQUEST_CHANGES)


def _review(asked: Asked, proposing: Proposing, one: Proposal, verdict: Verdict) -> str:
    acted = proposing.review(
        one.id,
        asked.actor,
        verdict,
        asked.fields.get("text", ""),
        commit=asked.fields.get("commit") or None,
        request=_key(asked),
    )
    return _heard(asked, acted)


def _submit(asked: Asked, proposing: Proposing, one: Proposal) -> str:
    return _seen(asked, submit(proposing, one.id, asked.actor, _key(asked)))


def _edit(asked: Asked, proposing: Proposing, one: Proposal) -> str:
    wanted = [asked.fields.get(name, "").strip() for name in ("title", "description")]

    def confirm(now: Proposal) -> None:
        is_done = wanted == [now.words.title, now.words.description]  # as by the same form, sent twice
        if asked.fields.get("seen", seen_words(now)) != seen_words(now) and not is_done:
            raise WordsChanged

    acted = proposing.edit(
        one.id,
        asked.actor,
        title=asked.fields.get("title"),
        description=asked.fields.get("description"),
        request=_key(asked),
        confirm=confirm,
    )
    return _seen(asked, acted)


def _close(asked: Asked, proposing: Proposing, one: Proposal) -> str:
    text = asked.fields.get("text", "")
    return _seen(asked, proposing.close(one.id, asked.actor, text, request=_key(asked)))


def _reopen(asked: Asked, proposing: Proposing, one: Proposal) -> str:
    text = asked.fields.get("text", "")
    return _seen(asked, proposing.reopen(one.id, asked.actor, text, request=_key(asked)))


def _refresh(asked: Asked, proposing: Proposing, one: Proposal) -> str:
    return _seen(asked, proposing.refresh(one.id, asked.actor, request=_key(asked)))


def _merge(asked: Asked, proposing: Proposing, one: Proposal) -> str:
    commit = asked.fields.get("commit") or None
    return _seen(asked, proposing.merge(one.id, asked.actor, commit=commit, request=_key(asked)))


def _seen(asked: Asked, acted: Acted) -> str:
    """Where the browser sees what was done."""
    return asked.urls.proposal(acted.proposal.id)


def _heard(asked: Asked, acted: Acted) -> str:
    """The same for words: where they stand."""
    url = _seen(asked, acted)
    return f"{url}#said-{acted.said[0]}" if acted.said else url


_ACTS: Mapping[str, Callable[[Asked, Proposing, Proposal], str]] = {
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
