"""Workspace settings: `docyard.toml` at the root of the served commit."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from workspace.anchors import AnchorForm
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.document import Document

CONFIG_PATH = "docyard.toml"
MAX_CONFIG = 64 * 1024
# The standard library reads dotted keys in time that grows with the cube of their parts.
DEEP_KEY = re.compile(rb"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){20}""")
CALL_READS = 50_000_000
"""Bytes of documents that the operations of one call may read, one after the other."""
HEADING_BYTES = 100
"""What a heading takes to read, as bytes of text."""
DOCUMENT_SUFFIXES = (".md", ".markdown")


class InvalidConfig(WorkspaceError):
    """`docyard.toml` cannot be read, or a setting in it is unknown or out of range. `field` names it."""

    code = "INVALID_CONFIG"


class LimitExceeded(WorkspaceError):
    """Something is larger than the workspace allows. `limit` and `actual` are numbers."""

    code = "LIMIT_EXCEEDED"


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Corpus(_Settings):
    """What the documents are about."""

    description: str | None = Field(default=None, max_length=500)


class Limits(_Settings):
    """How large things may be: `document_bytes` for reading and writing, all others for writing alone."""

    document_bytes: int = Field(default=10_000_000, ge=1_000, le=100_000_000)
    headings: int = Field(default=10_000, ge=10, le=100_000)
    nesting: int = Field(default=20, ge=3, le=40)
    operations: int = Field(default=200, ge=1, le=1_000)
    call_bytes: int = Field(default=20_000_000, ge=1_000, le=200_000_000)

    def check_document(self, path: str, size: int) -> None:
        """Raises LimitExceeded for a document of too many bytes."""
        if size > self.document_bytes:
            raise LimitExceeded(
                f"{path} has {size:,} bytes; a document holds at most {self.document_bytes:,}",
                fix=f"Split it into several documents, or raise limits.document_bytes in {CONFIG_PATH}.",
                limit=self.document_bytes,
                actual=size,
            )

    def check_written(self, document: Document, before: Document | None) -> None:
        """Raises LimitExceeded for a document that is too large, or has too many or too deep parts.

        A person may have gone further. Such a document can still be edited, but not grow in that respect.
        """
        self.check_document(document.path, len(document.data))
        headings = document.heading_count
        if headings > max(self.headings, before.heading_count if before else 0):
            raise LimitExceeded(
                f"{document.path} would have {headings:,} headings; at most {self.headings:,} are written",
                fix=f"Split it into several documents, or raise limits.headings in {CONFIG_PATH}.",
                limit=self.headings,
                actual=headings,
            )
        if not document.may_nest_deeper(self.nesting):
            return
        depth = document.outline.depth
        if depth > max(self.nesting, before.outline.depth if before else 0):
            raise LimitExceeded(
                f"lists and quotations of {document.path} would be nested {depth} deep; "
                f"at most {self.nesting} are written",
                fix=f"Nest them less deeply, or raise limits.nesting in {CONFIG_PATH}.",
                limit=self.nesting,
                actual=depth,
            )

    def check_reading(self, size: int, operations: int) -> None:
        """Raises LimitExceeded for a call whose operations read too much: each reads its document again."""
        if size > CALL_READS and operations > 1:
            raise LimitExceeded(
                f"the operations of this call read more than {CALL_READS:,} bytes, one after the other; "
                "nothing was changed",
                fix=f"Send them in several calls, of at most {max(1, operations // 2)} operations each.",
                limit=CALL_READS,
                actual=size,
            )

    def check_call(self, operations: int, size: int) -> None:
        """Raises LimitExceeded for a call of too many operations, or of too many bytes of text."""
        if operations > self.operations:
            raise LimitExceeded(
                f"{operations:,} operations in one call; at most {self.operations} are allowed",
                fix=f"Send them in calls of {self.operations} or fewer.",
                limit=self.operations,
                actual=operations,
            )
        if size > self.call_bytes:
            raise LimitExceeded(
                f"{size:,} bytes of text in one call; at most {self.call_bytes:,} are allowed",
                fix="Send its operations in several calls.",
                limit=self.call_bytes,
                actual=size,
            )


class WorkspaceConfig(_Settings):
    """The settings of a workspace, with their defaults."""

    root: str = ""
    exclude: tuple[str, ...] = ()
    anchors: AnchorForm = AnchorForm.BRACES
    overwrite: Literal["seen", "any"] = "seen"
    fsync: bool = True
    signing: Literal["required", "off"] = "required"
    corpus: Corpus = Corpus()
    limits: Limits = Limits()

    @field_validator("root")
    @classmethod
    def _relative(cls, value: str) -> str:
        parts = [part for part in value.replace("\\", "/").split("/") if part not in ("", ".")]
        if value.startswith("/") or ".." in parts:
            raise ValueError("must be a folder inside the repository")
        return "/".join(parts)

    @classmethod
    def read(cls, data: bytes | None) -> WorkspaceConfig:
        """The settings of a `docyard.toml`; None gives the defaults. Raises InvalidConfig."""
        if data is None:
            return cls()
        if len(data) > MAX_CONFIG:
            raise InvalidConfig(f"{CONFIG_PATH} is over 64 KiB", fix="Shorten it and commit it.")
        if DEEP_KEY.search(data):
            raise InvalidConfig(f"{CONFIG_PATH} is nested too deeply", fix="Keep its values flat.")
        try:
            return cls.model_validate(tomllib.loads(data.decode()))
        except UnicodeDecodeError as error:
            raise InvalidConfig(
                f"{CONFIG_PATH} is not UTF-8", fix="Save it as UTF-8 and commit it."
            ) from error
        except RecursionError as error:
            raise InvalidConfig(f"{CONFIG_PATH} is nested too deeply", fix="Keep its values flat.") from error
        except tomllib.TOMLDecodeError as error:
            raise InvalidConfig(
                f"{CONFIG_PATH} is not TOML: {error}", fix="Mend that line and commit it."
            ) from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            known = ", ".join(cls.model_fields)
            if first["type"] == "extra_forbidden":
                raise InvalidConfig(
                    f"{CONFIG_PATH}: there is no setting '{field}'",
                    fix=f"Take it out or mend its name, and commit that. Known settings: {known}.",
                    field=field,
                ) from error
            reason = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
            raise InvalidConfig(
                f"{CONFIG_PATH}: {field}: {reason.replace('valid tuple', 'list of strings')}",
                fix="Mend it and commit it.",
                field=field,
            ) from error

    def is_document(self, path: str) -> bool:
        """Whether a file of this path is a document: its name, its folder, and `exclude` decide."""
        if not path.endswith(DOCUMENT_SUFFIXES):
            return False
        if self.root and not path.startswith(self.root + "/"):
            return False
        inside = path[len(self.root) + 1 :] if self.root else path
        folders = inside.split("/")[:-1]
        if any(folder.startswith(".") for folder in folders):
            return False
        return not any(_matches(path, pattern) or _matches(inside, pattern) for pattern in self.exclude)


def _matches(path: str, pattern: str) -> bool:
    """A glob, in which `*` also crosses folders; a folder's name stands for all below it."""
    folder = pattern.rstrip("/")
    return (
        fnmatchcase(path, pattern)
        or path == folder
        or path.startswith(folder + "/")
        or fnmatchcase(path, folder + "/*")
    )
