"""Refs: the names of commits to read, by people and agents (gitrevisions(7)).

    main  v1.2  origin/main  HEAD     a branch, a tag, a remote branch, the checked-out commit
    3f2a91c                           a commit's id, or at least four characters of its beginning
    k7m2q9xa                          a proposal: the tip of its branch, or its merged tip
    main~2  HEAD^  v1.2^2             counted back from one: first parents, or a merge's second
    @{2026-01-31}                     the served branch at the end of that day, UTC
    @{2026-01-31T12:00}               ... at that moment; seconds and a Z may follow
    main@{2026-01-31}                 the same of another ref

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
from workspace.proposal_ids import BRANCHES, parse_branch_id, read_id
from workspace.proposals.event_log import EventLog
from workspace.proposals.proposal import Proposals, ProposalState, replay_events

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.git.ancestry import Graph
    from workspace.git.reader import GitReader
    from workspace.lru_cache import LRUCache

MAX_REF = 1_000
"""Characters; Git itself cannot store a ref's name that is much longer."""

FORMS = (
    "A ref is a branch, a tag, a commit's id, a proposal's id, HEAD, one counted back from these (main~2, "
    "main^), or a date: @{2026-01-31}, @{2026-01-31T12:00}."
)

_SHOWN = 100
_LISTED = 5  # names, where none is near
_ID = 8  # characters of a proposal's id
_STEPS = re.compile(r"(?:~\d{0,9}|\^\d{0,4}|\^\{(?:commit)?\})+", re.ASCII)
_WITHIN = re.compile(r"\^\{(?!commit\}|\})", re.ASCII)
_STEP = re.compile(r"([~^])(\d*)(\{?)", re.ASCII)
_DAY = r"(?P<day>\d{4}-\d{2}-\d{2})"
_WHEN = re.compile(_DAY + r"(?:[T ](?P<clock>\d{2}:\d{2}(?::\d{2})?)Z?)?", re.ASCII)
_BARE_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_LAST_SECOND = time(23, 59, 59)


class RefNotFound(WorkspaceError):
    """The repository has no such ref, or it is invalid. `refs` are the nearest."""

    code = "REF_NOT_FOUND"


class NotACommit(WorkspaceError):
    """The ref names a file's content or a folder. `kind` is "blob" or "tree"."""

    code = "NOT_A_COMMIT"


class BeforeHistory(WorkspaceError):
    """The date is before the first commit. `first` is its time (ISO 8601, UTC), if it is known."""

    code = "BEFORE_HISTORY"


def find_ref(workspace: Branch, ref: str) -> str:
    """Return the id of the commit that a ref names.

    Raises RefNotFound, NotACommit, BeforeHistory, AmbiguousId, NoProposedCommit, DamagedRepository.
    """
    return resolve_ref(workspace.git, ref, workspace.tip(), workspace.dated)


def resolve_ref(
    git: GitReader, ref: str, tip: str | None, dated: LRUCache[tuple[str, int], str] | None = None
) -> str:
    """Return the id of a ref's commit; the served branch has its tip at a commit, or None.

    `dated` caches resolved dates: the found commit by start commit and time.
    """
    if len(ref) > MAX_REF:
        raise RefNotFound(f"the ref is too long ({len(ref):,} characters, at most {MAX_REF:,})", fix=FORMS)
    base, steps = _split_ref(ref)
    name, mark, when = base.partition("@{")
    if mark:
        query = _find_start(git, name, tip), _parse_date(when, ref)
        found = (
            _find_commit_at(git, *query, ref)
            if dated is None
            else dated.get(query, _find_commit_at, git, *query, ref)
        )
    else:
        found = _find_named(git, name)
    return _apply_steps(git, found, steps, ref)


def list_ref_names(git: GitReader) -> tuple[str, ...]:
    """Return all names that can be refs: HEAD, branches, tags, remote branches, and open proposals."""
    names = (name for name in git.ref_names() if name.isprintable())
    return ("HEAD", *names, *list_proposals_with_branches(git))


