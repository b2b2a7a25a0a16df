"""The pull request of a proposal: push its branch, then open or update one pull request.

The id of the pull request is not stored: the forge finds the pull request by its branch. Its link is added
to the discussion. A pull request has the proposal's title, its description, and the changes by section.

A forge executes some texts of a description: `@name` notifies a user, `fixes #1` closes an issue. These texts
come from authors and documents, but are sent with another user's token. So they are escaped with invisible
characters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from docyard.forges import event_conversion
from docyard.forges.errors import ForgeConflict, ForgeRequestRejected, ForgeUnreachable, InvalidForgeResponse
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
"""Maximum length of a description: GitHub's limit; other forges allow more."""

_BUDGET_CHARS = MAX_DESCRIPTION_CHARS - 536  # 536 characters are reserved for headings and the marker
_NOTES_CHARS = 1_000  # reserved for the list of other files, and for the reason of omitted changes
_EXPECTED_ESCAPE_CHARS = 1_000  # added by `neutralize_commands`
_MAX_OWN_DESCRIPTION_CHARS = 20_000
_MAX_TITLE_CHARS = 250  # GitHub allows 256, GitLab and Gitea 255
_MAX_FILES = 50
_ZERO_WIDTH_SPACE = "\u200b"
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")

_EXECUTED_TEXT = re.compile(
    r"(?<![A-Za-z0-9])@(?=[\w\\])"  # a person or a group
    r"|(?<![A-Za-z])GH-(?=\d)"
    r"|[#!&$%](?=\d)"  # an issue, a merge request, an epic, a snippet, a milestone
    r"|&(?=#|commat;|num;|excl;)"  # one of these characters as an entity
    r"|<(?=[A-Za-z/!?])"  # HTML, which may hide the text after it
)

_COMMAND = re.compile(r"^([ \t>]*)/(?=[a-zA-Z])", re.MULTILINE)  # a quick action of GitLab

_CLOSING_KEYWORD = re.compile(
    r"\b(?i:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)"
    r"(?=:?\s{1,5}(?:issues?\s)?\S{0,200}?(?:#|GH-|://|[A-Z]-\d))"
)


def format_title(proposal: Proposal) -> str:
    """Return the title of a proposal's pull request."""
    title = neutralize_commands(proposal.content.title)  # before truncation, because it adds characters
    return title if len(title) <= _MAX_TITLE_CHARS else title[: _MAX_TITLE_CHARS - 1] + "…"


def format_marker(id: str) -> str:
    """Return the hidden line of a description that names the proposal."""
    return f"<!-- docyard proposal {id} -->"


def build_description(proposal: Proposal, changes: CommitChanges) -> str:
    """Return the description of a proposal's pull request, in Markdown, of at most 65,536 characters."""
    parts = []
    if proposal.content.description:
        parts.append(_format_description(proposal.content.description))
    budget = _BUDGET_CHARS - sum(map(len, parts))
    parts += _format_changes(changes, budget)
    parts.append(format_marker(proposal.id))
    # Bytes of a file name that are not UTF-8 become question marks.
    return "\n\n".join(parts).encode("utf-8", "replace").decode()


def neutralize_commands(text: str) -> str:
    """Return a text that mentions no user, closes no issue and hides nothing on a forge."""
    text = _COMMAND.sub(r"\1\\/", text)
    text = _EXECUTED_TEXT.sub(lambda match: match[0] + _ZERO_WIDTH_SPACE, text)
    return _CLOSING_KEYWORD.sub(lambda match: match[0][0] + _ZERO_WIDTH_SPACE + match[0][1:], text)


def _format_description(text: str) -> str:
    if len(text) > _MAX_OWN_DESCRIPTION_CHARS:
        text = (
            f"{text[:_MAX_OWN_DESCRIPTION_CHARS].rpartition(chr(10))[0] or text[:_MAX_OWN_DESCRIPTION_CHARS]}"
        )
        return f"{_close_fence(neutralize_commands(text))}\n\nThe rest of the description is in the proposal."
    return _close_fence(neutralize_commands(text))


def _close_fence(text: str) -> str:
    """Return a text whose last fenced code block is closed (CommonMark 0.31 §4.5)."""
    fence = ""
    for line in text.splitlines():
        match = _FENCE.fullmatch(line)
        if match is None:
            continue
        marker, info_string = match.groups()
        if not fence:
            fence = marker if marker[0] == "~" or "`" not in info_string else ""
        elif marker[0] == fence[0] and len(marker) >= len(fence) and not info_string.strip():
            fence = ""
    return f"{text}\n{fence}" if fence else text


def _format_changes(changes: CommitChanges, budget: int) -> list[str]:
    """Return the changes by section, in at most `budget` characters, and a note about omitted changes."""
    parts = []
    if changes.documents:
        max_chars = budget - _NOTES_CHARS - _EXPECTED_ESCAPE_CHARS
        text = neutralize_commands(format_markdown(changes.documents, max_chars))
        while len(text) > budget - _NOTES_CHARS and max_chars > 0:
            # Escaping added more characters than expected.
            max_chars -= len(text) - (budget - _NOTES_CHARS) + 100
            text = neutralize_commands(format_markdown(changes.documents, max(max_chars, 0)))
        parts.append(text.strip("\n"))
    if changes.files:
        names = [neutralize_commands(f"- {_format_code(file)}") for file in changes.files[:_MAX_FILES]]
        omitted_count = len(changes.files) - len(names)
        names += [f"- and {omitted_count:,} more"] if omitted_count else []
        file_list = "Other files:\n\n" + "\n".join(names)
        if sum(map(len, parts)) + len(file_list) <= budget:
            parts.append(file_list)
        else:
            parts.append(f"Other files: {len(changes.files):,}.")
    if changes.reason:
        parts.append(f"Some changes are not shown: {neutralize_commands(changes.reason)}.")
    return parts


