r"""The file CODEOWNERS, as GitHub reads it: the owners of paths, who are named as reviewers of changes.

    # A comment
    *                  @ana
    /specs/            @ben ben@example.org   # the last pattern that matches a path decides
    /specs/drafts/                            # no owner

The first of `.github/CODEOWNERS`, `CODEOWNERS` and `docs/CODEOWNERS` is read. Patterns are those of
gitignore, without `!`, `[…]` and `\#`, and `docs/*` does not match below a folder of `docs`. Letter case
counts. A line that GitHub would not read is skipped, and is a problem. A file with sections, which only
GitLab has, is not read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.snapshot.snapshot import Snapshot

CODE_OWNERS_PATHS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""The paths at which the file may be, in the order in which they are tried."""

MAX_BYTES = 3_000_000
"""The maximum size of the file, which is that of GitHub."""

MAX_RULES = 5_000
MAX_PROBLEMS = 20
_MAX_PATTERN_CHARACTERS = 1_000
_MAX_ANY_FOLDERS = 4  # each `**` multiplies the time of a match
_OWNER = re.compile(r"@\w[\w.-]*(?:/\w[\w.-]*)?|[^@\s]+@[^@\s]+")
_SECTION = re.compile(r"\^?\[")
_LITERAL_PART = re.compile(r"(\?)|([^?]+)")


class OwnerRule(NamedTuple):
    """A line of the file: its number from 1, its pattern, and its owners: `@name`, `@org/team` or address."""

    line: int
    pattern: str
    owners: tuple[str, ...]


class CodeOwners(NamedTuple):
    """The rules of a file, and sentences about lines that were not read."""

    path: str
    rules: tuple[OwnerRule, ...] = ()
    problems: tuple[str, ...] = ()

    def find_rule(self, path: str) -> OwnerRule | None:
        """Return the last rule that matches a path; its owners may be empty."""
        return next(
            (rule for rule in reversed(self.rules) if _compile_pattern(rule.pattern).match(path)), None
        )

    def list_owner_groups(self, paths: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """Return the groups of owners of paths, each once; one owner of each group reviews for the group."""
        rules = (self.find_rule(path) for path in sorted(paths))
        return tuple(dict.fromkeys(rule.owners for rule in rules if rule is not None and rule.owners))


def find_code_owners_file(snapshot: Snapshot) -> tuple[str, str] | None:
    """Return the path and the blob of the file at a commit; None if there is no file."""
    for path in CODE_OWNERS_PATHS:
        entry = snapshot.entry(path)
        if entry is not None and entry.is_blob:
            return path, entry.id
    return None


def read_code_owners(snapshot: Snapshot) -> CodeOwners | None:
    """Return the owners at a commit; None without a file. Raises DamagedRepository."""
    found = find_code_owners_file(snapshot)
    if found is None:
        return None
    path, blob = found
    data = snapshot.git.blob_within(blob, MAX_BYTES)
    if data is None:
        return CodeOwners(path, problems=(f"{path} is not read: it has more than {MAX_BYTES:,} bytes",))
    return parse_code_owners(path, data)


def parse_code_owners(path: str, data: bytes) -> CodeOwners:
    """Return the rules in the bytes of a file."""
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return CodeOwners(path, problems=(f"{path} is not read: it is not UTF-8",))
    for number, line in enumerate(lines, 1):
        if _SECTION.match(line.strip()):
            reason = f"line {number} begins a section, which only GitLab reads; remove the sections"
            return CodeOwners(path, problems=(f"{path} is not read: {reason}",))
    rules: list[OwnerRule] = []
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        if len(rules) == MAX_RULES:
            problems.append(
                f"{path} has more than {MAX_RULES:,} rules: those from line {number:,} are not read"
            )
            break
        rule = _parse_line(number, line)
        if isinstance(rule, OwnerRule):
            rules.append(rule)
        elif rule is not None:
            problems.append(f"line {number} of {path} is not read: {rule}")
    return CodeOwners(path, tuple(rules), tuple(problems[:MAX_PROBLEMS]))


def _parse_line(number: int, line: str) -> OwnerRule | str | None:
    """Return the rule of a line, or the reason why it is not read; None for a line without a rule."""
    pattern, *words = _split_words(line)
    if not pattern:
        return None
    for word in words:
        if not _OWNER.fullmatch(word):
            return f"'{word[:60]}' must be @name, @organization/team or an e-mail address"
    problem = _find_pattern_problem(pattern)
    return problem or OwnerRule(number, pattern, tuple(dict.fromkeys(words)))


def _split_words(line: str) -> list[str]:
    """Return the pattern, in which a backslash may precede a space, and the owners before a comment."""
    words = [word.replace("\\ ", " ") for word in re.findall(r"(?:\\ |\S)+", line)]
    comment = next((index for index, word in enumerate(words) if word.startswith("#")), len(words))
    return words[:comment] or [""]


def _find_pattern_problem(pattern: str) -> str | None:
    if pattern.startswith("!"):
        return "a pattern cannot begin with '!'"
    if "[" in pattern or "]" in pattern:
        return "a pattern cannot contain a range in brackets"
    if "\\" in pattern:
        return "a pattern cannot contain a backslash, except before a space"
    if "***" in pattern:
        return "a pattern cannot contain '***'"
    if len(pattern) > _MAX_PATTERN_CHARACTERS:
        return f"a pattern has at most {_MAX_PATTERN_CHARACTERS:,} characters"
    if pattern.split("/").count("**") > _MAX_ANY_FOLDERS:
        return f"a pattern contains '**' at most {_MAX_ANY_FOLDERS} times"
    return None


@lru_cache(2 * MAX_RULES)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for a pattern, which must be free of problems."""
    is_anchored = "/" in pattern.rstrip("/")
    names = pattern.strip("/").split("/") if pattern.strip("/") else []
    if not names:
        return re.compile(r"(?!)")  # "/" alone matches no file
    text = "" if is_anchored or names[0] == "**" else "(?:[^/]+/)*"
    *folders, last_name = names
    for depth, name in enumerate(folders):
        text += "(?:[^/]+/)*" if name == "**" else f"{_translate_name(name, depth)}/"
    last_text = _translate_name(last_name, len(folders))
    if last_name == "**":
        text += ".+"
    elif pattern.endswith("/"):
        text += f"{last_text}/.+"
    elif last_name == "*" and is_anchored:
        text += "[^/]+"
    else:
        text += f"{last_text}(?:/.+)?"
    return re.compile(rf"(?s:{text})\Z")


def _translate_name(name: str, depth: int) -> str:
    """Return the expression for a name at a depth of a pattern.

    A group in a lookahead is never tried again, which keeps the time of a match linear.
    """
    first, *others = re.split(r"\*+", name)
    text = _translate_literal(first)
    for index, part in enumerate(others):
        group, part_text = f"g{depth}_{index}", _translate_literal(part)
        is_last = index == len(others) - 1
        text += f"[^/]*{part_text}" if is_last else f"(?=(?P<{group}>[^/]*?{part_text}))(?P={group})"
    return text if name.strip("*") else "[^/]+"


def _translate_literal(text: str) -> str:
    return "".join("[^/]" if mark else re.escape(rest) for mark, rest in _LITERAL_PART.findall(text))
