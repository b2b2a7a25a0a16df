"""`covers` that is ignored, or names no file, every file, or something that is not a glob."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.document.coverage import (
    COVERS_KEY,
    MAX_GLOBS,
    find_literal_folder,
    list_empty_fields,
    read_coverages,
)
from workspace.globs import Glob, find_problem
from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.links.resolver import FileTree
    from workspace.validation.rule import RuleContext

_GLOB_SUGGESTION = "Name the code that the text describes, such as `src/auth/**`."
_MAX_SHOWN_CHARACTERS = 100
_MAX_SEARCHED_FOLDERS = 10_000
_ANY_PATHS = ("\ue000", "\ue000/\ue000")  # names of a private character, which only wildcards match


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    document = context.document
    value = document.front_matter.get(COVERS_KEY)
    if value is not None and not _is_text_list(value):
        start, end = context.front_matter_keys.get(COVERS_KEY, (0, document.front_matter_end))
        yield ByteFinding(
            start, end, "'covers' must be a list of globs", 'Write covers: ["src/auth/**", "src/login.py"].'
        )
    for key in document.front_matter:
        if key != COVERS_KEY and key.lower() == COVERS_KEY:
            start, end = context.front_matter_keys.get(key, (0, document.front_matter_end))
            yield ByteFinding(start, end, f"the key '{key}' is ignored", f"Write '{COVERS_KEY}'.")
    for start, end in list_empty_fields(document):
        yield ByteFinding(start, end, "the field 'Covers' names no glob on its line", _GLOB_SUGGESTION)
    for coverage in read_coverages(document):
        start, end = coverage.start, coverage.end
        if coverage.section is None:
            start, end = context.front_matter_keys.get(COVERS_KEY, (start, end))
        for glob in coverage.globs[:MAX_GLOBS]:
            problem = _find_glob_problem(context.file_tree, glob)
            if problem is not None:
                shown_glob = glob[:_MAX_SHOWN_CHARACTERS]
                yield ByteFinding(start, end, f"the glob '{shown_glob}' {problem}", _GLOB_SUGGESTION)
        if len(coverage.globs) > MAX_GLOBS:
            yield ByteFinding(
                start,
                end,
                f"only the first {MAX_GLOBS} of {len(coverage.globs):,} globs count",
                "Name folders instead of files, such as `src/auth/**`.",
            )


def _is_text_list(value: object) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(item, str) and item.strip() for item in value)
    )


def _find_glob_problem(file_tree: FileTree, glob: str) -> str | None:
    """Return the problem of a glob as a predicate, or None."""
    if problem := find_problem(glob):
        return problem
    if all(map(Glob.compile(glob).matches, _ANY_PATHS)):
        return "matches every file, so each commit changes what the text covers"
    return None if _matches_any_file(file_tree, glob) else "matches no file"


def _matches_any_file(file_tree: FileTree, glob: str) -> bool:
    """Return True if a glob matches a file, or if too many folders would have to be searched."""
    if file_tree.exists(glob.rstrip("/")):
        return True
    matches = Glob.compile(glob).matches
    folders = [find_literal_folder(glob).rstrip("/")]
    for folder in folders:
        for name in file_tree.list_names(folder):
            path = f"{folder}/{name}" if folder else name
            if matches(path):
                return True
            if file_tree.is_folder(path):
                folders.append(path)
        if len(folders) > _MAX_SEARCHED_FOLDERS:
            return True
    return False


RULE = Rule(
    "malformed-coverage",
    Severity.WARNING,
    "A glob of `covers` matches no file or every file, or is none; or the field is ignored.",
    _find_problems,
)