def _split_ref(ref: str) -> tuple[str, str]:
    """Return a ref's name and its steps: no name contains `~` or `^` (git-check-ref-format)."""
    place = min((found for found in (ref.find("~"), ref.find("^")) if found != -1), default=len(ref))
    base, steps = ref[:place], ref[place:]
    if ":" in base.partition("@{")[0] or _WITHIN.search(steps):
        raise NotACommit(
            f"{_escape_ref(ref)} names something within a commit, or searches for one",
            fix="Put only the commit into the ref; name a path in its own field.",
        )
    # libgit2 would read a name as far as its first NUL.
    if not base or "\0" in ref or (steps and _STEPS.fullmatch(steps) is None):
        raise RefNotFound(f"{_escape_ref(ref)} is not a valid ref", fix=FORMS)
    return base, steps


def _parse_date(when: str, ref: str) -> int:
    """Return the last second, since 1970 UTC, that a date includes."""
    found = _WHEN.fullmatch(when.removesuffix("}")) if when.endswith("}") else None
    if found is None:
        raise RefNotFound(
            f"{_escape_ref(ref)} is not a valid date",
            fix="Write @{2026-01-31} or @{2026-01-31T12:00}; reflogs are not read.",
        )
    try:
        clock = time.fromisoformat(found["clock"]) if found["clock"] else _LAST_SECOND
        day = date.fromisoformat(found["day"])
    except ValueError:
        raise RefNotFound(
            f"{_escape_ref(ref)} is not a calendar date", fix="Write it as @{2026-01-31}, year first."
        ) from None
    return int(datetime.combine(day, clock, UTC).timestamp())


def _find_start(git: GitReader, name: str, tip: str | None) -> str:
    """Return the commit from which a date is searched."""
    if name:
        return _find_named(git, name)
    if tip is None:
        raise _no_commit_error()
    return tip


def _find_named(git: GitReader, name: str) -> str:
    """Return the commit of a name without steps."""
    if name in ("HEAD", "@"):
        found = git.head().commit
        if found is None:
            raise _no_commit_error()
        return found
    # An id precedes branches and tags: one with that name must not replace the proposal.
    proposed = _find_proposed(git, name) if len(name) == _ID else None
    if proposed is not None:
        return proposed
    id = git.find_object(name)
    if id is None:
        proposed = _find_proposed(git, name)
        if proposed is not None:
            return proposed
        raise _not_found_error(git, name)
    kind, found = git.peel(id)
    if kind != "commit":
        what = "a folder (a tree)" if kind == "tree" else "a file's content (a blob)"
        raise NotACommit(
            f"{_escape_ref(name)} is {what}, but must be a commit",
            fix="Name the commit that contains it, or leave out the ref.",
            kind=kind,
        )
    return found


def _find_proposed(git: GitReader, name: str) -> str | None:
    """Return the commit of a proposal, by its id or its branch's name; None for another name."""
    return find_proposal_commit(git, name)


def _find_commit_at(git: GitReader, start: str, moment: int, ref: str) -> str:
    """Return the newest first parent that was committed at a moment or before it."""
    from workspace.git.ancestry import Graph, walk_first_parents

    for commit in walk_first_parents(Graph(git).node, git.boundary, start):
        if commit.time <= moment:
            return commit.id
    reason = "this clone is shallow and begins at" if commit.parents else "the first commit is of"
    raise _before_history_error(git, commit.time, ref, reason)


def _apply_steps(git: GitReader, id: str, steps: str, ref: str) -> str:
    """Return the commit that steps such as `~2^` reach."""
    if not steps:
        return id
    from workspace.git.ancestry import Graph

    graph = Graph(git)
    try:
        for mark, number, brace in _STEP.findall(steps):
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
            fix="Fetch more of the history (git fetch --unshallow), or count back less far.",
        ) from None
    return id


def _find_parent(graph: Graph, id: str, number: int, ref: str) -> str:
    parents = graph.node(id).parents
    if len(parents) < number:
        reason = f"a commit there has no parent {number}" if parents else "it is before the first commit"
        raise RefNotFound(f"{_escape_ref(ref)} names nothing: {reason}", fix="Count back less far.")
    return parents[number - 1]


