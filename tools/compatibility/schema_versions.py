"""The version of the tools' schemas, and the arguments that were renamed."""

from __future__ import annotations

from collections.abc import Mapping

META_KEY = "docyard/schema"
"""The key in `_meta` of the list of tools. In each definition it would take 30 bytes of their size limit."""

SCHEMA_VERSION = 6
"""The version of all definitions. It increases with each change of the tools' fields."""

RENAMED_ARGUMENTS: Mapping[str, Mapping[str, str]] = {}
"""The present name of each renamed argument by its old name, for each tool. An old name stays valid."""
