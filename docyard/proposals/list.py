"""The list of proposals, for pages and commands: its filters, and the values of each entry."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from docyard.proposals.inbox import get_inbox
from docyard.proposals.state_filters import ALL_STATES, OPEN_STATES, has_state
from docyard.wording import format_age, format_author, format_count, join_words, shorten
from workspace.errors import WorkspaceError
from workspace.globs import Glob, find_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from workspace.proposals.attention import ApprovalCount, Attention, Reviewer
    from workspace.proposals.participants import Participant, Participants
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.review import TargetTips
    from workspace.workspace import Workspace

_MAX_NAMES = 3
_MAX_SUGGESTED_AUTHORS = 5
_MAX_NAME_CHARACTERS = 40
_WILDCARDS = frozenset("*?[")


class InvalidFilter(WorkspaceError):
    """An error: the value of a filter is invalid."""

    code = "INVALID_FILTER"


class ProposalFilter(NamedTuple):
    """The filters of a list; an empty text selects all proposals.

    `author` is a handle, an address or a name, or a part of the name of an author or client. `path` is a
    part of a path in any letter case, or a glob. `search` has words that are all in the id, title,
    description or comments. `needed` are the ids of the proposals to select; None for all.
    """

    state: str = OPEN_STATES
    author: str = ""
    path: str = ""
    search: str = ""
    needed: Collection[str] | None = None

    @property
    def has_only_state(self) -> bool:
        """Return True if no other filter than the state is set."""
        return not (self.author or self.path or self.search) and self.needed is None


class ProposalEntry(NamedTuple):
    """A proposal in a list, with the people whom it concerns.

    `path_count` is the number of changed paths; None if it is unknown.
    """

    proposal: Proposal
    attention: Attention
    path_count: int | None

    @property
    def author(self) -> str:
        """The name of the author, with the client that writes in the author's name."""
        return format_author(self.proposal.content.author)

    @property
    def short_author(self) -> str:
        """The name of the author in at most 40 characters."""
        return shorten(self.author, _MAX_NAME_CHARACTERS)

    def is_updated_later(self, now: datetime) -> bool:
        """Return True if the age of the last event differs from that of the opening, as text."""
        content = self.proposal.content
        return format_age(content.updated_at, now) != format_age(content.opened_at, now)

    @property
    def open_comment_count(self) -> int:
        """The number of threads that are not resolved."""
        return sum(thread.resolution is None for thread in self.proposal.content.threads)

    @property
    def approval_text(self) -> str:
        """The approvals of the current commit, such as `1 of 2 approvals`; empty if there are none."""
        return _format_approvals(self.attention.approvals) if self.proposal.is_open else ""

    @property
    def approval_cell(self) -> str:
        """The approvals in a table: `1/2` if a rule requires two, else `1`."""
        count = self.attention.approvals
        return f"{count.given}/{count.needed}" if count.needed else str(count.given)

    @property
    def mentioned(self) -> tuple[Participant, ...]:
        """The people who have not answered a mention, each once."""
        mentions = self.attention.mentions
        return tuple(dict.fromkeys(mention.person for mention in mentions if not mention.is_answered))

    @property
    def people(self) -> tuple[PeopleGroup, ...]:
        """The reviewers and the mentioned people, by what they did or what the proposal waits for."""
        attention = self.attention
        undecided = [reviewer for reviewer in attention.reviewers if reviewer.decision is None]
        groups = (
            PeopleGroup("approved by", _name_people(attention.approved_by), "good"),
            PeopleGroup("changes requested by", _name_people(attention.changes_requested_by), "warn"),
            PeopleGroup("waits for", _name_reviewers(undecided, is_awaited=True)),
            PeopleGroup("reviewers", _name_reviewers(undecided, is_awaited=False)),
            PeopleGroup("mentions", _name_people(self.mentioned)),
        )
        return tuple(group for group in groups if group.names)


class PeopleGroup(NamedTuple):
    """People of a proposal, with a label. `kind` is "good", "warn", or empty."""

    label: str
    names: tuple[str, ...]
    kind: str = ""

    @property
    def text(self) -> str:
        """The label with the first names, and the number of others: `approved by Ana, Bea and 2 more`."""
        names = [shorten(name, _MAX_NAME_CHARACTERS) for name in self.names[:_MAX_NAMES]]
        if len(self.names) > _MAX_NAMES:
            names.append(f"{len(self.names) - _MAX_NAMES:,} more")
        return f"{self.label} {join_words(names)}"


def _name_people(people: Sequence[Participant]) -> tuple[str, ...]:
    return tuple(person.shown_name for person in people)


def _name_reviewers(reviewers: Sequence[Reviewer], *, is_awaited: bool) -> tuple[str, ...]:
    names = (
        reviewer.person.shown_name if reviewer.person is not None else reviewer.name
        for reviewer in reviewers
        if reviewer.is_awaited == is_awaited
    )
    return tuple(dict.fromkeys(names))


