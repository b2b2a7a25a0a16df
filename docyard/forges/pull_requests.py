"""A proposal becomes a pull request: its branch is pushed, and one pull request of it is opened or updated.

Which one it is, is stored nowhere: the forge knows it by its branch. That one was opened is said in the
discussion, where people find its link.

What a pull request says of its proposal: the title, the description, and the changes by section.

A forge acts on what it reads there: it calls people by `@name`, closes issues by `fixes #1`. These texts are
an author's and a document's, and are sent with the token of somebody else, so all of that is made to be text
and nothing more, by characters that nobody sees.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from docyard.forges import relay
from docyard.forges.errors import ForgeConflict, ForgeRefused, ForgeUnclear, ForgeUnreachable
from docyard.forges.port import NewPullRequest, PullRequest
from workspace.diff.formats import format_markdown
from workspace.errors import WorkspaceError
from workspace.proposals.events import join_lines, remove_controls
from workspace.sync.push import push_proposal

if TYPE_CHECKING:
    from docyard.forges.port import Forge
    from workspace.git.remotes.credentials import Access
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges
    from workspace.workspace import Workspace

MAX_DESCRIPTION_CHARS = 65_536
"""Characters of a description: GitHub's limit; the others take more."""

_ROOM = MAX_DESCRIPTION_CHARS - 536  # for headings and the marker
_DESCRIPTION = 20_000
_TITLE = 250  # GitHub takes 256, GitLab and Gitea 255
_FILES = 50
_UNSEEN = "\u200b"
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")

_ACTED_ON = re.compile(
    r"(?<![A-Za-z0-9])@(?=[\w\\])"  # a person or a group
    r"|(?<![A-Za-z])GH-(?=\d)"
    r"|[#!&$%](?=\d)"  # an issue, a merge request, an epic, a snippet, a milestone
    r"|&(?=#|commat;|num;|excl;)"  # any of these, written as an entity
    r"|<(?=[A-Za-z/!?])"  # HTML, which may hide what follows it
)

_COMMAND = re.compile(r"^([ \t>]*)/(?=[a-zA-Z])", re.MULTILINE)  # a quick action of GitLab

_CLOSING = re.compile(
    r"\b(?i:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)"
    r"(?=:?\s{1,5}(?:issues?\s)?\S{0,200}?(?:#|GH-|://|[A-Z]-\d))"
)


def get_title(proposal: Proposal) -> str:
    """Return the title of a proposal's pull request."""
    found = neutralize_commands(proposal.content.title)  # which takes room too
    return found if len(found) <= _TITLE else found[: _TITLE - 1] + "…"


def format_marker(id: str) -> str:
    """Return the line by which a pull request names its proposal; readers do not see it."""
    return f"<!-- docyard proposal {id} -->"


def build_description(proposal: Proposal, changes: CommitChanges) -> str:
    """Return the description of a proposal's pull request, in Markdown, of at most 65,536 characters."""
    parts = []
    if proposal.content.description:
        parts.append(_description(proposal.content.description))
    room = _ROOM - sum(map(len, parts))
    parts += _told(changes, room)
    parts.append(format_marker(proposal.id))
    # The name of a file may be no text; a mark stands for what is not.
    return "\n\n".join(parts).encode("utf-8", "replace").decode()


def neutralize_commands(text: str) -> str:
    """Return a text that mentions no user, closes no issue and hides nothing on a forge."""
    text = _COMMAND.sub(r"\1\\/", text)
    text = _ACTED_ON.sub(lambda found: found[0] + _UNSEEN, text)
    return _CLOSING.sub(lambda found: found[0][0] + _UNSEEN + found[0][1:], text)


def _description(text: str) -> str:
    if len(text) > _DESCRIPTION:
        text = f"{text[:_DESCRIPTION].rpartition(chr(10))[0] or text[:_DESCRIPTION]}"
        return f"{_ended(neutralize_commands(text))}\n\nThe rest of the description is in the proposal."
    return _ended(neutralize_commands(text))


def _ended(text: str) -> str:
    """Return a text whose last code block does not go on behind it (CommonMark 0.31 §4.5)."""
    fence = ""
    for line in text.splitlines():
        found = _FENCE.fullmatch(line)
        if found is None:
            continue
        ticks, rest = found.groups()
        if not fence:
            fence = ticks if ticks[0] == "~" or "`" not in rest else ""
        elif ticks[0] == fence[0] and len(ticks) >= len(fence) and not rest.strip():
            fence = ""
    return f"{text}\n{fence}" if fence else text


