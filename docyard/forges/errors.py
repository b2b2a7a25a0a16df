"""How a forge may fail, as errors that say what to do next.

    ForgeError
    ├── NotAForge         the remote, or the settings, name no forge that is known
    ├── NoForgeToken      there is no token for it
    ├── ForgeDenied       401, 403: the token is not accepted, or may not do this
    ├── ForgeNotFound     404: there is no such repository or pull request, or the token does not see it
    ├── ForgeConflict     405, 409: there is one already, or it is elsewhere by now
    ├── ForgeRefused      400, 422 and the like: it says why
    ├── ForgeLimited      429, or 403 by a rate limit: `retry_after` seconds
    ├── ForgeFailed       500 and above
    └── ForgeUnreachable  no connection, or no answer in time
        └── ForgeUnclear  an answer that cannot be understood

`status` is the HTTP status where there was one. What a forge said is cleaned before it stands in a message.
"""

from __future__ import annotations

from typing import ClassVar

from workspace.errors import WorkspaceError

_TOKEN = "Put a token that may write pull requests into DOCYARD_FORGE_TOKEN (docs/forges.md)."


class ForgeError(WorkspaceError):
    """A forge did not do what was requested. Nothing is lost here."""

    code: ClassVar[str] = "FORGE_ERROR"


class NotAForge(ForgeError):
    """The forge of the remote, or the repository's path on it, is unknown."""

    code: ClassVar[str] = "NO_FORGE"


class NoForgeToken(ForgeError):
    """No token was given for the forge; `host` is where it would have been sent."""

    code: ClassVar[str] = "NO_FORGE_TOKEN"

    def __init__(self, host: str) -> None:
        super().__init__(f"there is no token for {host}", fix=_TOKEN, host=host)


class ForgeDenied(ForgeError):
    """The token is not accepted, has expired, or may not do this."""

    code: ClassVar[str] = "FORGE_DENIED"

    def __init__(self, forge: str, status: int, reason: str) -> None:
        what = "does not accept the token" if status == 401 else "does not allow this"
        super().__init__(f"{forge} {what}{_because(reason)}", fix=_TOKEN, forge=forge, status=status)


class ForgeNotFound(ForgeError):
    """The object does not exist, or the token cannot see it: forges do not distinguish the two."""

    code: ClassVar[str] = "FORGE_NOT_FOUND"

    def __init__(self, forge: str, reason: str) -> None:
        super().__init__(
            f"{forge} does not have this, or does not show it to this token{_because(reason)}",
            fix="Check the remote's URL by git remote -v, and that the token may see the repository.",
            forge=forge,
            status=404,
        )


class ForgeConflict(ForgeError):
    """The request conflicts with the current state: the object exists already, or has moved."""

    code: ClassVar[str] = "FORGE_CONFLICT"

    def __init__(self, forge: str, status: int, reason: str) -> None:
        super().__init__(
            f"{forge} cannot do this as the pull request is now{_because(reason)}",
            fix="Look at the pull request there; mend what it says, and try again.",
            forge=forge,
            status=status,
        )


class ForgeRefused(ForgeError):
    """The forge rejects the request; the message has its reasons."""

    code: ClassVar[str] = "FORGE_REFUSED"

    def __init__(self, forge: str, status: int, reason: str) -> None:
        super().__init__(
            f"{forge} did not take this{_because(reason)}",
            fix="Mend what it says, and try again.",
            forge=forge,
            status=status,
        )


class ForgeLimited(ForgeError):
    """A rate limit was hit; retry in `retry_after` seconds (None: unknown)."""

    code: ClassVar[str] = "FORGE_LIMITED"

    def __init__(self, forge: str, status: int, retry_after: float | None) -> None:
        when = f"in {retry_after:,.0f} seconds" if retry_after is not None else "in some minutes"
        super().__init__(
            f"{forge} was asked too much of by this token",
            fix=f"Try again {when}.",
            forge=forge,
            status=status,
            retry_after=retry_after,
        )
        self.retry_after = retry_after


class ForgeFailed(ForgeError):
    """The forge itself failed."""

    code: ClassVar[str] = "FORGE_FAILED"

    def __init__(self, forge: str, status: int, reason: str) -> None:
        super().__init__(
            f"{forge} failed with {status}{_because(reason)}",
            fix="Try again later.",
            forge=forge,
            status=status,
        )


class ForgeUnreachable(ForgeError):
    """No response, none in time, or an invalid one; `reason` says which."""

    code: ClassVar[str] = "FORGE_UNREACHABLE"

    def __init__(self, forge: str, reason: str) -> None:
        super().__init__(
            f"{forge} could not be reached, or gave no usable answer: {reason}",
            fix="Try again when it can be reached.",
            forge=forge,
            reason=reason,
        )


class ForgeUnclear(ForgeUnreachable):
    """A response that cannot be understood; `why` says which part."""

    def __init__(self, forge: str, why: str) -> None:
        super().__init__(forge, f"its answer cannot be understood: {why}")


def is_forge_wide(error: WorkspaceError) -> bool:
    """Return True if an error with one pull request would occur with each."""
    match error:
        case ForgeDenied():
            return bool(error.details["status"] == 401)
        case ForgeUnclear():
            return False
        case _:
            return isinstance(error, ForgeLimited | ForgeFailed | ForgeUnreachable)


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""
