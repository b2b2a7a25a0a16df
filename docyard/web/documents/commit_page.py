"""What a commit changed, section by section."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import Response

from docyard.web.urls import with_query
from workspace.git.messages import read_trailers
from workspace.history.told import told
from workspace.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from docyard.web.documents.sidebar import Surroundings
    from docyard.web.request import Asked
    from workspace.git import Commit
    from workspace.history import Told

_MOST_MESSAGE = 20_000  # characters that are shown
_MOST_PARENTS = 20
_IS_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S")


class Message(NamedTuple):
    """A commit's message without its subject and without the trailers that are told in words."""

    body: str
    others: tuple[tuple[str, str], ...]


def commit_page(asked: Asked, surroundings: Surroundings) -> Response:
    """A commit and what differs from its first parent. Raises RefNotFound, NotACommit, NoHistory."""
    from docyard.web.diff import diff_of
    from workspace.revisions import find_ref

    asked.workspace.history()  # says so where there is none
    id = find_ref(asked.workspace, asked.path["id"])
    commit = asked.workspace.git.commit(id)
    view = "inline" if asked.query.get("view") == "inline" else "side"
    given = asked.query.get("offset", "")
    offset = int(given) if given.isascii() and given.isdecimal() and len(given) < 9 else 0
    before, is_shallow = _before(asked, commit)
    changes = None if is_shallow else surroundings.changes(before, asked.workspace.snapshot(id))
    here = asked.urls.commit(id)
    other = "inline" if view == "side" else "side"
    return asked.page(
        "commit.html",
        commit=id,
        told=told(commit),
        message=_message(commit.message),
        parents=commit.parents[:_MOST_PARENTS],
        proposal=_proposal(asked, told(commit)),
        diff=diff_of(changes, offset=offset) if changes else None,
        view=view,
        other_view=with_query(here, view=other),
        link=lambda at: with_query(here, view=view, offset=at or None),
    )


def _before(asked: Asked, commit: Commit) -> tuple[Snapshot, bool]:
    """The first parent, nothing for the first commit of all; and whether a shallow clone does not have it."""
    git = asked.workspace.git
    if not commit.parents:
        return Snapshot(git, None), False
    if not git.has(commit.parents[0]):
        return Snapshot(git, None), True
    return asked.workspace.snapshot(commit.parents[0]), False


def _proposal(asked: Asked, told: Told) -> str | None:
    """The proposal that a commit says it came from, if there is one: anybody may write a trailer."""
    wanted = told.proposal
    if wanted is None:
        return None
    return next((one.id for one in asked.proposals if one.id == wanted), None)


def _message(message: str) -> Message:
    body = message.strip().partition("\n")[2].strip()
    above, _, last = body.rpartition("\n\n")
    others: tuple[tuple[str, str], ...] = ()
    if last and all(_IS_TRAILER.match(line) for line in last.split("\n")):
        trailers = read_trailers(message)
        others = tuple((name, value) for name, value in trailers.items() if not name.startswith("Docyard-"))
        body = above.strip()
    return Message(body if len(body) <= _MOST_MESSAGE else body[:_MOST_MESSAGE] + "…", others)
