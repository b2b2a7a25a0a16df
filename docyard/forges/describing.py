"""What a pull request says of its proposal: the title, the description, and the changes by section.

A forge acts on what it reads there: it calls people by `@name`, closes issues by `fixes #1`. These texts are
an author's and a document's, and are sent with the token of somebody else, so all of that is made to be text
and nothing more, by characters that nobody sees.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.diff import as_markdown

if TYPE_CHECKING:
    from workspace.proposals import Proposal
    from workspace.proposals.review import Changes

MOST = 65_536
"""Characters of a description: GitHub's limit; the others take more."""

_ROOM = MOST - 536  # for headings and the marker
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


def title_of(proposal: Proposal) -> str:
    """The title of a proposal's pull request."""
    found = harmless(proposal.words.title)  # which takes room too
    return found if len(found) <= _TITLE else found[: _TITLE - 1] + "…"


def marker(id: str) -> str:
    """The line by which a pull request names its proposal; readers do not see it."""
    return f"<!-- docyard proposal {id} -->"


def described(proposal: Proposal, changes: Changes) -> str:
    """The description of a proposal's pull request, in Markdown, of at most 65,536 characters."""
    parts = []
    if proposal.words.description:
        parts.append(_description(proposal.words.description))
    room = _ROOM - sum(map(len, parts))
    parts += _told(changes, room)
    parts.append(marker(proposal.id))
    # The name of a file may be no text; a mark stands for what is not.
    return "\n\n".join(parts).encode("utf-8", "replace").decode()


def harmless(text: str) -> str:
    """A text of which a forge calls nobody, closes nothing and hides nothing."""
    text = _COMMAND.sub(r"\1\\/", text)
    text = _ACTED_ON.sub(lambda found: found[0] + _UNSEEN, text)
    return _CLOSING.sub(lambda found: found[0][0] + _UNSEEN + found[0][1:], text)


def _description(text: str) -> str:
    if len(text) > _DESCRIPTION:
        text = f"{text[:_DESCRIPTION].rpartition(chr(10))[0] or text[:_DESCRIPTION]}"
        return f"{_ended(harmless(text))}\n\nThe rest of the description is in the proposal."
    return _ended(harmless(text))


def _ended(text: str) -> str:
    """A text whose last code block does not go on behind it (CommonMark 0.31 §4.5)."""
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


def _told(changes: Changes, room: int) -> list[str]:
    """The changes by section, in at most `room` characters, and what is not told of them."""
    parts = []
    if changes.documents:
        most = room - 2_000
        told = harmless(as_markdown(changes.documents, most))
        while len(told) > room - 1_000 and most > 0:
            # What makes it harmless takes room too.
            most -= len(told) - (room - 1_000) + 100
            told = harmless(as_markdown(changes.documents, max(most, 0)))
        parts.append(told.strip("\n"))
    if changes.files:
        names = [harmless(f"- {_code(file)}") for file in changes.files[:_FILES]]
        more = len(changes.files) - len(names)
        names += [f"- and {more:,} more"] if more else []
        listed = "Other files:\n\n" + "\n".join(names)
        if sum(map(len, parts)) + len(listed) <= room:
            parts.append(listed)
        else:
            parts.append(f"Other files: {len(changes.files):,}.")
    if changes.reason:
        parts.append(f"Not all is told: {harmless(changes.reason)}.")
    return parts


def _code(name: str) -> str:
    """A file's name as a code span; one that holds backticks is shown without them."""
    return f"`{name.replace('`', chr(39))}`"
