"""A proposal as a page: what it is, what is missing, what is said, what it changes, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docyard.cli.commits import short
from docyard.cli.proposals.actions import switch
from docyard.cli.proposals.changes import show_changes
from docyard.cli.proposals.comments import show_comments, show_reviews
from docyard.cli.proposals.lines import Paper, Piece, counted, joined
from docyard.cli.proposals.list import STYLES, in_words, when, who
from docyard.cli.proposals.next_steps import next_of, token_needed
from workspace.proposals import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docyard.cli.proposals.view import View
    from workspace.proposals.review import CheckResult

_MOST = 20_000  # characters of changes; `diff` shows all
_ADDRESSES = 5
_PROBLEMS = 5
_FEW = 10


def show_page(view: View, *, diff: bool, comments: bool) -> None:
    """Print a proposal for who is to review it."""
    paper = Paper()
    _show_head(paper, view)
    if view.proposal.words.description:
        paper.blank()
        paper.markdown(view.proposal.words.description)
    _show_commits(paper, view)
    _show_overlaps(paper, view)
    _show_merge(paper, view)
    if comments:
        show_reviews(paper, view.proposal.reviews, view.lacking.void)
        show_comments(paper, view.threads)
    if diff:
        paper.head("Changes")
        show_changes(paper, view.changes, most=_MOST)
    paper.blank()
    paper.command(f"next: {next_of(view)}")


def _show_head(paper: Paper, view: View) -> None:
    one = view.proposal
    words = one.words
    paper.line(Piece(one.id, "yellow"), "  ", Piece(words.title, "bold"), hang=10)
    state = in_words(one.state.value)
    paper.line(Piece(state, STYLES[one.state.value]), f" · into {words.target}", indent=10)
    paper.line(f"by {who(words.author)}, {when(words.opened)}; updated {when(words.updated)}", indent=10)
    for line in _odd(view):
        paper.line(line, indent=10)
    if one.tip is not None and one.state is not State.MERGED:
        paper.command(switch(one), indent=10)


def _odd(view: View) -> Iterator[str]:
    """What a reviewer should know that is not as usual."""
    one = view.proposal
    landing = one.landing
    if landing is not None:
        yield f"merged as {short(landing.commit)}" if landing.commit else "its target holds its last commit"
        if one.is_ahead:
            yield "its branch has gone on since: what came after the merge is not in its target"
    if one.is_rewritten:
        yield "its branch was rewritten: it no longer has a commit that was submitted or reviewed"
    if one.unreadable:
        yield f"{counted(one.unreadable, 'file')} among its words cannot be read, and left out"
    if one.words.unknown:
        yield f"{counted(one.words.unknown, 'event')} of a later version of Docyard left out"


def _show_commits(paper: Paper, view: View) -> None:
    if not view.commits:
        return
    behind = view.preview.behind
    more = f", {counted(behind, 'commit')} behind {view.proposal.words.target}" if behind else ""
    paper.head(f"Commits: {len(view.commits):,}{more}")
    for told, _ in view.commits[:_FEW]:
        client = f" via {told.client}" if told.client else ""
        paper.line(
            Piece(short(told.commit), "yellow"),
            f"  {told.subject} ",
            Piece(f"({told.author_name}{client}, {when(told.time)})", "dim"),
            indent=2,
            hang=10,
        )
    if len(view.commits) > _FEW:
        paper.line(f"… and {counted(len(view.commits) - _FEW, 'older commit')}", indent=2)


def _show_overlaps(paper: Paper, view: View) -> None:
    if not view.overlaps:
        return
    paper.head(f"Overlaps with {counted(len(view.overlaps), 'other proposal')}")
    for overlap in view.overlaps[:_FEW]:
        paper.line(Piece(overlap.id, "yellow"), f"  {overlap.title}", indent=2, hang=10)
        for address in overlap.addresses[:_ADDRESSES]:
            paper.line(Piece(address, "cyan"), indent=12, hang=2)
        if len(overlap.addresses) > _ADDRESSES:
            paper.line(f"… and {len(overlap.addresses) - _ADDRESSES:,} more", indent=12)
    if len(view.overlaps) > _FEW:
        paper.line(f"… and {counted(len(view.overlaps) - _FEW, 'other proposal')}", indent=2)


def _show_merge(paper: Paper, view: View) -> None:
    """Whether it can be merged, and what is missing for that."""
    one = view.proposal
    if one.state is State.MERGED:
        return
    if view.lacking.unreviewed is not None:
        paper.head(f"What a merge would bring from {one.words.target} that no reviewer has seen")
        show_changes(paper, view.lacking.unreviewed, most=_MOST)
    blocks = view.lacking.blocks
    token = token_needed(view)
    paper.head("Missing to merge" if blocks else "Nothing is missing to merge")
    for block in blocks:
        only = " (stops clients only)" if block.only_clients else ""
        paper.line(Piece("✗ ", "red"), f"{block.message}{only}", indent=2, hang=2)
    if token is not None:
        paper.line(f"The merge itself needs {token}.", indent=2, hang=2)
    if view.preview.checks:
        paper.head("Checks of the merge")
        passed = [check.name for check in view.preview.checks if check.passed]
        if passed:
            paper.line(Piece("✓ ", "green"), ", ".join(passed), indent=2, hang=2)
        for check in view.preview.checks:
            if not check.passed:
                _show_failed(paper, check)
    if view.preview.conflicts:
        paths = list(dict.fromkeys(found.path for found in view.preview.conflicts))
        named = joined([*paths[:_FEW], *([f"{len(paths) - _FEW:,} more"] if len(paths) > _FEW else [])])
        paper.head(f"Conflicts with {one.words.target}: {len(view.preview.conflicts):,}, in {named}")
        paper.command(f"docyard proposals conflicts {one.id}", indent=2)


def _show_failed(paper: Paper, check: CheckResult) -> None:
    count = len(check.problems) + check.more
    paper.line(Piece("✗ ", "red"), f"{check.name}: {counted(count, 'problem')}", indent=2, hang=2)
    for problem in check.problems[:_PROBLEMS]:
        place = f"{problem.address}, line {problem.line:,}: " if problem.address else ""
        paper.line(Piece(place, "cyan"), f"{problem.message} ", Piece(problem.rule, "dim"), indent=4, hang=2)
    if count > _PROBLEMS:
        paper.line(f"… and {counted(count - _PROBLEMS, 'more problem')}", indent=4)
