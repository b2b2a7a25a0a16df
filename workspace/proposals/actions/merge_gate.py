"""What a proposal lacks before it may be merged: pure, from values that others have read.

What a proposal lacks before it may be merged, by the rules of its target's tip.

What stands between a proposal and its merge, whoever merges it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from workspace.errors import WorkspaceError
from workspace.merge.commits import MergeConflict
from workspace.policy.protection import governing, named, touched
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.register import NothingProposed, ProposalEnded
from workspace.proposals.approvals import Verdicts, Void, address_of, own_hands, verdicts
from workspace.proposals.events import KnownBy
from workspace.proposals.proposal import State
from workspace.proposals.review.changes import merge_changes
from workspace.proposals.unreviewed import find_unreviewed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workspace.merge.trees import Merge
    from workspace.policy.protection import Governed
    from workspace.policy.tokens import Keyring, Person
    from workspace.proposals.actions.register import Register
    from workspace.proposals.approvals import Void
    from workspace.proposals.events import Author, Event
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import Changes
    from workspace.proposals.review.checks import CheckResult
    from workspace.proposals.review.review import Preview
    from workspace.proposals.unreviewed import Unreviewed

NEEDS_REFRESH = "NEEDS_REFRESH"


"""The code of a block where the merge would bring text under a rule that no reviewer has seen."""


_SHOWN = 60


_NOT_COUNTED = {
    Void.NO_TOKEN: "without a token",
    Void.UNKNOWN_TOKEN: "by tokens that are not known here",
    Void.UNSEALED: "without a seal that proves them",
    Void.COPIED: "with a copied seal",
    Void.OUTDATED: "of another commit",
    Void.UNSEEN: "of less than the merge would bring",
    Void.OWN: "of one's own work",
}


class Checked(Protocol):
    """What came of a check of the merge's result."""

    @property
    def name(self) -> str: ...

    @property
    def passed(self) -> bool: ...


class Demand(NamedTuple):
    """What a rule asks for, and what of it is there.

    `number` is the rule's, from 1. `approved_by` are names of tokens, one for each person whose approval
    counts; `approvers` and `may_merge` are names of tokens too, empty for any person. `unknown` are those of
    both that no token here has. `checks_failed` failed, or were not run.
    """

    number: int
    paths: tuple[str, ...]
    approvals_needed: int
    approved_by: tuple[str, ...]
    approvers: tuple[str, ...]
    may_merge: tuple[str, ...]
    unknown: tuple[str, ...]
    checks_failed: tuple[str, ...]

    @property
    def is_met(self) -> bool:
        """Whether it has its approvals and checks; who merges is another question."""
        return len(self.approved_by) >= self.approvals_needed and not self.checks_failed


class Block(NamedTuple):
    """Why a proposal may not be merged: a code for programs, and a message; some stop only clients."""

    code: str
    message: str
    only_clients: bool = False


class Judgement(NamedTuple):
    """What is asked of a proposal, and what stops it, whoever wants to merge it.

    `void` says of each approval that does not count why, by the id of its event. `unreviewed` is what the
    merge would bring under a rule that is not in the proposal's commit.
    """

    demands: tuple[Demand, ...]
    blocks: tuple[Block, ...]
    void: Mapping[str, Void]
    unreviewed: tuple[Unreviewed, ...] = ()


def judge(
    proposal: Proposal,
    said: Sequence[Event],
    governed: Sequence[Governed],
    checks: Sequence[Checked],
    tokens: Keyring,
    own: frozenset[str],
    unreviewed: tuple[Unreviewed, ...] = (),
) -> Judgement:
    """Judge a proposal as it is now.

    `said` are its events in order, `governed` the rules of the target's tip that govern what it changes,
    `checks` those of the merge's result, `own` the addresses of people who wrote commits of it by hand,
    `unreviewed` what the merge would bring under a rule beyond the proposal's commit.
    Raises what `tokens` raises.
    """
    held = verdicts(proposal, said, tokens, own, is_all_seen=not unreviewed)
    passed = {check.name for check in checks if check.passed} - {
        check.name for check in checks if not check.passed
    }
    demands = tuple(_demand(one, held, passed, tokens) for one in governed)
    hidden = _hidden(proposal.unread, only_clients=not governed) if proposal.unread else ()
    unseen = (_unseen(unreviewed, proposal.words.target),) if unreviewed else ()
    blocks = (*unseen, *map(_asking, held.asking), *hidden, *_lacking(demands, held.void))
    return Judgement(demands, blocks, held.void, unreviewed)