def _format_approvals(count: ApprovalCount) -> str:
    if count.needed:
        return f"{count.given} of {format_count(count.needed, 'approval')}"
    return format_count(count.given, "approval") if count.given else ""


def normalize_path(text: str) -> str:
    """Return the path of a filter without `./` and a final slash. Raises InvalidFilter if it is no glob."""
    path = text.strip().removeprefix("./").rstrip("/")
    if not path or path == ".":
        return ""
    problem = find_problem(path)
    if problem is not None:
        raise InvalidFilter(f"the path {problem}", fix="Use a document, a folder or a glob, such as guides.")
    return path


def select_proposals(
    workspace: Workspace, proposals: Sequence[Proposal], proposal_filter: ProposalFilter
) -> list[Proposal]:
    """Return the proposals that match a filter, in their order.

    Paths are compared only for proposals that match all other filters, and merges are never computed.
    `proposals` are all of the repository.
    """
    tests: list[Callable[[Proposal], bool]] = [
        lambda proposal: has_state(proposal, proposal_filter.state),
    ]
    needed = proposal_filter.needed
    if needed is not None:
        tests.append(lambda proposal: proposal.id in needed)
    if proposal_filter.author:
        people = get_inbox(workspace).list_people(proposals)
        tests.append(_make_author_test(proposal_filter.author, people))
    if words := proposal_filter.search.casefold().split():
        tests.append(lambda proposal: _has_words(proposal, words))
    if proposal_filter.path:
        tests.append(_make_path_test(workspace, proposal_filter.path))
    return [proposal for proposal in proposals if all(test(proposal) for test in tests)]


def _make_author_test(text: str, people: Participants) -> Callable[[Proposal], bool]:
    person = people.find(text)
    if person is not None:
        return lambda proposal: people.recognize(proposal.content.author).key == person.key
    part = text.casefold()
    return lambda proposal: (
        part in format_author(proposal.content.author).casefold()
        or part in proposal.content.author.email.casefold()
    )


def _has_words(proposal: Proposal, words: Sequence[str]) -> bool:
    content = proposal.content
    comments = [comment.text for thread in content.threads for comment in (thread.comment, *thread.replies)]
    text = "\n".join((content.id, content.title, content.description, *comments)).casefold()
    return all(word in text for word in words)


def _make_path_test(workspace: Workspace, path: str) -> Callable[[Proposal], bool]:
    glob, reviews = Glob.compile(path), workspace.proposal_reviews()
    tips: TargetTips = {}
    part = "" if _WILDCARDS.intersection(path) else path.casefold()

    def matches_path(changed_path: str) -> bool:
        return glob.matches(changed_path) or bool(part and part in changed_path.casefold())

    def matches(proposal: Proposal) -> bool:
        try:
            return any(map(matches_path, reviews.changed_paths(proposal, tips)))
        except WorkspaceError:  # such as a commit that a shallow clone lacks
            return False

    return matches


def build_entries(
    workspace: Workspace,
    selected_proposals: Sequence[Proposal],
    proposals: Sequence[Proposal],
    *,
    max_merge_s: float | None = None,
) -> list[ProposalEntry]:
    """Return the entries of the selected proposals; `proposals` are all of the repository.

    Merges are computed for at most `max_merge_s` seconds; further conflicts are unknown.
    """
    attentions = get_inbox(workspace).read_all(selected_proposals, proposals, max_merge_s=max_merge_s)
    tips: TargetTips = {}
    return [
        ProposalEntry(proposal, attentions[proposal.id], _count_paths(workspace, proposal, tips))
        for proposal in selected_proposals
    ]


def _count_paths(workspace: Workspace, proposal: Proposal, tips: TargetTips) -> int | None:
    try:
        return len(workspace.proposal_reviews().changed_paths(proposal, tips))
    except WorkspaceError:  # such as a commit that a shallow clone lacks
        return None


def list_authors(workspace: Workspace, proposals: Sequence[Proposal], limit: int) -> list[str]:
    """Return the names of the people who opened most proposals, those with the most first."""
    people = get_inbox(workspace).list_people(proposals)
    counts = Counter(people.recognize(proposal.content.author) for proposal in proposals)
    ordered = sorted(counts, key=lambda person: (-counts[person], person.shown_name.casefold()))
    return list(dict.fromkeys(shorten(person.shown_name, _MAX_NAME_CHARACTERS) for person in ordered))[:limit]


def suggest_authors(
    workspace: Workspace, proposals: Sequence[Proposal], proposal_filter: ProposalFilter
) -> list[str]:
    """Return the names of authors if no proposal in any state has the author of a filter; else nothing."""
    author_filter = ProposalFilter(ALL_STATES, author=proposal_filter.author)
    if not proposal_filter.author or select_proposals(workspace, proposals, author_filter):
        return []
    return list_authors(workspace, proposals, _MAX_SUGGESTED_AUTHORS)