def _no_commit_error() -> RefNotFound:
    return RefNotFound("nothing is committed yet", fix="Commit something first, then try again.")


def _not_found_error(git: GitReader, name: str) -> RefNotFound:
    names = list_ref_names(git)
    proposals = _list_candidates(git, name)
    close = find_nearest(name, proposals or names) or list(proposals[:_LISTED])
    if proposals:
        fix = f"No proposal has this id; the open ones are {', '.join(proposals[:_LISTED])}. {FORMS}"
    elif _BARE_DAY.match(name):
        fix = f"A date is written in braces: @{{{name[:10]}}}."
    elif close:
        fix = f"Did you mean '{close[0]}'? {FORMS}"
    else:
        fix = FORMS
    if git.is_shallow:
        fix += " This clone is shallow: git fetch --unshallow brings the rest."
    message = f"{_escape_ref(name)} names no branch, tag or commit of the repository"
    return RefNotFound(message, fix=fix, refs=close or list(names[:_LISTED]))


def _list_candidates(git: GitReader, name: str) -> tuple[str, ...]:
    """Return the open proposals, if a name can only be a proposal id."""
    if read_id(name) is None:
        return ()
    return list_open_proposals(git)


def _before_history_error(git: GitReader, first: int, ref: str, reason: str) -> BeforeHistory:
    try:
        began = datetime.fromtimestamp(first, UTC)
    except (ValueError, OverflowError, OSError):  # the time of a commit can be any number
        return BeforeHistory(f"{_escape_ref(ref)} is before the first commit", fix="Name a commit.")
    moment = f"{began:%Y-%m-%dT%H:%M:%SZ}"
    fix = f"Use @{{{moment}}} or later."
    if git.is_shallow:
        fix += " For more of the history, git fetch --unshallow."
    return BeforeHistory(
        f"{_escape_ref(ref)} is before the history: {reason} {moment}", fix=fix, first=moment
    )


def _escape_ref(ref: str) -> str:
    """Return a ref for a message: short, and without terminal control characters."""
    if not ref.isprintable():
        return "the ref"
    return f"'{ref}'" if len(ref) <= _SHOWN else f"'{ref[:_SHOWN]}…'"


_NAMED = 20


class NoProposedCommit(WorkspaceError):
    """A proposal has no commit to read: it was closed, or its branch was deleted, according to `state`."""

    code: ClassVar[str] = "NO_PROPOSED_COMMIT"


def find_proposal_commit(git: GitReader, name: str) -> str | None:
    """Return the tip of a proposal's branch, by its id or as a branch; None for another name.

    If the branch was deleted, the commit is the merged tip: the merge commit's second parent.
    Raises NoProposedCommit.
    """
    id = read_id(name)
    if id is None:
        return None
    discussion = EventLog(git).read()
    words = replay_events(discussion.events_of(id).events)
    if words is None:
        return None
    tip = Tips(git).find(words.branch)
    if tip is not None:
        return tip
    proposal = Proposals(git).find(discussion, id)
    if proposal.merge_record is not None:
        return proposal.merge_record.tip
    state = (
        "is closed, and its branch was deleted"
        if proposal.state is ProposalState.CLOSED
        else "has no branch any more"
    )
    raise NoProposedCommit(
        f"the proposal '{id}' {state}",
        fix="Name another commit, or create the branch again from one of its commits with git branch.",
        proposal=id,
        state=proposal.state.value,
    )


def list_open_proposals(git: GitReader) -> tuple[str, ...]:
    """Return the ids of the open proposals, newest first, up to a limit."""
    found = EventLog(git).read_consistently(Proposals(git).list_all)
    return tuple(one.id for one in found if one.is_open)[:_NAMED]


def list_proposals_with_branches(git: GitReader) -> tuple[str, ...]:
    """Return the proposal ids in the names of branches, without reading the discussion."""
    found = (parse_branch_id(name) for name in git.branches() if name.startswith(BRANCHES))
    return tuple(dict.fromkeys(id for id in found if id is not None))
