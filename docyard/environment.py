"""The one place that asks the process about its surroundings.

Everything else is told: the repository's folder, the branch and the rest are arguments. The names of the
variables that a user may set stand here too, and the command line shows them in its help.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docyard.forges.place import ForgeAccess
    from workspace.git.remotes.credentials import Access

REPOSITORY = "DOCYARD_REPO"
BRANCH = "DOCYARD_BRANCH"
READ_ONLY = "DOCYARD_READ_ONLY"
TOOLSETS = "DOCYARD_TOOLSETS"
TEXT_TOKENS = "DOCYARD_TEXT_TOKENS"

REMOTE_TOKEN = "DOCYARD_REMOTE_TOKEN"
REMOTE_USER = "DOCYARD_REMOTE_USER"
CREDENTIALS = "DOCYARD_CREDENTIALS"
SSH_KEY = "DOCYARD_SSH_KEY"

FORGE_URL = "DOCYARD_FORGE_URL"
FORGE_TOKEN = "DOCYARD_FORGE_TOKEN"
WEBHOOK_SECRET = "DOCYARD_WEBHOOK_SECRET"

TOKEN = "DOCYARD_TOKEN"
"""What a person shows to approve, or to merge what is protected."""

COMPLETION = "_DOCYARD_COMPLETE"
"""Set by a shell that asks how a word of the command line may go on (click's own name for it)."""


def current_directory() -> Path:
    """Return the folder that the process was started in, or is in now."""
    return Path.cwd()


def home() -> Path | None:
    """Return the user's home folder; None where the system knows of none."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def is_terminal(stream: IO[Any]) -> bool:
    """Return True if a person is looking at what this stream prints."""
    try:
        return stream.isatty()
    except ValueError:  # a closed stream is nobody's terminal
        return False


def spare_threads() -> None:
    """Let NumPy's linear algebra start no threads, before NumPy is imported: nothing here asks for any.

    Starting them takes as long as the rest of the import. What the user has set stays.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def token() -> str | None:
    """Return the person's token that this process was given, if any."""
    return os.environ.get(TOKEN, "").strip() or None


def variables() -> Mapping[str, str]:
    """Return a copy of the variables of the process, for a child that is to inherit them."""
    return dict(os.environ)


def remote_access() -> Access:
    """What this user may show a remote: by DOCYARD_ variables, by those of forges, and by the SSH agent's."""
    from workspace.git.remotes.credentials import FORGES, Access

    forge_tokens = {
        host: token
        for host, (_, names) in FORGES.items()
        if (token := next((os.environ[name] for name in names if os.environ.get(name)), None))
    }
    file = os.environ.get(CREDENTIALS)
    key = os.environ.get(SSH_KEY)
    folder = home()
    return Access(
        token=os.environ.get(REMOTE_TOKEN) or None,
        user=os.environ.get(REMOTE_USER) or None,
        forge_tokens=forge_tokens,
        file=Path(file) if file else _settings_folder(folder) / "credentials" if folder else None,
        has_agent=bool(os.environ.get("SSH_AUTH_SOCK")),
        ssh_keys=(Path(key),) if key else _own_keys(folder) if folder else (),
    )


def forge_access() -> ForgeAccess:
    """What whoever started this process says of forges: by DOCYARD_ variables, and by those of forges."""
    from docyard.forges.place import ForgeAccess

    return ForgeAccess(
        url=os.environ.get(FORGE_URL, "").strip() or None,
        token=os.environ.get(FORGE_TOKEN, "").strip() or None,
        tokens=remote_access().forge_tokens,
    )


def webhook_secret() -> str | None:
    """Return what a forge proves by that a webhook is its own, if webhooks are to be taken at all."""
    return os.environ.get(WEBHOOK_SECRET, "").strip() or None


def _settings_folder(folder: Path) -> Path:
    """Return Docyard's folder among the user's settings (XDG Base Directory Specification)."""
    named = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(named) if os.path.isabs(named) else folder / ".config") / "docyard"


def _own_keys(folder: Path) -> tuple[Path, ...]:
    """The keys that ssh itself would try (ssh_config, "IdentityFile"), of the kinds that are in use."""
    keys = (folder / ".ssh" / name for name in ("id_ed25519", "id_ecdsa", "id_rsa"))
    return tuple(key for key in keys if key.is_file())


def asks_for_completion() -> bool:
    """Return True if this process was started by a shell that completes a word."""
    return COMPLETION in os.environ


def writable(folder: Path) -> bool:
    """Return True if this user may create files in a folder."""
    return os.access(folder, os.W_OK | os.X_OK)


def own_command(*arguments: str) -> tuple[str, ...]:
    """Return the command line that starts this very installation of docyard, from any folder."""
    return (sys.executable or "python", "-m", "docyard", *arguments)
