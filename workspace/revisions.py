"""Refs: the names by which people and agents request commits to read (gitrevisions(7)).

    main  v1.2  origin/main  HEAD     a branch, a tag, a remote branch, the checked-out commit
    3f2a91c                           a commit's id, or at least four characters of its beginning
    k7m2q9xa                          a proposal: the tip of its branch, or its merged tip
    main~2  HEAD^  v1.2^2             counted back from a ref: first parents, or a merge's second parent
    @{2026-01-31}                     the served branch at the end of that day, UTC
    @{2026-01-31T12:00}               the served branch at that time; seconds and a Z may follow
    main@{2026-01-31}                 another ref at the end of that day

A date means the newest commit that was not committed after it, in first-parent history. Git itself reads
dates from the reflog, which a clone lacks and which expires; the history is equal in all clones.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError
from workspace.git.repository import DamagedRepository
from workspace.git.tips import Tips
from workspace.nearest import find_nearest
from workspace.proposal_ids import PROPOSAL_BRANCH_PREFIX, parse_branch_id, read_id, read_id_prefix
from workspace.proposals.event_log import EventLog
from workspace.proposals.proposal import Proposals, ProposalState, replay_events

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.git.ancestry import Graph
    from workspace.git.reader import GitReader
    from workspace.lru_cache import LRUCache

MAX_REF_LENGTH = 1_000
"""The maximum length of a ref in characters. Git cannot store a name that is much longer."""

REF_FORMS = (
    "A ref is a branch, a tag, a commit's id, a proposal's id, HEAD, a commit counted back from "
    "one of these (main~2, main^), or a date: @{2026-01-31}, @{2026-01-31T12:00}."
)

_MAX_SHOWN_LENGTH = 100
_MAX_LISTED_NAMES = 5
_PROPOSAL_ID_LENGTH = 8
_STEPS_PATTERN = re.compile(r"(?:~\d{0,9}|\^\d{0,4}|\^\{(?:commit)?\})+", re.ASCII)
_SEARCH_STEP = re.compile(r"\^\{(?!commit\}|\})", re.ASCII)
_STEP_PATTERN = re.compile(r"([~^])(\d*)(\{?)", re.ASCII)
_DAY = r"(?P<day>\d{4}-\d{2}-\d{2})"
_DATE_PATTERN = re.compile(_DAY + r"(?:[T ](?P<clock>\d{2}:\d{2}(?::\d{2})?)Z?)?", re.ASCII)
_BARE_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_LAST_SECOND = time(23, 59, 59)


class RefNotFound(WorkspaceError):
    """An error: a ref does not exist, or its name is invalid.

    `refs`, if given, are the most similar names, or else some existing names.
    """

    code = "REF_NOT_FOUND"


class NotACommit(WorkspaceError):
    """An error: a ref names a file's content or a folder, or searches for a commit.

    `kind`, if given, is the type of the named Git object, such as "blob" or "tree".
    """

    code = "NOT_A_COMMIT"


class BeforeHistory(WorkspaceError):
    """An error: a date is before the first commit. `first` is the commit's time (ISO 8601, UTC), if known."""

    code = "BEFORE_HISTORY"


def resolve_branch_ref(workspace: Branch, ref: str) -> str:
    """Return the id of the commit that a ref names.

    Raises RefNotFound, NotACommit, BeforeHistory, AmbiguousId, AmbiguousProposal, NoProposedCommit,
    DamagedRepository.
    """
    return resolve_ref(workspace.git, ref, workspace.tip(), workspace.commits_by_date)


def resolve_since(workspace: Branch, since: str) -> str | None:
    """Return the id of the commit after which changes count, by a ref, or by a date also without `@{}`.

    None, for a date before the first commit, means that everything has changed. Raises the errors of
    `resolve_branch_ref`.
    """
    since = since.strip()
    try:
        try:
            return resolve_branch_ref(workspace, since)
        except (RefNotFound, NotACommit):
            # A time has a colon, like the path of a file in a commit.
            if not _DATE_PATTERN.fullmatch(since):
                raise
        return resolve_branch_ref(workspace, f"@{{{since}}}")
    except BeforeHistory:
        # A shallow clone does not have the commits that would be compared.
        if workspace.git.is_shallow:
            raise
        return None


def resolve_ref(
    git: GitReader, ref: str, tip: str | None, commits_by_date: LRUCache[tuple[str, int], str] | None = None
) -> str:
    """Return the id of a ref's commit; `tip` is the commit of the served branch, None if there is none.

    `commits_by_date` caches resolved dates: it maps a start commit and a time to a commit.
    """
    if len(ref) > MAX_REF_LENGTH:
        raise RefNotFound(
            f"the ref is too long ({len(ref):,} characters, at most {MAX_REF_LENGTH:,})", fix=REF_FORMS
        )
    base, steps = _split_ref(ref)
    name, separator, date_text = base.partition("@{")
    if separator:
        start_and_time = _find_start(git, name, tip), _parse_date(date_text, ref)
        commit = (
            _find_commit_at(git, *start_and_time, ref)
            if commits_by_date is None
            else commits_by_date.get(start_and_time, _find_commit_at, git, *start_and_time, ref)
        )
    else:
        commit = _find_commit_by_name(git, name)
    return _apply_steps(git, commit, steps, ref)


