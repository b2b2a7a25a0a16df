"""What somebody said of a proposal elsewhere, such as on a forge, is said here in their name: once.

Nothing of it is proven, and nothing takes it for that: it has no seal, so an approval counts for nothing
where approvals are demanded (`policy.verdicts`), while a request for changes is heard from anybody.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from workspace.git import writable
from workspace.proposals.events import Reviewed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.proposals.actions.actor import Actor
    from workspace.proposals.actions.register import Register
    from workspace.proposals.events import Closed, Commented, Reopened


class Relayed(NamedTuple):
    """Words from elsewhere: whose they are, and the key by which they are known again.

    The key holds a space: no caller can give such a key (`requests.check_key`), and so take its place.
    """

    words: Commented | Reviewed | Closed | Reopened
    actor: Actor
    key: str


def relay(register: Register, id: str, heard: Iterable[Relayed]) -> tuple[Relayed, ...]:
    """Say of a proposal what was not said before, in order; what was new.

    Raises ReadOnly, InvalidWords where there is no room, Busy, and what `Publication` raises; what was said
    before an error stays said.
    """
    writable(register.workspace.git)
    new: list[Relayed] = []
    for one in heard:
        if register.repeated(id, one.key) is not None:
            continue
        words = replace(one.words, seal=None) if isinstance(one.words, Reviewed) else one.words
        register.say(id, [words], one.actor, one.key)
        new.append(one)
    return tuple(new)