def _format_code(name: str) -> str:
    """Return a file's name as a code span, with apostrophes instead of backticks."""
    return f"`{name.replace('`', chr(39))}`"


_MAX_UPDATES = 3


class OpenedPullRequest(NamedTuple):
    """A proposal's pull request. `is_new` is true if the pull request was just opened.

    `send_error` is the error of pushing the discussion; None if the push succeeded.
    """

    pull_request: PullRequest
    is_new: bool
    send_error: WorkspaceError | None


def open_pull_request(
    workspace: Workspace, proposal: Proposal, forge: Forge, access: Access
) -> OpenedPullRequest:
    """Push a proposal's branch and its discussion, then open or update its pull request.

    Two calls, even at the same time, result in one pull request with the proposal's last state.
    Raises ForgeError and the errors of `push_proposal`.
    """
    send_error = push_proposal(workspace, access, proposal.content.branch)
    new_request = _describe_proposal(workspace, proposal)
    existing_request = forge.find(new_request.head_branch, new_request.target)
    if (
        existing_request is not None
        and existing_request.state == "merged"
        and existing_request.head_sha == proposal.tip
    ):
        return OpenedPullRequest(existing_request, False, send_error)
    opened_request = _open_or_update(forge, existing_request, new_request)
    pull_request = opened_request.pull_request
    if not pull_request.matches_branches(new_request.head_branch, new_request.target):
        problem = (
            f"the response is for pull request {pull_request.number}, which has another branch or target"
        )
        raise InvalidForgeResponse(event_conversion.format_forge_name(forge.name), problem)
    pull_request = _update_until_current(workspace, proposal, forge, pull_request, new_request)
    opened_request = OpenedPullRequest(pull_request, opened_request.is_new, send_error)
    return opened_request._replace(
        send_error=_record_link(workspace, proposal, forge, opened_request, access)
    )


def _describe_proposal(workspace: Workspace, proposal: Proposal) -> NewPullRequest:
    return NewPullRequest(
        format_title(proposal),
        build_description(proposal, workspace.proposal_reviews().changes(proposal)),
        proposal.content.branch,
        proposal.content.target,
    )


def _update_until_current(
    workspace: Workspace,
    proposal: Proposal,
    forge: Forge,
    pull_request: PullRequest,
    sent_request: NewPullRequest,
) -> PullRequest:
    """Update the pull request while the proposal changes, and return it.

    The proposal is read again after each update, so that the last of several writers leaves the newest text.
    """
    for _ in range(_MAX_UPDATES):
        new_request = _describe_proposal(workspace, workspace.proposal_actions().find(proposal.id))
        if new_request == sent_request:
            break
        pull_request, sent_request = _update(forge, pull_request, new_request), new_request
    return pull_request


def _open_or_update(
    forge: Forge, pull_request: PullRequest | None, new_request: NewPullRequest
) -> OpenedPullRequest:
    if pull_request is not None and pull_request.state == "open":
        return OpenedPullRequest(_update(forge, pull_request, new_request), False, None)
    if pull_request is not None and pull_request.state == "closed":
        try:
            return OpenedPullRequest(_reopen(forge, pull_request, new_request), False, None)
        except (ForgeConflict, ForgeRequestRejected):
            pass  # for example, its branch was deleted: open a new pull request
    return _open(forge, new_request)


def _record_link(
    workspace: Workspace, proposal: Proposal, forge: Forge, opened_request: OpenedPullRequest, access: Access
) -> WorkspaceError | None:
    """Add the link of the pull request to the discussion once, and push it; return the error of the push.

    An existing pull request may lack its link, because the process that opened it may have been stopped.
    """
    pull_request = opened_request.pull_request
    if not pull_request.url:
        return opened_request.send_error
    try:
        new_events = workspace.proposal_actions().relay(
            proposal.id, [event_conversion.build_opened_event(forge.name, pull_request, proposal)]
        )
        return (
            push_proposal(workspace, access, proposal.content.branch)
            if new_events
            else opened_request.send_error
        )
    except WorkspaceError as error:
        return error


def _open(forge: Forge, new_request: NewPullRequest) -> OpenedPullRequest:
    try:
        return OpenedPullRequest(forge.open(new_request), True, None)
    except (ForgeConflict, ForgeRequestRejected, ForgeUnreachable):
        # Another caller opened a pull request first, or the response was lost. Forges report this with
        # different statuses, so the current pull request is read.
        pull_request = forge.find(new_request.head_branch, new_request.target)
        if pull_request is None or pull_request.state != "open":
            raise
        return OpenedPullRequest(_update(forge, pull_request, new_request), False, None)


def _reopen(forge: Forge, pull_request: PullRequest, new_request: NewPullRequest) -> PullRequest:
    forge.update(pull_request.number, state="open")
    return _update(forge, forge.get(pull_request.number), new_request)


def _update(forge: Forge, pull_request: PullRequest, new_request: NewPullRequest) -> PullRequest:
    title = None if pull_request.title == join_lines(new_request.title) else new_request.title
    body = None if pull_request.body == remove_controls(new_request.body) else new_request.body
    if title is None and body is None:
        return pull_request
    return forge.update(pull_request.number, title=title, body=body)
