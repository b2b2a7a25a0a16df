"""The record of the file of sources as a server has read it last, so that a plan can compare the two.

A server records the content when it starts and when it reads the file again, in the user's state folder.
"""

from __future__ import annotations

import hashlib
import logging
import os
from pathlib import Path

from pydantic import ValidationError

from index.sources.settings import SourcesFile
from index.storage.files import write_atomically
from workspace.errors import WorkspaceError

log = logging.getLogger("docyard")


def record_applied(file: Path, content: SourcesFile) -> None:
    """Record the content that a server uses. A failure is logged, because only plans need the record."""
    record = _find_record(file)
    try:
        record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(record, content.model_dump_json().encode())
    except (OSError, WorkspaceError) as error:
        log.warning("the applied file of sources cannot be recorded: %s", error)


def read_applied(file: Path) -> SourcesFile:
    """Return the content that a server has read last; an empty one if no server has read the file."""
    try:
        return SourcesFile.model_validate_json(_find_record(file).read_bytes())
    except (OSError, ValidationError):
        return SourcesFile()


def _find_record(file: Path) -> Path:
    from platformdirs import user_state_path

    digest = hashlib.sha256(os.fsencode(file.resolve())).hexdigest()[:32]
    return user_state_path("docyard", appauthor=False) / "sources" / f"{digest}.json"
