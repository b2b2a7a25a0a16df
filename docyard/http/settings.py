"""What a server over HTTP was asked to be; what is configured by half is refused before anything listens."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from docyard.cli.authors import secret_of_caller
from docyard.http.authorities import LOOPBACK_NAMES, Admitted, Authority, parse_authority
from docyard.http.binding import Address, parse_address
from docyard.terminal.exits import CannotError

_RANDOM = 32  # bytes of a token that is made for one run
_SHORTEST = 32  # characters of a token in a file
_VISIBLE = re.compile(r"[!-~]+")
_OF_A_PERSON = re.compile(r"docyard_[a-z0-9.-]+_[0-9a-f]{48}")


class WrongUsage(Exception):
    """The options do not go together. The message says what to do."""


class HttpSettings(NamedTuple):
    """Where a server listens, by which names it is asked, and what is to be shown to it.

    `token` None lets everybody in. `is_told` says whether the token stands in the line that is printed:
    one that comes from a file is known already, and the line may end up in a log.
    """

    address: Address
    allowed: tuple[Authority, ...]
    token: str | None
    is_told: bool

    def admitted(self, port: int) -> Admitted:
        """The names by which requests may come to the port that is listened on."""
        names = {(host, port) for host in LOOPBACK_NAMES if self._has_loopback}
        if self.address.is_loopback:
            names.add((self.address.shown_host, port))
        for host, named in self.allowed:
            names.update((host, each) for each in ((80, 443, port) if named is None else (named,)))
        return Admitted(names)

    def url(self, port: int) -> str:
        """What is printed: where to open the page."""
        if self._has_loopback:
            authority = f"{self.address.shown_host}:{port}"
        else:
            host, named = self.allowed[0]
            authority = f"{host}:{port if named is None else named}"
        told = f"?token={self.token}" if self.token is not None and self.is_told else ""
        return f"http://{authority}/{told}"

    @property
    def _has_loopback(self) -> bool:
        return self.address.is_loopback or self.address.is_everywhere


def http_settings(
    http: str, allow_hosts: Sequence[str], token_file: Path | None, *, no_token: bool, read_only: bool
) -> HttpSettings:
    """The settings that these options make.

    Raises WrongUsage for those that do not go together, CannotError for a file of a token that is not used.
    """
    try:
        address = parse_address(http)
    except ValueError as error:
        raise WrongUsage(f"--http: {error}") from None
    allowed = tuple(_allowed(name) for name in allow_hosts)
    if not address.is_loopback and not allowed:
        raise WrongUsage(
            f"--http {http} can be reached from other machines: say by which name with --allow-host NAME, or "
            "listen on 127.0.0.1"
        )
    if no_token and token_file is not None:
        raise WrongUsage("--no-token and --token-file exclude each other: leave one out")
    is_local = address.is_loopback and all(each.is_loopback for each in allowed)
    if no_token and not is_local and not read_only:
        raise WrongUsage(
            "--no-token would let others write: serve to this machine alone, or with --read-only, or ask for "
            "a token"
        )
    if no_token:
        return HttpSettings(address, allowed, None, False)
    if token_file is not None:
        return HttpSettings(address, allowed, _token_of(token_file), False)
    return HttpSettings(address, allowed, secrets.token_urlsafe(_RANDOM), True)


def _allowed(name: str) -> Authority:
    found = parse_authority(name)
    if found is None:
        raise WrongUsage(
            f"--allow-host: '{name[:80]}' is no NAME or NAME:PORT; write the host as a browser shows it, "
            "such as docs.example.org, without a scheme, a path or a wildcard"
        )
    return found


def _token_of(file: Path) -> str:
    """The token in a file. Raises CannotError."""
    token = secret_of_caller(file, ask=False) or ""
    if _OF_A_PERSON.fullmatch(token):
        raise CannotError(
            "the token in the file is a person's, who can show it as it is",
            fix="Leave out --token-file, or write a secret of its own into the file.",
        )
    if len(token) < _SHORTEST or not _VISIBLE.fullmatch(token):
        raise CannotError(
            f"the token in the file is too short, or holds more than visible ASCII characters; at least "
            f"{_SHORTEST} are needed",
            fix="Make one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'`.",
        )
    return token
