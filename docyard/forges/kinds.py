"""The kinds of forge, as in `[forge] kind` of docyard.toml."""

from __future__ import annotations

FORGE_NAMES = {"github": "GitHub", "gitlab": "GitLab", "gitea": "Gitea"}
"""The display name of each kind of forge; it is also the client in the events of the forge."""
