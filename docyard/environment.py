"""The environment of the process: variables, the current directory, the user's folders.

Only this module reads the environment; all other code takes these values as arguments.
The names of the variables that a user may set are defined here, and the command line shows them in its help.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.forges.forge_repository import ForgeAccess
    from index.postgres.options import EngineOptions
    from workspace.git.remotes.credentials import Access

REPOSITORY = "DOCYARD_REPO"
BRANCH = "DOCYARD_BRANCH"
READ_ONLY = "DOCYARD_READ_ONLY"
TOOLSETS = "DOCYARD_TOOLSETS"
TEXT_TOKENS = "DOCYARD_TEXT_TOKENS"
PAGE_URL = "DOCYARD_PAGE_URL"
CONFIG = "DOCYARD_CONFIG"
WORKERS = "DOCYARD_WORKERS"

REMOTE_TOKEN = "DOCYARD_REMOTE_TOKEN"
REMOTE_USER = "DOCYARD_REMOTE_USER"
CREDENTIALS = "DOCYARD_CREDENTIALS"
SSH_KEY = "DOCYARD_SSH_KEY"

FORGE_URL = "DOCYARD_FORGE_URL"
FORGE_TOKEN = "DOCYARD_FORGE_TOKEN"
WEBHOOK_SECRET = "DOCYARD_WEBHOOK_SECRET"

EMBEDDING_PROVIDER = "DOCYARD_EMBEDDING_PROVIDER"
EMBEDDING_MODEL = "DOCYARD_EMBEDDING_MODEL"
EMBEDDING_URL = "DOCYARD_EMBEDDING_URL"
EMBEDDING_DIMENSIONS = "DOCYARD_EMBEDDING_DIMENSIONS"
EMBEDDING_TIMEOUT = "DOCYARD_EMBEDDING_TIMEOUT"
EMBEDDING_KEY = "DOCYARD_EMBEDDING_KEY"

ENGINE_URL = "DOCYARD_SERVER__ENGINE__URL"
ENGINE_READ_URL = "DOCYARD_SERVER__ENGINE__READ_URL"

PAGERS = ("DOCYARD_PAGER", "GIT_PAGER", "PAGER")
"""The variables of the pager of long output; the first that is set counts, and may be empty to use none."""

_METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # the variable of the library for metrics

TOKEN = "DOCYARD_TOKEN"
"""The token with which a person approves a proposal, or merges a protected change."""

COMPLETION = "_DOCYARD_COMPLETE"
"""The variable that a shell sets to request completions. Click derives this name from `docyard`."""


class CurrentDirectoryMissing(WorkspaceError):
    """An error: the current directory of the process was deleted."""

    code = "CANNOT"


def get_current_directory() -> Path:
    """Return the current directory of the process. Raises CurrentDirectoryMissing."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise CurrentDirectoryMissing(
            "the current folder was deleted", fix="Go to an existing folder with `cd`, and try again."
        ) from error


def find_home() -> Path | None:
    """Return the user's home folder; None if the system has none."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def is_terminal(stream: IO[Any]) -> bool:
    """Return True if the stream is a terminal."""
    try:
        return stream.isatty()
    except ValueError:  # a closed stream is not a terminal
        return False


def read_color_choice() -> bool | None:
    """Return True for colours in any output, and False for none; None if only a terminal has colours."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def disable_blas_threads() -> None:
    """Make NumPy's linear algebra start no threads. Call this before NumPy is imported.

    Docyard does not use the threads, and their start takes as long as the rest of the import. Variables that
    the user has set are not changed.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def read_token() -> str | None:
    """Return the person's token from the environment; None if it is unset."""
    return os.environ.get(TOKEN, "").strip() or None


def copy_variables() -> Mapping[str, str]:
    """Return a copy of the variables of the process, for a child process that inherits them."""
    return dict(os.environ)


def find_pager() -> str | None:
    """Return the command of the user's pager, else `less`; None if there is none or it is `cat`."""
    command = next((os.environ[name] for name in PAGERS if name in os.environ), None)
    if command is None:
        import shutil

        return "less" if shutil.which("less") else None
    return None if command.strip() in ("", "cat") else command


