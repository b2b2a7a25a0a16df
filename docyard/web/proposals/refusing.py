"""What could not be done with a proposal: why, what is new there, and the words, so that none are lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from docyard.web.diff import diff_of
from docyard.web.errors import status_of
from docyard.web.proposals.view import head
from workspace.errors import WorkspaceError
from workspace.proposals.actions import NeedsPerson, NotAnnounced, ProposalEnded
from workspace.proposals.actions.discuss import OwnProposal, ProposalMoved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from docyard.web.diff import Diff
    from docyard.web.request import Asked
    from workspace.proposals import Proposal

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


class UnknownAct(WorkspaceError):
    """Nothing of this name can be done with a proposal."""

    code: ClassVar[str] = "ACT_NOT_FOUND"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(
            "this cannot be done with a proposal", fix=f"What can be done: {', '.join(known)}.", act=name[:60]
        )


class WordsChanged(WorkspaceError):
    """Somebody else has changed the title or description that a form would replace."""

    code: ClassVar[str] = "WORDS_CHANGED"

    def __init__(self) -> None:
        super().__init__(
            "the title or description was changed since you began to edit them",
            fix="Nothing was saved. Take over what you want to keep of how it reads now, and save it again.",
        )


def refused(asked: Asked, one: Proposal, act: str, error: WorkspaceError) -> Response:
    """The page that says why an act was refused; its form holds the words, to be sent again."""
    one = asked.workspace.proposing().one(one.id)  # as it is by now
    words = {name: asked.fields[name] for name in _WORDS if name in asked.fields}
    again_as, again = act, _AGAIN.get(act, "")
    if isinstance(error, _FINAL):
        # The same would be refused again; what was to be said can still be said.
        words = {name: value for name, value in words.items() if name == "text" and value.strip()}
        again_as, again = ("comment", "Say it as a comment") if words else (act, "")
    if isinstance(error, NotAnnounced):
        words = {}  # they are kept
    news = _news(asked, one) if isinstance(error, ProposalMoved) else None
    if isinstance(error, ProposalMoved) and news is None:
        again = ""  # nobody decides on what could not be shown
    return asked.page(
        "refused.html",
        status=status_of(error),
        **head(asked, one),
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


def _news(asked: Asked, one: Proposal) -> Diff | None:
    """What a proposal changed since the commit that the form was made for; None where nobody can tell."""
    from workspace.proposals.review.changes import changes_between

    seen = asked.fields.get("commit", "")
    if one.tip is None or not _COMMIT.fullmatch(seen) or not asked.workspace.exists(seen):
        return None
    try:
        return diff_of(changes_between(asked.workspace.snapshot(seen), asked.workspace.snapshot(one.tip)))
    except WorkspaceError:  # such as an id that is no commit's
        return None