def may_merge(judgement: Judgement, person: Person | None, *, is_client: bool | None = None) -> Block | None:
    """Return why this one may not merge the proposal; None if nothing is against it.

    `person` is None for whoever shows no token, who counts as a client unless something else is said.
    """
    client = person is None if is_client is None else is_client
    for block in judgement.blocks:
        if client or not block.only_clients:
            return block
    if judgement.demands and person is None:
        paths = _paths(judgement.demands)
        return Block("NEEDS_PERSON", f"{named(paths)} is protected, so a person must merge this, by a token")
    for demand in judgement.demands:
        if person is not None and demand.may_merge and person.token not in demand.may_merge:
            return Block(
                "NOT_ALLOWED",
                f"{named(demand.paths)} may be merged by {_listed(demand.may_merge)} only, and not by "
                f"{person.token}",
            )
    return None


def _demand(one: Governed, held: Verdicts, passed: set[str], tokens: Keyring) -> Demand:
    rule = one.rule
    counting = [person for person in held.approving if not rule.approvers or person.token in rule.approvers]
    people = {address_of(person): person.token for person in reversed(counting)}
    return Demand(
        one.number,
        one.paths,
        rule.approvals,
        tuple(sorted(people.values())),
        rule.approvers,
        rule.merge,
        tuple(name for name in dict.fromkeys((*rule.approvers, *rule.merge)) if tokens.known(name) is None),
        tuple(check for check in dict.fromkeys(rule.checks) if check not in passed),
    )


def _unseen(unreviewed: Sequence[Unreviewed], target: str) -> Block:
    paths = list(dict.fromkeys(one.path for one in unreviewed))
    sources = list(dict.fromkeys(one.source for one in unreviewed if one.source != one.path))
    where = f", made to {named(sources)}" if sources else ""
    message = (
        f"the merge would bring changes of {target} into {named(paths)}{where}, which no reviewer of the "
        "proposal has seen: refresh it, and have it approved as it is then"
    )
    return Block(NEEDS_REFRESH, message)


def _asking(author: Author) -> Block:
    is_client = author.known_by is KnownBy.CLIENT
    who = author.label if author.known_by is KnownBy.TOKEN else author.name or author.email
    shown = who if len(who) <= _SHOWN else who[:_SHOWN] + "…"
    asks = f"{shown or 'someone'} asks for changes, and was not answered yet"
    return Block("CHANGES_REQUESTED", asks, only_clients=is_client)


def _hidden(unread: int, *, only_clients: bool) -> tuple[Block, ...]:
    """Among words that were not read may be a request for changes."""
    words = "file of its words was" if unread == 1 else "files of its words were"
    message = f"{unread:,} {words} not read, and may ask for changes: there are too many, or they are missing"
    return (Block("WORDS_UNREAD", message, only_clients),)


def _lacking(demands: Sequence[Demand], void: Mapping[str, Void]) -> list[Block]:
    found = []
    reasons = [words for reason, words in _NOT_COUNTED.items() if reason in void.values()]
    not_counted = f"; not counted are approvals {', '.join(reasons)}" if reasons else ""
    for demand in demands:
        has, needs = len(demand.approved_by), demand.approvals_needed
        if has < needs:
            of = f" by {_any_of(demand.approvers)}" if demand.approvers else ""
            by = f" ({_listed(demand.approved_by)})" if has else ""
            strangers = [name for name in demand.unknown if name in demand.approvers]
            unknown = f"; no token of {_listed(strangers)} is known here" if strangers else ""
            approvals = "approval" if needs == 1 else "approvals"
            found.append(
                Block(
                    "NEEDS_APPROVAL",
                    f"{named(demand.paths)} needs {needs} {approvals}{of} of the proposal as it is now, "
                    f"and has {has}{by}{not_counted}{unknown}",
                )
            )
    failed = dict.fromkeys(check for demand in demands for check in demand.checks_failed)
    if failed:
        found.append(Block("CHECKS_FAILED", f"required checks did not pass: {', '.join(failed)}"))
    return found


