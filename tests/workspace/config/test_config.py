"""Settings of a workspace, and the files that the settings select as documents."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from workspace.config.config import WorkspaceConfig
from workspace.config.taxonomy import MAX_KEYS
from workspace.errors import InvalidConfig, LimitExceeded
from workspace.markdown.attribute_lists import AnchorForm

pytestmark = pytest.mark.smoke

MAX_KEY_LENGTH = 64


def test_missing_and_empty_settings_equal_the_defaults() -> None:
    assert WorkspaceConfig.read(None) == WorkspaceConfig.read(b"") == WorkspaceConfig()
    assert WorkspaceConfig().anchors is AnchorForm.BRACES


def test_settings_are_read_from_toml() -> None:
    config = WorkspaceConfig.read(
        b'root = "./docs/"\nexclude = ["drafts"]\nanchors = "html"\nsigning = "off"\nfsync = false\n'
        b'[corpus]\ndescription = "All of it"\n[limits]\ndocument_bytes = 5000\n'
    )
    assert (config.root, config.anchors, config.limits.document_bytes) == ("docs", AnchorForm.HTML, 5000)
    config.limits.check_document("a.md", 5000)
    with pytest.raises(LimitExceeded):
        config.limits.check_document("a.md", 5001)


@loop_over(
    ("toml", "field"),
    [
        (b"\xff", None),
        (b"a = ", None),
        (b"# a\n" * 20_000, None),
        (b"a." * 20_000 + b"a = 1", None),
        (b"a = " + b"9" * 5000, None),
        (b"a" * 60_000, None),
        (b"a = " + b"{a = " * 5000, None),
        (b"[limits]\nheadings = 1", "limits.headings"),
        (b"[limits]\nnesting = 50", "limits.nesting"),
        (b"[limits]\ncall_bytes = 1", "limits.call_bytes"),
        (b"a = " + b"[" * 5000, None),
        (b"unknown = 1", "unknown"),
        (b'root = "../up"', "root"),
        (b'root = "/etc"', "root"),
        (b"root = 1", "root"),
        (b'anchors = "curly"', "anchors"),
        (b'exclude = "drafts"', "exclude"),
        (b"[limits]\ndocument_bytes = 1", "limits.document_bytes"),
        (b"[limits]\noperations = 100000", "limits.operations"),
        (b"[limits]\nmore = 1", "limits.more"),
        (b'[corpus]\ndescription = "' + b"x" * 501 + b'"', "corpus.description"),
    ],
)
def test_invalid_settings_file_is_an_error_that_names_the_field_if_any(
    toml: bytes, field: str | None
) -> None:
    with pytest.raises(InvalidConfig) as error_info:
        WorkspaceConfig.read(toml)
    assert error_info.value.details.get("field") == field
    assert error_info.value.fix
    assert len(error_info.value.message) < 300


@loop_over(
    ("path", "is_document"),
    [
        ("a.md", True),
        ("a.markdown", True),
        ("docs/a.md", True),
        (".md", True),
        ("a.MD", False),
        ("a.txt", False),
        ("md", False),
        (".github/a.md", False),
        ("docs/.hidden/a.md", False),
        ("docs/.hidden.md", True),
        ("drafts/a.md", False),
        ("drafts.md", True),
        ("docs/a.tmp.md", False),
        ("node_modules/x/README.md", False),
        ("docs/node_modules/x/README.md", True),
        ("docs/é\u00a0😀 [x].md", True),
        ("docs/a\nb.md", False),
        ("docs\x7f/a.md", False),
        ("docs/a\x85.md", False),
        ("docs/a\u2029.md", False),
        ("docs/a\udcff.md", False),
        ("x" * 3_997 + ".md", True),
        ("x" * 3_998 + ".md", False),
    ],
)
def test_documents_are_selected_by_path_and_excluded_globs(path: str, is_document: bool) -> None:
    config = WorkspaceConfig(exclude=("drafts/", "*.tmp.md", "node_modules"))
    assert config.is_document(path) is is_document


def test_documents_are_selected_below_the_root() -> None:
    config = WorkspaceConfig(root="docs", exclude=("old", "docs/older"))
    paths = ["a.md", "docs.md", "docsx/a.md", "docs/a.md", "docs/old/a.md", "docs/older/a.md", "docs/.x/a.md"]
    assert [path for path in paths if config.is_document(path)] == ["docs/a.md"]
    assert WorkspaceConfig(root=".hidden").is_document(".hidden/a.md")


def test_declared_taxonomy_keys_precede_built_in_keys() -> None:
    assert WorkspaceConfig().taxonomy_keys == {"type": None, "tags": None}
    config = WorkspaceConfig.read(
        b'[taxonomy.language]\ndescription = " By\\n language. "\n[taxonomy.Sdk-v1_2]\n[taxonomy.tags]\n'
        b'description = "Topics"\n'
    )
    assert list(config.taxonomy_keys.items()) == [
        ("language", "By language."),
        ("Sdk-v1_2", None),
        ("tags", "Topics"),
        ("type", None),
    ]


def build_key_tables(count: int) -> bytes:
    return b"".join(b"[taxonomy.key%d]\n" % number for number in range(count))


def test_maximum_number_and_length_of_taxonomy_keys_are_accepted() -> None:
    assert len(WorkspaceConfig.read(build_key_tables(MAX_KEYS)).taxonomy) == MAX_KEYS
    assert len(WorkspaceConfig.read(b"[taxonomy.%b]" % (b"k" * MAX_KEY_LENGTH)).taxonomy) == 1


@loop_over(
    ("toml", "field"),
    [
        *(
            (f"[taxonomy.{name}]".encode(), f"taxonomy.{name}")
            for name in ("query", "limit", "cursor", "ref")
        ),
        (b"[taxonomy.path]", "taxonomy.path"),
        (b"[taxonomy.Limit]", "taxonomy.Limit"),
        (b"[taxonomy.TAGS]", "taxonomy.TAGS"),
        (b'[taxonomy."two words"]', "taxonomy.two words"),
        (b'[taxonomy.""]', "taxonomy."),
        (b"[taxonomy.1st]", "taxonomy.1st"),
        (b'[taxonomy."a\\u001bb"]', "taxonomy.a\\x1bb"),
        (b"[taxonomy.%b]" % (b"k" * (MAX_KEY_LENGTH + 1)), "taxonomy." + "k" * (MAX_KEY_LENGTH + 1)),
        (b"[taxonomy.%b]" % (b"k" * 30_000), "taxonomy." + "k" * 100),
        (b"[taxonomy.a]\n[taxonomy.A]", "taxonomy"),
        (build_key_tables(MAX_KEYS + 1), "taxonomy"),
        (b"taxonomy = 5", "taxonomy"),
        (b"[taxonomy]\nlanguage = 'go'", "taxonomy.language"),
        (b"[taxonomy.a]\nvalues = ['x']", "taxonomy.a.values"),
        (b"[taxonomy.a]\ndescription = 5", "taxonomy.a.description"),
        (b'[taxonomy.a]\ndescription = "' + b"x" * 501 + b'"', "taxonomy.a.description"),
        (b'[taxonomy.a]\ndescription = "a\\u202eb"', "taxonomy.a.description"),
    ],
)
def test_invalid_taxonomy_setting_is_an_error_that_names_its_field(toml: bytes, field: str) -> None:
    with pytest.raises(InvalidConfig) as error_info:
        WorkspaceConfig.read(toml)
    assert error_info.value.details["field"] == field
    assert error_info.value.message.isprintable()
    assert len(error_info.value.message) < 300


@loop_over(
    ("path", "is_manifest"),
    [
        (".taxonomy.toml", True),
        ("docs/.taxonomy.toml", True),
        ("docs/api/deep/.taxonomy.toml", True),
        ("docs/api/taxonomy.toml", False),
        ("docs/api/x.taxonomy.toml", False),
        ("other/.taxonomy.toml", False),
        ("docs/apis/.taxonomy.toml", False),
        ("docs/api/.hidden/.taxonomy.toml", False),
        ("docs/api/old/.taxonomy.toml", False),
        ("docs/api/old.md/.taxonomy.toml", True),
        ("docs/api/vendor/.taxonomy.toml", False),
    ],
)
def test_only_manifests_in_document_folders_are_read(path: str, is_manifest: bool) -> None:
    config = WorkspaceConfig(root="docs/api", exclude=("old", "vendor/*", "**/.*", "**/_*", "*.draft.md"))
    assert config.is_manifest(path) is is_manifest
