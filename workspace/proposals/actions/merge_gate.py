"""The requirements of a merge: rules, approvals and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from workspace.errors import WorkspaceError
from workspace.merge.commits import MergeConflict
from workspace.policy.protection import find_governing_rules, find_touched_paths, format_paths
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.repository import NothingProposed, ProposalEnded
from workspace.proposals.approvals import (
    EffectiveReviews,
    VoidReason,
    evaluate_reviews,
    find_commit_authors,
    normalize_address,
)
from workspace.proposals.events import KnownBy
from workspace.proposals.proposal import ProposalState
from workspace.proposals.review.changes import list_merge_changes
from workspace.proposals.unreviewed import find_unreviewed_changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workspace.merge.trees import Merge
    from workspace.policy.protection import GoverningRule
    from workspace.policy.tokens import Keyring, Person
    from workspace.proposals.actions.repository import ProposalRepository
    from workspace.proposals.approvals import VoidReason
    from workspace.proposals.events import Author, Event
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges
    from workspace.proposals.review.checks import CheckResult
    from workspace.proposals.review.review import Preview
    from workspace.proposals.unreviewed import UnreviewedChange

NEEDS_REFRESH = "NEEDS_REFRESH"
"""The code of the blocker for unreviewed text that the merge would put under a rule."""

_SHOWN = 60

_NOT_COUNTED = {
    VoidReason.NO_TOKEN: "without a token",
    VoidReason.UNKNOWN_TOKEN: "by tokens that are not known here",
    VoidReason.UNSEALED: "without a seal that proves them",
    VoidReason.COPIED: "with a copied seal",
    VoidReason.OUTDATED: "of another commit",
    VoidReason.UNSEEN: "of less than the merge would change",
    VoidReason.OWN: "of one's own work",
}


class CheckOutcome(Protocol):
    """The outcome of a check of the merge's result."""

    @property
    def name(self) -> str: ...

    @property
    def passed(self) -> bool: ...