def list_ref_names(git: GitReader) -> tuple[str, ...]:
    """Return names that can be refs: HEAD, branches, tags, remote branches, and proposals with a branch."""
    names = (name for name in git.ref_names() if name.isprintable())
    return ("HEAD", *names, *list_proposals_with_branches(git))


def _split_ref(ref: str) -> tuple[str, str]:
    """Return a ref's name and its steps: no name contains `~` or `^` (git-check-ref-format)."""
    base_end = min((index for index in (ref.find("~"), ref.find("^")) if index != -1), default=len(ref))
    base, steps = ref[:base_end], ref[base_end:]
    if ":" in base.partition("@{")[0] or _SEARCH_STEP.search(steps):
        raise NotACommit(
            f"{_escape_ref(ref)} names a file or folder of a commit, or searches for a commit",
            fix="Put only the commit into the ref; name a path in its own field.",
        )
    # libgit2 would read a name as far as its first NUL.
    if not base or "\0" in ref or (steps and _STEPS_PATTERN.fullmatch(steps) is None):
        raise RefNotFound(f"{_escape_ref(ref)} is not a valid ref", fix=REF_FORMS)
    return base, steps


def _parse_date(date_text: str, ref: str) -> int:
    """Return the end of a day, or a time on this day, in seconds since 1970 (UTC)."""
    match = _DATE_PATTERN.fullmatch(date_text.removesuffix("}")) if date_text.endswith("}") else None
    if match is None:
        raise RefNotFound(
            f"{_escape_ref(ref)} is not a valid date",
            fix="Write @{2026-01-31} or @{2026-01-31T12:00}; reflogs are not read.",
        )
    try:
        clock = time.fromisoformat(match["clock"]) if match["clock"] else _LAST_SECOND
        day = date.fromisoformat(match["day"])
    except ValueError:
        raise RefNotFound(
            f"{_escape_ref(ref)} is not a calendar date", fix="Write it as @{2026-01-31}, year first."
        ) from None
    return int(datetime.combine(day, clock, UTC).timestamp())


def _find_start(git: GitReader, name: str, tip: str | None) -> str:
    """Return the commit at which the search for a date begins."""
    if name:
        return _find_commit_by_name(git, name)
    if tip is None:
        raise _make_no_commit_error()
    return tip


def _find_commit_by_name(git: GitReader, name: str) -> str:
    """Return the commit of a name without steps."""
    if name in ("HEAD", "@"):
        commit = git.head().commit
        if commit is None:
            raise _make_no_commit_error()
        return commit
    # A proposal id takes precedence over a branch or tag of the same name.
    proposal_commit = find_proposal_commit(git, name) if len(name) == _PROPOSAL_ID_LENGTH else None
    if proposal_commit is not None:
        return proposal_commit
    id = git.find_object(name)
    if id is None:
        proposal_commit = find_proposal_commit(git, name)
        if proposal_commit is not None:
            return proposal_commit
        raise _make_not_found_error(git, name)
    kind, commit = git.peel(id)
    if kind != "commit":
        kind_text = "a folder (a tree)" if kind == "tree" else "a file's content (a blob)"
        raise NotACommit(
            f"{_escape_ref(name)} is {kind_text}, but must be a commit",
            fix="Name the commit that contains it, or leave out the ref.",
            kind=kind,
        )
    return commit


def _find_commit_at(git: GitReader, start: str, time: int, ref: str) -> str:
    """Return the newest first-parent commit that was committed at or before a time."""
    from workspace.git.ancestry import Graph, walk_first_parents

    for commit in walk_first_parents(Graph(git).node, git.boundary, start):
        if commit.time <= time:
            return commit.id
    reason = "this clone is shallow and begins at" if commit.parents else "the first commit is from"
    raise _make_before_history_error(git, commit.time, ref, reason)


def _apply_steps(git: GitReader, id: str, steps: str, ref: str) -> str:
    """Return the commit that steps such as `~2^` reach."""
    if not steps:
        return id
    from workspace.git.ancestry import Graph

    graph = Graph(git)
    try:
        for mark, number, brace in _STEP_PATTERN.findall(steps):
            count = 0 if brace else int(number or 1)
            if mark == "~":
                for _ in range(count):
                    id = _find_parent(graph, id, 1, ref)
            elif count:
                id = _find_parent(graph, id, count, ref)
        graph.node(id)
    except DamagedRepository:
        if not git.is_shallow:
            raise
        raise RefNotFound(
            f"{_escape_ref(ref)} is not in this clone, which is shallow",
            fix="Fetch more of the history (git fetch --unshallow), or count back fewer commits.",
        ) from None
    return id


def _find_parent(graph: Graph, id: str, number: int, ref: str) -> str:
    parents = graph.node(id).parents
    if len(parents) < number:
        reason = f"a commit there has no parent {number}" if parents else "it is before the first commit"
        raise RefNotFound(f"{_escape_ref(ref)} names no commit: {reason}", fix="Count back fewer commits.")
    return parents[number - 1]


