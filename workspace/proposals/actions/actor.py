"""Who does something with a proposal, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.proposals.events import Author, KnownBy

if TYPE_CHECKING:
    from workspace.merge.trees_package import Merge
    from workspace.policy.person import Person
    from workspace.proposals.proposal import Proposal
    from workspace.writing.write import Written


class Actor(NamedTuple):
    """Who acts: in whose name, by which tool and client, and the person that a token has proved."""

    author: Author
    tool: str
    client: str
    person: Person | None = None

    @property
    def speaker(self) -> Author:
        """The author of what is said: the person that a token has proved, before any other name."""
        person = self.person
        if person is None:
            return self.author
        return Author(person.name, person.email, KnownBy.TOKEN, person.token)


class Acted(NamedTuple):
    """A proposal after something was done with it.

    `commit` is the commit that holds what was done: on the target for a merge, on the proposal's branch for
    a refresh, else on the branch of the discussion; None where there was nothing to do. `is_new` is false for
    what was done already, by a retry or by someone else. `merge` is how a merge or refresh was made. `said`
    are the ids of the words that this call has said, or an earlier one with its key.
    """

    proposal: Proposal
    commit: str | None
    is_new: bool
    merge: Merge | None = None
    said: tuple[str, ...] = ()


class Proposed(NamedTuple):
    """A write that became a proposal, and what was written there.

    `proposal` is None where nothing was written, as in a dry run: then there is no proposal.
    """

    proposal: Proposal | None
    written: Written
