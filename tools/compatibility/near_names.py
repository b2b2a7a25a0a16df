"""Near names of arguments: a name that a model guesses is read as the only field that it can mean.

A near name counts only if the tool has no field and no taxonomy key of this name. The tool must have exactly
one of the fields that the name may mean, and the call must not have this field. Else the name is an error,
whose fix names similar fields.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.arguments import HIDDEN, OPERATIONS
from tools.compatibility.schema_versions import RENAMED_ARGUMENTS

if TYPE_CHECKING:
    from tools.tool import CallArguments, Tool

_FILE = ("file", "path", "file_path", "address", "chunk_id")
_SECTION = ("slug", "section_heading")
_TEXT = ("content", "initial_content", "new", "criteria", "text")
_QUERY = ("query",)
_LIMIT = ("limit", "max_rows", "max_results")

# The fields that a name may mean. Of several fields that a tool has, none is chosen.
_FIELDS_BY_NAME: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("path", "file", "file_path", "filepath", "filename", "file_name", "document"), _FILE),
    **dict.fromkeys(("section", "section_slug", "anchor"), _SECTION),
    "address": ("slug",),
    "task": ("slug",),
    "parent": ("parent_slug",),
    "heading": (*_SECTION, "title", "new_title"),
    "name": ("title", "new_title", "file", "path"),
    **dict.fromkeys(("body", "markdown"), _TEXT),
    "type": ("doc_type",),
    "template": ("doc_type",),
}

# Names that are read in tools that do not write: in others they might mean a text to change.
_FIELDS_BY_READING_NAME: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("q", "text", "search", "search_query", "question", "keywords", "terms"), _QUERY),
    **dict.fromkeys(("top_k", "k", "num_results", "max_results", "limit", "page_size", "count"), _LIMIT),
    **dict.fromkeys(("revision", "branch", "commit", "version"), ("ref",)),
    **dict.fromkeys(("next_cursor", "page_token"), ("cursor",)),
    **dict.fromkeys(("next_offset", "start"), ("offset",)),
    **dict.fromkeys(("token_limit", "max_output_tokens", "text_tokens"), ("max_tokens",)),
    **dict.fromkeys(("id", "chunk", "chunkId", "doc_id"), ("chunk_id", "proposal", "comment")),
    **dict.fromkeys(("source", "corpus", "index"), ("namespace",)),
    "folder": ("path",),
    "directory": ("path",),
    "changed_since": ("since",),
    "doc_type": ("type",),
    "tag": ("tags",),
    "tags": ("tag",),
}


class ResolvedArguments(NamedTuple):
    """The arguments of a call with the names of fields, and a hint for each name that was replaced."""

    arguments: CallArguments
    hints: tuple[str, ...]


def resolve_near_names(
    tool: Tool, arguments: CallArguments, list_keys: Callable[[], Collection[str]] = tuple
) -> ResolvedArguments:
    """Return the arguments of a call, and of each operation of its batch, with the names of fields.

    `list_keys` returns the keys of the taxonomy. It is called only if they can be arguments of the tool.
    """
    fields = _list_fields(tool)
    if arguments.keys() <= fields and OPERATIONS not in arguments:
        return ResolvedArguments(arguments, ())
    hints: dict[str, None] = {}
    resolved_arguments = _resolve(tool, fields, arguments, list_keys, hints)
    operations = resolved_arguments.get(OPERATIONS)
    if OPERATIONS in fields and isinstance(operations, list):
        items = [
            _resolve(tool, fields - {OPERATIONS}, item, list_keys, hints) if isinstance(item, dict) else item
            for item in operations
        ]
        resolved_arguments = {**resolved_arguments, OPERATIONS: items}
    return ResolvedArguments(resolved_arguments, tuple(hints)) if hints else ResolvedArguments(arguments, ())


def _list_fields(tool: Tool) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in tool.arguments.model_fields.items())


def _resolve(
    tool: Tool,
    fields: Collection[str],
    arguments: CallArguments,
    list_keys: Callable[[], Collection[str]],
    hints: dict[str, None],
) -> dict[str, Any]:
    """Return arguments with the names of fields, and add a hint for each name that was replaced."""
    unknown_names = [name for name, value in arguments.items() if name not in fields and value is not None]
    targets = {name: target for name in unknown_names if (target := _find_target(tool, fields, name))}
    if targets and tool.lists_taxonomy:
        keys = list_keys()
        targets = {name: target for name, target in targets.items() if name not in keys}
    # Two names of one field, or a name in addition to the field, contradict each other.
    used_targets = [*targets.values()]
    targets = {
        name: target
        for name, target in targets.items()
        if arguments.get(target) is None and used_targets.count(target) == 1
    }
    hints |= dict.fromkeys(f"'{name}' was read as '{target}'" for name, target in targets.items())
    return {
        targets.get(name, name): value for name, value in arguments.items() if name not in targets.values()
    }


def _find_target(tool: Tool, fields: Collection[str], name: str) -> str | None:
    """Return the only field of a tool that a name can mean; None without one, or with several."""
    if (renamed := RENAMED_ARGUMENTS.get(tool.name, {}).get(name)) is not None:
        return renamed
    names = _FIELDS_BY_NAME.get(name, ())
    if not names and not tool.writes:
        names = _FIELDS_BY_READING_NAME.get(name, ())
    candidates = [field for field in names if field in fields and not _is_hidden(tool, field)]
    return candidates[0] if len(candidates) == 1 else None


def _is_hidden(tool: Tool, name: str) -> bool:
    extra = tool.arguments.model_fields[name].json_schema_extra
    return isinstance(extra, dict) and HIDDEN in extra
