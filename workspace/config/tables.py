"""How a workspace's links are to be read: the `[links]` table of `docyard.toml`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from workspace.globs import Glob, problem


class Dialect(StrEnum):
    """Whose rules make a heading's fragment, and say which file a destination means."""

    GITHUB = "github"
    MKDOCS = "mkdocs"
    DOCUSAURUS = "docusaurus"


def _inside(value: str) -> str:
    parts = [part for part in value.replace("\\", "/").split("/") if part not in ("", ".")]
    if value.startswith("/") or ".." in parts:
        raise ValueError("must be a folder inside the repository")
    return "/".join(parts)


def _glob(value: str) -> str:
    # A destination may begin with a slash, which no path does.
    reason = problem(value.removeprefix("/"))
    if reason:
        raise ValueError(f"'{value[:100] if value.isprintable() else ascii(value[:100])}' {reason}")
    return value


Folder = Annotated[str, AfterValidator(_inside)]
"""A folder of the repository: relative to its root, which is "", with no slash at either end."""


class LinkRules(BaseModel):
    """How links are read. A destination that begins with a slash counts from `root`.

    `ignore` holds globs of destinations that something else serves, as they are written or as paths of the
    repository: they are not looked for.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    dialect: Dialect = Dialect.GITHUB
    wiki: bool = False
    root: Folder = ""
    ignore: tuple[Annotated[str, AfterValidator(_glob)], ...] = ()

    @property
    def omits_endings(self) -> bool:
        """Whether a destination may leave out the `.md` of the document that it means."""
        return self.dialect is not Dialect.GITHUB

    def ignores(self, destination: str) -> bool:
        """Whether something else serves a destination, which comes without its query and fragment."""
        return any(Glob.compile(glob).matches(destination) for glob in self.ignore)
