"""What became of a proposal on a forge when it was submitted, as an answer tells it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tools.errors import visible
from workspace.publishing.after_commit import attempt

if TYPE_CHECKING:
    from tools.errors import Data
    from workspace.proposals import Proposal
    from workspace.proposals.actions import Proposing


def announced(proposing: Proposing, proposal: Proposal) -> tuple[Data, list[str]]:
    """`pull_request` with its `url`, `number` and whether it is `new`, and hints of what did not work.

    Both are empty where no forge is asked for. A forge that fails undoes nothing.
    """
    found = attempt(
        partial(proposing.announce, proposal),
        None,
        "its pull request was not opened or brought up to date; submit it again later",
    )
    if found is None:
        return {}, []
    if found.error is not None:
        return {"pull_request": None}, [visible(f"{found.error.message}. {found.error.fix}")]
    data: Data = {
        "pull_request": {
            "forge": found.forge,
            "number": found.number,
            "url": visible(found.url),
            "new": found.is_new,
        }
    }
    if found.unsent is None:
        return data, []
    return data, [visible(f"the words of the proposal wait here: {found.unsent.message}")]