def _paths(demands: Sequence[Demand]) -> list[str]:
    return sorted({path for demand in demands for path in demand.paths})


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown


def _any_of(names: Sequence[str]) -> str:
    *first, last = names if len(names) <= 5 else [*names[:5], f"{len(names) - 5} more"]
    return f"{', '.join(first)} or {last}" if first else last


def judged(register: Register, proposal: Proposal, merge: Merge) -> Judgement:
    """The judgement on a proposal whose merge this is: its first side is the target's tip, whose rules hold.

    What is protected is judged by what changes on the target, however the proposal came to it. Raises
    InvalidConfig, and UnsafeTokens or DamagedTokens for a file of tokens that cannot be believed.
    """
    config = merge.ours.config
    assert merge.ours.commit is not None
    assert merge.theirs.commit is not None
    governed = governing(config, touched(merge.ours, merge.changes)) if config.protect else ()
    checks: Sequence[CheckResult] = ()
    if any(one.rule.checks for one in governed):
        # Imported here because most rules ask for no checks.
        from workspace.proposals.review.review import reviewing

        checks = reviewing(register.workspace).check(merge)
    return judge(
        proposal,
        register.said(proposal.id),
        governed,
        checks,
        Tokens(register.workspace.git.common_dir),
        own_hands(register.workspace.git, register.graph, merge.theirs.commit, merge.ours.commit)
        if governed
        else frozenset(),
        find_unreviewed(merge) if config.protect else (),
    )


NOT_MERGEABLE = "NOT_MERGEABLE"


"""The code of a block where no merge can be tried, such as where the target is gone."""


_ENDED = {State.CLOSED: "it was closed", State.GONE: "its branch was deleted"}


class Lacking(NamedTuple):
    """Why a proposal cannot be merged as it is (no blocks: it can), and the judgement on it.

    `judgement` is None where there is no merge to judge, or where it cannot be judged: a block says why.
    `unreviewed` is what the merge would bring under a rule beyond the proposal's commit; None for nothing.
    """

    blocks: tuple[Block, ...]
    judgement: Judgement | None = None
    unreviewed: Changes | None = None

    @property
    def demands(self) -> tuple[Demand, ...]:
        """What the rules ask for that govern it."""
        return self.judgement.demands if self.judgement is not None else ()

    @property
    def void(self) -> Mapping[str, Void]:
        """Why approvals do not count, by the ids of their events."""
        return self.judgement.void if self.judgement is not None else {}


def lacking(register: Register, proposal: Proposal, preview: Preview) -> Lacking:
    """Return what a proposal lacks before the merge that is previewed; nothing for one that is merged."""
    if proposal.state is State.MERGED:
        return Lacking(())
    blocks = list(_before_the_gate(proposal, preview))
    if preview.merge is None:
        return Lacking(tuple(blocks))
    try:
        judgement = judged(register, proposal, preview.merge)
    except WorkspaceError as error:  # such as tokens that others could have changed: all else is told
        return Lacking((*blocks, Block(error.code, error.message)))
    paths = dict.fromkeys(one.path for one in judgement.unreviewed)
    unreviewed = merge_changes(preview.merge, paths) if paths else None
    return Lacking((*blocks, *judgement.blocks), judgement, unreviewed)


def _before_the_gate(proposal: Proposal, preview: Preview) -> Iterator[Block]:
    if proposal.state in _ENDED:
        yield Block(ProposalEnded.code, _ENDED[proposal.state])
    if preview.is_empty:
        yield Block(NothingProposed.code, "it has no commit of its own yet")
    if preview.reason is not None and proposal.state is not State.GONE:
        yield Block(NOT_MERGEABLE, preview.reason)
    if count := len(preview.conflicts):
        conflicts = "1 conflict" if count == 1 else f"{count:,} conflicts"
        yield Block(MergeConflict.code, f"{conflicts} with {proposal.words.target} to be decided")
