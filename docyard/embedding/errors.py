"""The error for options of a provider that cannot be used."""

from __future__ import annotations

from typing import ClassVar

from workspace.errors import WorkspaceError


class InvalidProvider(WorkspaceError):
    """The options of the provider are incomplete or contradict each other; `field` names the option."""

    code: ClassVar[str] = "INVALID_EMBEDDING_PROVIDER"
