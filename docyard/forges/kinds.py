"""The kinds of forge that `[forge] kind` in docyard.toml accepts, and their display names."""

from __future__ import annotations

FORGE_NAMES = {"github": "GitHub", "gitlab": "GitLab", "gitea": "Gitea"}
"""The display name of each kind of forge; it is also the client in the events of the forge."""
