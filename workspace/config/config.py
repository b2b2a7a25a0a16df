"""Workspace settings: `docyard.toml` at the root of the served commit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

from workspace.config.tables import (
    Folder,
    ForgeSettings,
    LinkRules,
    Protection,
    RemoteSettings,
    TaskSettings,
    TraceSettings,
    Validation,
    check_protection_tables,
)
from workspace.config.taxonomy import BUILT_IN_KEYS, KEY_PATTERN, MANIFEST, MAX_KEYS, RESERVED_NAMES
from workspace.config.toml import CONFIG_PATH, InvalidToml, load_toml
from workspace.errors import InvalidConfig, LimitExceeded, SettingMistake
from workspace.globs import Glob
from workspace.markdown.attribute_lists import AnchorForm
from workspace.paths import is_nameable

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from workspace.document.document import Document

MAX_CALL_READ_BYTES = 50_000_000
"""The maximum number of bytes of documents that several operations of one call may read in total."""
HEADING_READ_COST_BYTES = 100
"""The cost to read a heading, in bytes of text."""
DOCUMENT_SUFFIXES = (".md", ".markdown")

ANY_NAME = "?.md"
"""A file name by which a glob is tested against all documents of a folder: `*` matches it."""
_MAX_SHOWN_LENGTH = 100


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class CorpusSettings(_Settings):
    """Settings that describe the subject of the documents."""

    description: str | None = Field(
        default=None,
        max_length=500,
        description="What the documents are about, for agents: one sentence.",
        examples=["The specifications of the platform team."],
    )


def _escape_invisible(name: str) -> str:
    """Return a name for a message, as an ASCII literal if it has invisible characters."""
    return name if name.isprintable() else ascii(name)[1:-1]


def _check_key_name(name: str) -> str:
    if not KEY_PATTERN.fullmatch(name):
        raise ValueError("must be 1 to 64 letters, digits and . _ - that begin with a letter")
    if name.lower() in RESERVED_NAMES:
        raise ValueError(f"must not be named like a parameter of a search ({', '.join(RESERVED_NAMES)})")
    for built_in in BUILT_IN_KEYS:
        if name != built_in and name.lower() == built_in:
            raise ValueError(f"must not differ from '{built_in}', which every workspace has, in case alone")
    return name


class TaxonomyKey(_Settings):
    """`NAME` is a key of front matter that filters searches, in addition to `type` and `tags`."""

    description: str | None = Field(
        default=None,
        max_length=500,
        description="What the key means, for agents.",
        examples=["Filter results by programming language."],
    )

    @field_validator("description")
    @classmethod
    def _check_description(cls, value: str | None) -> str | None:
        line = " ".join((value or "").split())
        if not line.isprintable():
            raise ValueError("must contain visible characters only")
        return line or None


MIN_TEXT_TOKENS, MAX_TEXT_TOKENS = 200, 1_000_000


class Limits(_Settings):
    """Size limits. A document that exceeds a limit of writing can still be read."""

    document_bytes: int = Field(
        default=10_000_000,
        ge=1_000,
        le=100_000_000,
        description="The bytes of a document that is read or written.",
    )
    headings: int = Field(
        default=10_000, ge=10, le=100_000, description="The headings of a document that is written."
    )
    nesting: int = Field(
        default=20,
        ge=3,
        le=40,
        description="The depth of lists and quotations in a document that is written.",
    )
    operations: int = Field(default=200, ge=1, le=1_000, description="The operations of one call.")
    call_bytes: int = Field(
        default=20_000_000, ge=1_000, le=200_000_000, description="The bytes of text in one call."
    )
    text_tokens: int = Field(
        default=25_000,
        ge=MIN_TEXT_TOKENS,
        le=MAX_TEXT_TOKENS,
        description="The tokens of text in one answer. Longer texts and lists continue with `offset` or "
        "`cursor`.",
    )

    def check_document(self, path: str, size: int) -> None:
        """Raise LimitExceeded for a document with too many bytes."""
        if size > self.document_bytes:
            raise LimitExceeded(
                f"{path} has {size:,} bytes; the limit is {self.document_bytes:,}",
                fix=f"Split it into several documents, or raise limits.document_bytes in {CONFIG_PATH}.",
                limit=self.document_bytes,
                actual=size,
            )

    def check_written_document(self, document: Document, old_document: Document | None) -> None:
        """Raise LimitExceeded for a document that is too large, or has too many headings or too deep nesting.

        A document that already exceeds a limit can be edited, but must not exceed it further.
        """
        self.check_document(document.path, len(document.data))
        headings = document.heading_count
        if headings > max(self.headings, old_document.heading_count if old_document else 0):
            raise LimitExceeded(
                f"{document.path} would have {headings:,} headings; at most {self.headings:,} are written",
                fix=f"Split it into several documents, or raise limits.headings in {CONFIG_PATH}.",
                limit=self.headings,
                actual=headings,
            )
        if not document.may_nest_deeper(self.nesting):
            return
        depth = document.outline.depth
        if depth > max(self.nesting, old_document.outline.depth if old_document else 0):
            raise LimitExceeded(
                f"lists and quotations of {document.path} would be nested {depth} deep; "
                f"at most {self.nesting} are written",
                fix=f"Nest them less deeply, or raise limits.nesting in {CONFIG_PATH}.",
                limit=self.nesting,
                actual=depth,
            )

    def check_read_bytes(self, size: int, operation_count: int) -> None:
        """Raise LimitExceeded if several operations of a call read too much; each parses its document."""
        if size > MAX_CALL_READ_BYTES and operation_count > 1:
            raise LimitExceeded(
                f"the operations of this call read more than {MAX_CALL_READ_BYTES:,} bytes, "
                "one after the other; nothing was changed",
                fix=f"Send them in several calls, of at most {max(1, operation_count // 2)} operations each.",
                limit=MAX_CALL_READ_BYTES,
                actual=size,
            )

    def check_call(self, operation_count: int, size: int) -> None:
        """Raise LimitExceeded for a call with too many operations or too many bytes of text."""
        if operation_count > self.operations:
            raise LimitExceeded(
                f"{operation_count:,} operations in one call; at most {self.operations} are allowed",
                fix=f"Send them in calls of {self.operations} or fewer.",
                limit=self.operations,
                actual=operation_count,
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

    root: Folder = Field(
        default="",
        description="The folder whose `*.md` and `*.markdown` files are documents. Empty: all folders.",
        examples=["docs"],
    )
    exclude: tuple[str, ...] = Field(
        default=(),
        description="Folders and globs that contain no documents.",
        examples=[("vendor", "*/CHANGELOG.md")],
    )
    anchors: AnchorForm = Field(
        default=AnchorForm.BRACES,
        description="The form of anchors in documents without any ([start.md](start.md#which-form)).",
        examples=["html"],
    )
    anchors_on_new: Literal["always", "as-document"] = Field(
        default="always",
        description="`as-document`: new headings get no anchor in a document whose headings have none.",
        examples=["as-document"],
    )
    overwrite: Literal["seen", "any"] = Field(
        default="seen",
        description="`seen`: a text is replaced only if the agent has read it. `any`: always.",
        examples=["any"],
    )
    fsync: bool = Field(default=True, description="Wait for the disk after each commit.", examples=[False])
    signing: Literal["required", "off"] = Field(
        default="required",
        description="`off`: commit without a signature in a repository that asks for signed commits. "
        "`required`: refuse to write there.",
        examples=["off"],
    )
    skills: bool = Field(
        default=False,
        strict=True,
        description="Offer reviewed documents of type `skill` as instructions for a model "
        "([skills.md](skills.md)).",
        examples=[True],
    )
    # Constructed without validation; otherwise each start of the process would build all validators.
    corpus: CorpusSettings = CorpusSettings.model_construct()
    taxonomy: dict[Annotated[str, AfterValidator(_check_key_name)], TaxonomyKey] = {}
    limits: Limits = Limits.model_construct()
    links: LinkRules = LinkRules.model_construct()
    remote: RemoteSettings = RemoteSettings.model_construct()
    forge: ForgeSettings | None = None
    tasks: TaskSettings = TaskSettings.model_construct()
    trace: TraceSettings = TraceSettings.model_construct()
    protect: Annotated[tuple[Protection, ...], BeforeValidator(check_protection_tables)] = ()
    # The field has an alias, because pydantic models already have a method `validate`.
    validation: Validation = Field(default=Validation.model_construct(), alias="validate")

    @field_validator("taxonomy")
    @classmethod
    def _check_keys(cls, value: dict[str, TaxonomyKey]) -> dict[str, TaxonomyKey]:
        if len(value) > MAX_KEYS:
            raise ValueError(f"must have at most {MAX_KEYS} keys, and has {len(value)}")
        names_by_lower_case: dict[str, str] = {}
        for name in value:
            first_name = names_by_lower_case.setdefault(name.lower(), name)
            if first_name != name:
                raise ValueError(f"'{first_name}' and '{name}' must not differ in case alone")
        return value

    @classmethod
    def read(cls, data: bytes | None) -> WorkspaceConfig:
        """Return the settings of a `docyard.toml`; None gives the defaults. Raises InvalidConfig."""
        if data is None:
            return cls.model_construct()
        try:
            return cls.model_validate(load_toml(data))
        except InvalidToml as error:
            mistakes = [SettingMistake((), error.reason, error.fix, error.line)]
            invalid = InvalidConfig(f"{CONFIG_PATH} {error.reason}", fix=error.fix)
            cause: Exception = error
        except ValidationError as error:
            mistakes = [
                _describe_mistake(details, cls)
                for details in error.errors(include_url=False, include_input=False)
            ]
            field, cause = ".".join(mistakes[0].location), error
            invalid = InvalidConfig(f"{CONFIG_PATH}: {mistakes[0].message}", fix=mistakes[0].fix, field=field)
        invalid.mistakes = tuple(mistakes)
        raise invalid from cause

    def is_document(self, path: str) -> bool:
        """Return True if a file at this path is a document, by its suffix, `root` and `exclude`."""
        return path.endswith(DOCUMENT_SUFFIXES) and self.is_readable(path)

    def is_readable(self, path: str) -> bool:
        """Return True if a file of any kind may be read, by its path, `root` and `exclude`."""
        if not is_nameable(path):
            return False
        if self.root and not path.startswith(self.root + "/"):
            return False
        path_in_root = path[len(self.root) + 1 :] if self.root else path
        folders = path_in_root.split("/")[:-1]
        if any(folder.startswith(".") for folder in folders):
            return False
        return not any(
            glob.matches(path) or glob.matches(path_in_root) for glob in map(Glob.compile, self.exclude)
        )

    def is_manifest(self, path: str) -> bool:
        """Return True if a file at this path is a manifest in a folder that may contain documents."""
        folder, _, name = path.rpartition("/")
        if name != MANIFEST:
            return False
        is_above_root = not folder or f"{self.root}/".startswith(f"{folder}/")
        return is_above_root or self.is_document(f"{folder}/{ANY_NAME}")

    def selects_same_files(self, other: WorkspaceConfig) -> bool:
        """Return True if other settings select the same files as documents."""
        return (self.root, self.exclude) == (other.root, other.exclude)

    @property
    def taxonomy_keys(self) -> Mapping[str, str | None]:
        """The keys that filter searches, with their descriptions: first declared keys, then built-in ones."""
        declared_keys = {name: key.description for name, key in self.taxonomy.items()}
        return {**declared_keys, **{name: None for name in BUILT_IN_KEYS if name not in declared_keys}}


def _describe_mistake(details: ErrorDetails, model: type[WorkspaceConfig]) -> SettingMistake:
    """Return a mistake that the validation has found."""
    location = tuple(
        _escape_invisible(str(part)[:_MAX_SHOWN_LENGTH]) for part in details["loc"] if part != "[key]"
    )
    field = ".".join(location)
    fields = (Protection if location[:1] == ("protect",) else model).model_fields
    if details["type"] == "extra_forbidden":
        setting_names = ", ".join(setting.alias or name for name, setting in fields.items())
        return SettingMistake(
            location,
            f"there is no setting '{field}'",
            "Remove the setting or correct its name, and commit the change. "
            f"Known settings: {setting_names}.",
        )
    reason = details["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    reason = reason.replace("Tuple should have", "must have")
    reason = re.sub("valid dictionary( or instance of [A-Za-z]+)?", "table", reason)
    reason = reason.replace("valid tuple", "list of strings")
    return SettingMistake(location, f"{field}: {reason}", f"Correct {field} in {CONFIG_PATH} and commit it.")