def _make_no_commit_error() -> RefNotFound:
    return RefNotFound("nothing is committed yet", fix="Commit a file first, then try again.")


def _make_not_found_error(git: GitReader, name: str) -> RefNotFound:
    names = list_ref_names(git)
    proposals = _list_proposals_to_suggest(git, name)
    nearest_names = find_nearest(name, proposals or names) or list(proposals[:_MAX_LISTED_NAMES])
    if proposals:
        ids = ", ".join(proposals[:_MAX_LISTED_NAMES])
        fix = f"No proposal has this id; the open ones are {ids}. {REF_FORMS}"
    elif _BARE_DAY.match(name):
        fix = f"A date is written in braces: @{{{name[:10]}}}."
    elif nearest_names:
        fix = f"Did you mean '{nearest_names[0]}'? {REF_FORMS}"
    else:
        fix = REF_FORMS
    if git.is_shallow:
        fix += " This clone is shallow: git fetch --unshallow fetches the rest."
    message = f"{_escape_ref(name)} names no branch, tag or commit of the repository"
    return RefNotFound(message, fix=fix, refs=nearest_names or list(names[:_MAX_LISTED_NAMES]))


def _list_proposals_to_suggest(git: GitReader, name: str) -> tuple[str, ...]:
    """Return the ids of the open proposals if a name has the form of a proposal id, else no ids."""
    if read_id(name) is None:
        return ()
    return list_open_proposals(git)


def _make_before_history_error(git: GitReader, first_seconds: int, ref: str, reason: str) -> BeforeHistory:
    try:
        first_time = datetime.fromtimestamp(first_seconds, UTC)
    except (ValueError, OverflowError, OSError):  # the time of a commit can be any number
        return BeforeHistory(f"{_escape_ref(ref)} is before the first commit", fix="Name a commit.")
    formatted_time = f"{first_time:%Y-%m-%dT%H:%M:%SZ}"
    fix = f"Use @{{{formatted_time}}} or later."
    if git.is_shallow:
        fix += " For more of the history, git fetch --unshallow."
    return BeforeHistory(
        f"{_escape_ref(ref)} is before the history: {reason} {formatted_time}", fix=fix, first=formatted_time
    )


def _escape_ref(ref: str) -> str:
    """Return a ref for a message: short, and without terminal control characters."""
    if not ref.isprintable():
        return "the ref"
    return f"'{ref}'" if len(ref) <= _MAX_SHOWN_LENGTH else f"'{ref[:_MAX_SHOWN_LENGTH]}…'"


_MAX_LISTED_PROPOSALS = 20


class NoProposedCommit(WorkspaceError):
    """An error: a proposal has no commit to read, because its branch was deleted before a merge.

    `state` is the state of the proposal, such as "closed" or "gone".
    """

    code: ClassVar[str] = "NO_PROPOSED_COMMIT"


def may_name_proposal(git: GitReader, name: str) -> bool:
    """Return True if a ref has the form of a proposal's id or branch, or of a prefix that is no other ref."""
    return read_id(name) is not None or (read_id_prefix(name) is not None and git.find_object(name) is None)


def find_proposal_commit(git: GitReader, name: str) -> str | None:
    """Return the tip of a proposal's branch, by the id, a prefix of it, or the branch; None for another name.

    If the branch was deleted, the commit is the merged tip: the merge commit's second parent.
    Raises NoProposedCommit, AmbiguousProposal.
    """
    if read_id_prefix(name) is None:
        return None
    discussion = EventLog(git).read()
    id = Proposals(git).find_id(discussion, name)
    proposal_state = None if id is None else replay_events(discussion.events_of(id).events)
    if id is None or proposal_state is None:
        return None
    tip = Tips(git).find(proposal_state.branch)
    if tip is not None:
        return tip
    proposal = Proposals(git).find(discussion, id)
    if proposal.merge_record is not None:
        return proposal.merge_record.tip
    state = (
        "is closed, and its branch was deleted"
        if proposal.state is ProposalState.CLOSED
        else "no longer has a branch"
    )
    raise NoProposedCommit(
        f"the proposal '{id}' {state}",
        fix="Name another commit, or create the branch again from one of its commits with git branch.",
        proposal=id,
        state=proposal.state.value,
    )


def list_open_proposals(git: GitReader) -> tuple[str, ...]:
    """Return the ids of the newest open proposals, newest first, at most 20."""
    proposals = EventLog(git).read_consistently(Proposals(git).list_all)
    return tuple(proposal.id for proposal in proposals if proposal.is_open)[:_MAX_LISTED_PROPOSALS]


def list_proposals_with_branches(git: GitReader) -> tuple[str, ...]:
    """Return the proposal ids in the names of branches, without reading the discussion."""
    ids = (parse_branch_id(name) for name in git.branches() if name.startswith(PROPOSAL_BRANCH_PREFIX))
    return tuple(dict.fromkeys(id for id in ids if id is not None))
