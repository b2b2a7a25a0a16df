"""The errors of forges, each with a fix.

    ForgeError
    ├── NotAForge                 the forge of the remote, or in the settings, is unknown
    ├── NoForgeToken              no token is set for the forge
    ├── ForgeAccessDenied               401, 403: the token is invalid, or lacks a permission
    ├── ForgeNotFound             404, 410: the repository or pull request is missing, or not readable
    ├── ForgeConflict             405, 406, 409, 423: the object exists already, or its state has changed
    ├── ForgeRequestRejected              all other 4xx: the message contains the reasons
    ├── ForgeLimited              429, or 403 for a rate limit: `retry_after` seconds
    ├── ForgeFailed               500 and above
    └── ForgeUnreachable          no connection, or no response in time
        └── InvalidForgeResponse  an invalid response

`status` is the HTTP status, if there is one. A forge's texts are cleaned before they are part of a message.
"""

from __future__ import annotations

from typing import ClassVar

from workspace.errors import WorkspaceError

_TOKEN_FIX = "Set DOCYARD_FORGE_TOKEN to a token that may write pull requests (docs/forges.md)."


class ForgeError(WorkspaceError):
    """A call to a forge failed. No data of the workspace is lost."""

    code: ClassVar[str] = "FORGE_ERROR"


class NotAForge(ForgeError):
    """The forge of the remote, or the repository's path on it, is unknown."""

    code: ClassVar[str] = "NO_FORGE"


class NoForgeToken(ForgeError):
    """No token is set for the forge at `host`."""

    code: ClassVar[str] = "NO_FORGE_TOKEN"

    def __init__(self, host: str) -> None:
        super().__init__(f"no token is set for {host}", fix=_TOKEN_FIX, host=host)


class ForgeAccessDenied(ForgeError):
    """The token is invalid, has expired, or lacks a permission."""

    code: ClassVar[str] = "FORGE_DENIED"

    def __init__(self, forge: str, status: int, reason: str) -> None:
        problem = "rejected the token" if status == 401 else "did not permit the request"
        message = f"{forge} {problem} (status {status}){_format_reason(reason)}"
        super().__init__(message, fix=_TOKEN_FIX, forge=forge, status=status)


class ForgeNotFound(ForgeError):
    """The object does not exist, or the token cannot read it: forges do not distinguish the two."""

    code: ClassVar[str] = "FORGE_NOT_FOUND"

    def __init__(self, forge: str, reason: str) -> None:
        super().__init__(
            f"{forge} has no such repository or pull request, or the token cannot read it"
            f"{_format_reason(reason)}",
            fix="Check the remote's URL with `git remote -v`, and that the token may read the repository.",
            forge=forge,
            status=404,
        )


class ForgeConflict(ForgeError):
    """The request conflicts with the current state: the object exists already, or its state has changed."""

    code: ClassVar[str] = "FORGE_CONFLICT"

    def __init__(self, forge: str, status: int, reason: str) -> None:
        super().__init__(
            f"{forge} refused the request in the pull request's current state (status {status})"
            f"{_format_reason(reason)}",
            fix="Check the pull request on the forge, fix the reported problem, and try again.",
            forge=forge,
            status=status,
        )


class ForgeRequestRejected(ForgeError):
    """The forge rejects the request; the message has its reasons."""

    code: ClassVar[str] = "FORGE_REFUSED"

    def __init__(self, forge: str, status: int, reason: str) -> None:
        super().__init__(
            f"{forge} refused the request (status {status}){_format_reason(reason)}",
            fix="Fix the reported problem, and try again.",
            forge=forge,
            status=status,
        )


class ForgeLimited(ForgeError):
    """A rate limit is reached; retry in `retry_after` seconds, or later if it is None."""

    code: ClassVar[str] = "FORGE_LIMITED"

    def __init__(self, forge: str, status: int, retry_after: float | None) -> None:
        retry_time = f"in {retry_after:,.0f} seconds" if retry_after is not None else "in a few minutes"
        super().__init__(
            f"{forge} reports that the token's rate limit is reached (status {status})",
            fix=f"Try again {retry_time}.",
            forge=forge,
            status=status,
            retry_after=retry_after,
        )
        self.retry_after = retry_after


class ForgeFailed(ForgeError):
    """The forge failed with a status of 500 or above."""

    code: ClassVar[str] = "FORGE_FAILED"

    def __init__(self, forge: str, status: int, reason: str) -> None:
        super().__init__(
            f"{forge} failed with status {status}{_format_reason(reason)}",
            fix="Try again later.",
            forge=forge,
            status=status,
        )


class ForgeUnreachable(ForgeError):
    """No response, no response in time, or an invalid response; `reason` is the cause."""

    code: ClassVar[str] = "FORGE_UNREACHABLE"

    def __init__(self, forge: str, reason: str) -> None:
        super().__init__(
            f"{forge} is unreachable, or its response is unusable: {reason}",
            fix=f"Try again when {forge} is reachable.",
            forge=forge,
            reason=reason,
        )


class InvalidForgeResponse(ForgeUnreachable):
    """An invalid response; `problem` describes it."""

    def __init__(self, forge: str, problem: str) -> None:
        super().__init__(forge, problem)


def is_forge_wide(error: WorkspaceError) -> bool:
    """Return True if an error with one pull request would occur with all other pull requests."""
    match error:
        case ForgeAccessDenied():
            return bool(error.details["status"] == 401)
        case InvalidForgeResponse():
            return False
        case _:
            return isinstance(error, ForgeLimited | ForgeFailed | ForgeUnreachable)


def _format_reason(reason: str) -> str:
    return f": {reason}" if reason else ""