def read_remote_access() -> Access:
    """Return the credentials for remotes, from variables of Docyard and of forges, and from files.

    The SSH agent is used if its variable is set.
    """
    from workspace.git.remotes.credentials import FORGE_LOGINS, Access

    forge_tokens = {
        host: token
        for host, (_, variables) in FORGE_LOGINS.items()
        if (token := next((os.environ[name] for name in variables if os.environ.get(name)), None))
    }
    credentials_file = os.environ.get(CREDENTIALS)
    key_file = os.environ.get(SSH_KEY)
    home = find_home()
    return Access(
        token=os.environ.get(REMOTE_TOKEN) or None,
        user=os.environ.get(REMOTE_USER) or None,
        forge_tokens=forge_tokens,
        file=Path(credentials_file)
        if credentials_file
        else _find_settings_folder(home) / "credentials"
        if home
        else None,
        has_agent=bool(os.environ.get("SSH_AUTH_SOCK")),
        ssh_keys=(Path(key_file),) if key_file else _find_ssh_keys(home) if home else (),
    )


def read_forge_access() -> ForgeAccess:
    """Return the forge's URL and tokens, from the variables of Docyard and of forges."""
    from docyard.forges.forge_repository import ForgeAccess

    return ForgeAccess(
        url=os.environ.get(FORGE_URL, "").strip() or None,
        token=os.environ.get(FORGE_TOKEN, "").strip() or None,
        tokens=read_remote_access().forge_tokens,
    )


def read_embedding_key() -> str | None:
    """Return the key of the embedding provider; None if it is unset."""
    return os.environ.get(EMBEDDING_KEY, "").strip() or None


def read_engine_urls() -> tuple[str | None, str | None]:
    """Return the URLs of the database of indexes and of its replica, from the variables."""
    return os.environ.get(ENGINE_URL) or None, os.environ.get(ENGINE_READ_URL) or None


def read_engine_options() -> EngineOptions:
    """Return the storage of indexes that the variables name: a database, or files. Raises InvalidEngine."""
    from index.postgres.options import create_engine_options

    return create_engine_options(*read_engine_urls())


def read_config_path() -> Path | None:
    """Return the configuration file of a server from the environment; None if it is unset."""
    file = os.environ.get(CONFIG)
    return Path(file) if file else None


_MIN_WEBHOOK_SECRET_CHARACTERS = 16


def read_webhook_secrets() -> tuple[str, ...]:
    """Return the secrets that forges may sign webhooks with; none if webhooks are disabled.

    While a secret is changed, the variable has the new and the old one, separated by commas or white space. A
    part that is too short for a secret is not taken for one: the variable is then a single secret.
    """
    text = os.environ.get(WEBHOOK_SECRET, "").strip()
    parts = text.replace(",", " ").split()
    if len(parts) < 2 or min(map(len, parts)) < _MIN_WEBHOOK_SECRET_CHARACTERS:
        return (text,) if text else ()
    return (text, *parts)


def _find_settings_folder(home: Path) -> Path:
    """Return Docyard's folder among the user's settings (XDG Base Directory Specification)."""
    config_home = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(config_home) if os.path.isabs(config_home) else home / ".config") / "docyard"


def _find_ssh_keys(home: Path) -> tuple[Path, ...]:
    """Return the private key files of common types that ssh tries by default (ssh_config, "IdentityFile")."""
    key_files = (home / ".ssh" / name for name in ("id_ed25519", "id_ecdsa", "id_rsa"))
    return tuple(file for file in key_files if file.is_file())


def set_metrics_folder(folder: Path) -> None:
    """Make this process, and the workers that it starts, write their metrics to files in a folder.

    Call this before `docyard.telemetry.metrics` is imported. The folder must be empty at the start.
    """
    os.environ[_METRICS_FOLDER] = str(folder)


def find_metrics_folder() -> Path | None:
    """Return the folder of the metrics of several workers; None in a process that serves alone."""
    folder = os.environ.get(_METRICS_FOLDER)
    return Path(folder) if folder else None


def is_completion_request() -> bool:
    """Return True if a shell started this process to complete a word."""
    return COMPLETION in os.environ


def is_writable(folder: Path) -> bool:
    """Return True if this user may create files in a folder."""
    return os.access(folder, os.W_OK | os.X_OK)


def build_own_command(*arguments: str) -> tuple[str, ...]:
    """Return the command that starts this installation of docyard from any folder."""
    return (sys.executable or "python", "-m", "docyard", *arguments)