def _told(changes: CommitChanges, room: int) -> list[str]:
    """Return the changes by section, in at most `room` characters, and what is not told of them."""
    parts = []
    if changes.documents:
        most = room - 2_000
        told = neutralize_commands(format_markdown(changes.documents, most))
        while len(told) > room - 1_000 and most > 0:
            # What makes it harmless takes room too.
            most -= len(told) - (room - 1_000) + 100
            told = neutralize_commands(format_markdown(changes.documents, max(most, 0)))
        parts.append(told.strip("\n"))
    if changes.files:
        names = [neutralize_commands(f"- {_code(file)}") for file in changes.files[:_FILES]]
        more = len(changes.files) - len(names)
        names += [f"- and {more:,} more"] if more else []
        listed = "Other files:\n\n" + "\n".join(names)
        if sum(map(len, parts)) + len(listed) <= room:
            parts.append(listed)
        else:
            parts.append(f"Other files: {len(changes.files):,}.")
    if changes.reason:
        parts.append(f"Not all is told: {neutralize_commands(changes.reason)}.")
    return parts


def _code(name: str) -> str:
    """Return a file's name as a code span; one that holds backticks is shown without them."""
    return f"`{name.replace('`', chr(39))}`"


_ROUNDS = 3


class OpenedPullRequest(NamedTuple):
    """A proposal's pull request; `is_new` if it was just opened, `unsent` is why the words did not travel."""

    pull_request: PullRequest
    is_new: bool
    send_error: WorkspaceError | None


def open_pull_request(
    workspace: Workspace, proposal: Proposal, forge: Forge, access: Access
) -> OpenedPullRequest:
    """Push a proposal's branch and its words, then open its pull request, or bring the one it has up to date.

    Done twice, or by two at once, it comes to one pull request, which says what the proposal says last.
    Raises what `push_proposal` raises, and ForgeError.
    """
    unsent = push_proposal(workspace, access, proposal.content.branch)
    new = _new(workspace, proposal)
    found = forge.find(new.head_branch, new.target)
    if found is not None and found.state == "merged" and found.head_sha == proposal.tip:
        return OpenedPullRequest(found, False, unsent)
    done = _done(forge, found, new)
    if not done.pull_request.is_of(new.head_branch, new.target):
        raise ForgeUnclear(relay.format_forge_name(forge.name), "it is of another pull request")
    done = done._replace(pull_request=_up_to_date(workspace, proposal, forge, done.pull_request, new))
    return done._replace(
        send_error=_said(workspace, proposal, forge, done._replace(send_error=unsent), access)
    )


def _new(workspace: Workspace, proposal: Proposal) -> NewPullRequest:
    return NewPullRequest(
        get_title(proposal),
        build_description(proposal, workspace.reviewing().changes(proposal)),
        proposal.content.branch,
        proposal.content.target,
    )


def _up_to_date(
    workspace: Workspace, proposal: Proposal, forge: Forge, found: PullRequest, said: NewPullRequest
) -> PullRequest:
    """Return the pull request, in which another may have said newer words than were said in it now.

    Whoever is the last to write looks again after that, so the last words stay.
    """
    for _ in range(_ROUNDS):
        new = _new(workspace, workspace.proposing().find(proposal.id))
        if new == said:
            break
        found, said = _brought_up_to_date(forge, found, new), new
    return found


def _done(forge: Forge, found: PullRequest | None, new: NewPullRequest) -> OpenedPullRequest:
    if found is not None and found.state == "open":
        return OpenedPullRequest(_brought_up_to_date(forge, found, new), False, None)
    if found is not None and found.state == "closed":
        try:
            return OpenedPullRequest(_reopened(forge, found, new), False, None)
        except (ForgeConflict, ForgeRefused):
            pass  # as where its branch was gone for a while: another one is opened
    return _opened(forge, new)


def _said(
    workspace: Workspace, proposal: Proposal, forge: Forge, done: OpenedPullRequest, access: Access
) -> WorkspaceError | None:
    """Say where the pull request is, once, and send that; why it did not travel.

    Also where it was opened before: whoever opened it may have been stopped before it was said.
    """
    found = done.pull_request
    if not found.url:
        return done.send_error
    try:
        new = workspace.proposing().relay(
            proposal.id, [relay.build_opened_event(forge.name, found, proposal)]
        )
        return push_proposal(workspace, access, proposal.content.branch) if new else done.send_error
    except WorkspaceError as error:
        return error


def _opened(forge: Forge, new: NewPullRequest) -> OpenedPullRequest:
    try:
        return OpenedPullRequest(forge.open(new), True, None)
    except (ForgeConflict, ForgeRefused, ForgeUnreachable):
        # Another was first, for which each forge has a status of its own, or it was done and the answer was
        # lost: the forge is asked what it has.
        found = forge.find(new.head_branch, new.target)
        if found is None or found.state != "open":
            raise
        return OpenedPullRequest(_brought_up_to_date(forge, found, new), False, None)


def _reopened(forge: Forge, found: PullRequest, new: NewPullRequest) -> PullRequest:
    forge.update(found.number, state="open")
    return _brought_up_to_date(forge, forge.get(found.number), new)


def _brought_up_to_date(forge: Forge, found: PullRequest, new: NewPullRequest) -> PullRequest:
    title = None if found.title == join_lines(new.title) else new.title
    body = None if found.body == remove_controls(new.body) else new.body
    if title is None and body is None:
        return found
    return forge.update(found.number, title=title, body=body)