class RuleRequirement(NamedTuple):
    """The requirements of a rule, and those that are fulfilled.

    `number` is the rule's, from 1. `approved_by` are names of tokens, one for each person whose approval
    counts; `approvers` and `may_merge` are names of tokens too, empty for any person. `unknown` are names in
    both without a token in this repository. `checks_failed` failed, or were not run.
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
        """Return True if the rule has its approvals and checks; the merging person is checked separately."""
        return len(self.approved_by) >= self.approvals_needed and not self.checks_failed


class MergeBlocker(NamedTuple):
    """The reason why a proposal may not be merged: a code and a message; some stop only clients."""

    code: str
    message: str
    only_clients: bool = False


class MergeEvaluation(NamedTuple):
    """The requirements of a proposal, and its blockers, for any actor.

    `void_reasons` has the reason of each approval that does not count, by the id of its event. `unreviewed`
    are changes that the merge would put under a rule and that are not in the proposal's commit.
    """

    requirements: tuple[RuleRequirement, ...]
    blockers: tuple[MergeBlocker, ...]
    void_reasons: Mapping[str, VoidReason]
    unreviewed: tuple[UnreviewedChange, ...] = ()


def judge(
    proposal: Proposal,
    events: Sequence[Event],
    governed: Sequence[GoverningRule],
    checks: Sequence[CheckOutcome],
    tokens: Keyring,
    own: frozenset[str],
    unreviewed: tuple[UnreviewedChange, ...] = (),
) -> MergeEvaluation:
    """Evaluate the requirements of a proposal as it is now.

    `events` are its events in order, `governed` the rules of the target's tip that govern its changes,
    `checks` those of the merge's result, `own` the addresses of people who wrote commits of it by hand,
    `unreviewed` the changes that the merge would put under a rule beyond the proposal's commit.
    Raises the errors of `tokens`.
    """
    reviews = evaluate_reviews(proposal, events, tokens, own, is_all_seen=not unreviewed)
    passed = {check.name for check in checks if check.passed} - {
        check.name for check in checks if not check.passed
    }
    demands = tuple(_check_rule(one, reviews, passed, tokens) for one in governed)
    hidden = _unread_blocker(proposal.unread, only_clients=not governed) if proposal.unread else ()
    unseen = (_unreviewed_blocker(unreviewed, proposal.content.target),) if unreviewed else ()
    blocks = (
        *unseen,
        *map(_change_request_blocker, reviews.change_requesters),
        *hidden,
        *_find_unmet(demands, reviews.void_reasons),
    )
    return MergeEvaluation(demands, blocks, reviews.void_reasons, unreviewed)


def find_blocker_for_actor(
    judgement: MergeEvaluation, person: Person | None, *, is_client: bool | None = None
) -> MergeBlocker | None:
    """Return the reason why an actor may not merge the proposal; None if there is none.

    `person` is None for an actor without a token. Such an actor counts as a client unless `is_client` is
    False.
    """
    client = person is None if is_client is None else is_client
    for block in judgement.blockers:
        if client or not block.only_clients:
            return block
    if judgement.requirements and person is None:
        paths = _format_paths(judgement.requirements)
        return MergeBlocker(
            "NEEDS_PERSON", f"{format_paths(paths)} is protected, so a person must merge this, by a token"
        )
    for demand in judgement.requirements:
        if person is not None and demand.may_merge and person.token not in demand.may_merge:
            return MergeBlocker(
                "NOT_ALLOWED",
                f"{format_paths(demand.paths)} may be merged by {_format_names(demand.may_merge)} only, "
                f"and not by {person.token}",
            )
    return None


def _check_rule(
    one: GoverningRule, reviews: EffectiveReviews, passed: set[str], tokens: Keyring
) -> RuleRequirement:
    rule = one.rule
    counting = [
        person for person in reviews.approvers if not rule.approvers or person.token in rule.approvers
    ]
    people = {normalize_address(person): person.token for person in reversed(counting)}
    return RuleRequirement(
        one.number,
        one.paths,
        rule.approvals,
        tuple(sorted(people.values())),
        rule.approvers,
        rule.merge,
        tuple(
            name for name in dict.fromkeys((*rule.approvers, *rule.merge)) if tokens.find_known(name) is None
        ),
        tuple(check for check in dict.fromkeys(rule.checks) if check not in passed),
    )


def _unreviewed_blocker(unreviewed: Sequence[UnreviewedChange], target: str) -> MergeBlocker:
    paths = list(dict.fromkeys(one.path for one in unreviewed))
    sources = list(dict.fromkeys(one.source for one in unreviewed if one.source != one.path))
    where = f", made to {format_paths(sources)}" if sources else ""
    message = (
        f"the merge would bring changes of {target} into {format_paths(paths)}{where}, which no reviewer "
        "of the proposal has seen: refresh it, and have it approved again"
    )
    return MergeBlocker(NEEDS_REFRESH, message)


def _change_request_blocker(author: Author) -> MergeBlocker:
    is_client = author.known_by is KnownBy.CLIENT
    name = author.label if author.known_by is KnownBy.TOKEN else author.name or author.email
    shown = name if len(name) <= _SHOWN else name[:_SHOWN] + "…"
    message = f"{shown or 'someone'} requested changes, which are not made yet"
    return MergeBlocker("CHANGES_REQUESTED", message, only_clients=is_client)


def _unread_blocker(unread: int, *, only_clients: bool) -> tuple[MergeBlocker, ...]:
    """Return the blocker for unread events, which may contain a change request."""
    files = "file of its discussion was" if unread == 1 else "files of its discussion were"
    message = f"{unread:,} {files} not read, and may request changes: there are too many, or they are missing"
    return (MergeBlocker("WORDS_UNREAD", message, only_clients),)


def _find_unmet(demands: Sequence[RuleRequirement], void: Mapping[str, VoidReason]) -> list[MergeBlocker]:
    found = []
    reasons = [words for reason, words in _NOT_COUNTED.items() if reason in void.values()]
    not_counted = f"; not counted are approvals {', '.join(reasons)}" if reasons else ""
    for demand in demands:
        has, needs = len(demand.approved_by), demand.approvals_needed
        if has < needs:
            of = f" by {_format_any_of(demand.approvers)}" if demand.approvers else ""
            by = f" ({_format_names(demand.approved_by)})" if has else ""
            strangers = [name for name in demand.unknown if name in demand.approvers]
            unknown = f"; no token of {_format_names(strangers)} is known here" if strangers else ""
            approvals = "approval" if needs == 1 else "approvals"
            found.append(
                MergeBlocker(
                    "NEEDS_APPROVAL",
                    f"{format_paths(demand.paths)} needs {needs} {approvals}{of} of the proposal as it is "
                    f"now, and has {has}{by}{not_counted}{unknown}",
                )
            )
    failed = dict.fromkeys(check for demand in demands for check in demand.checks_failed)
    if failed:
        found.append(MergeBlocker("CHECKS_FAILED", f"required checks did not pass: {', '.join(failed)}"))
    return found


def _format_paths(demands: Sequence[RuleRequirement]) -> list[str]:
    return sorted({path for demand in demands for path in demand.paths})


def _format_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown


def _format_any_of(names: Sequence[str]) -> str:
    *first, last = names if len(names) <= 5 else [*names[:5], f"{len(names) - 5} more"]
    return f"{', '.join(first)} or {last}" if first else last


def evaluate_merge(repository: ProposalRepository, proposal: Proposal, merge: Merge) -> MergeEvaluation:
    """Evaluate the requirements of a proposal for a merge, by the rules of ours, the target's tip.

    Rules are matched with the changes of the target, regardless of the proposal's own commits. Raises
    InvalidConfig, and UnsafeTokens or DamagedTokens for a file of tokens that cannot be used.
    """
    config = merge.ours.config
    assert merge.ours.commit is not None
    assert merge.theirs.commit is not None
    governed = (
        find_governing_rules(config, find_touched_paths(merge.ours, merge.changes)) if config.protect else ()
    )
    checks: Sequence[CheckResult] = ()
    if any(one.rule.checks for one in governed):
        # Imported here because most rules require no checks.
        from workspace.proposals.review.review import get_proposal_review

        checks = get_proposal_review(repository.workspace).check_merge(merge)
    return judge(
        proposal,
        repository.list_events(proposal.id),
        governed,
        checks,
        Tokens(repository.workspace.git.common_dir),
        find_commit_authors(
            repository.workspace.git, repository.graph, merge.theirs.commit, merge.ours.commit
        )
        if governed
        else frozenset(),
        find_unreviewed_changes(merge) if config.protect else (),
    )


NOT_MERGEABLE = "NOT_MERGEABLE"
"""The code of the blocker if no merge can be tried, such as for a deleted target."""

_ENDED = {ProposalState.CLOSED: "it was closed", ProposalState.GONE: "its branch was deleted"}


class MergeRequirements(NamedTuple):
    """The reasons why a proposal cannot be merged now (it can without blockers), and their evaluation.

    `evaluation` is None if there is no merge, or if it cannot be evaluated: a blocker is the reason.
    `unreviewed` are the changes that the merge would put under a rule beyond the proposal's commit, or None.
    """

    blockers: tuple[MergeBlocker, ...]
    evaluation: MergeEvaluation | None = None
    unreviewed: CommitChanges | None = None

    @property
    def requirements(self) -> tuple[RuleRequirement, ...]:
        """The requirements of the rules that govern it."""
        return self.evaluation.requirements if self.evaluation is not None else ()

    @property
    def void_reasons(self) -> Mapping[str, VoidReason]:
        """The reasons why approvals do not count, by the ids of their events."""
        return self.evaluation.void_reasons if self.evaluation is not None else {}


def find_merge_blockers(
    repository: ProposalRepository, proposal: Proposal, preview: Preview
) -> MergeRequirements:
    """Return the reasons that block a previewed merge; empty for a merged proposal."""
    if proposal.state is ProposalState.MERGED:
        return MergeRequirements(())
    blocks = list(_find_early_blocker(proposal, preview))
    if preview.merge is None:
        return MergeRequirements(tuple(blocks))
    try:
        judgement = evaluate_merge(repository, proposal, preview.merge)
    except WorkspaceError as error:  # such as an unsafe file of tokens: other blockers are still reported
        return MergeRequirements((*blocks, MergeBlocker(error.code, error.message)))
    paths = dict.fromkeys(one.path for one in judgement.unreviewed)
    unreviewed = list_merge_changes(preview.merge, paths) if paths else None
    return MergeRequirements((*blocks, *judgement.blockers), judgement, unreviewed)


def _find_early_blocker(proposal: Proposal, preview: Preview) -> Iterator[MergeBlocker]:
    if proposal.state in _ENDED:
        yield MergeBlocker(ProposalEnded.code, _ENDED[proposal.state])
    if preview.is_empty:
        yield MergeBlocker(NothingProposed.code, "it has no commit of its own yet")
    if preview.reason is not None and proposal.state is not ProposalState.GONE:
        yield MergeBlocker(NOT_MERGEABLE, preview.reason)
    if count := len(preview.conflicts):
        conflicts = "1 conflict" if count == 1 else f"{count:,} conflicts"
        yield MergeBlocker(MergeConflict.code, f"{conflicts} with {proposal.content.target} to be decided")
