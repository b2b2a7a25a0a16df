"""The settings of an artifact are those of its source and of its builder, and are read back as they were."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.artifacts.build import effective_settings
from tests.loops import loop_over
from workspace.config.config import CorpusSettings, WorkspaceConfig
from workspace.errors import InvalidConfig

SOURCE = """
root = "docs"
exclude = ["drafts"]
overwrite = "any"

[corpus]
description = "The source's own words"

[taxonomy.language]
description = "Programming language"

[taxonomy.scope]

[limits]
document_bytes = 5000
"""

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80)


def read(source: str = SOURCE) -> WorkspaceConfig:
    return WorkspaceConfig.read(source.encode())


def test_what_the_source_says_is_kept() -> None:
    config, _ = effective_settings(read(), "site", None, {})
    assert (config.root, config.limits.document_bytes) == ("docs", 5000)
    assert config.corpus.description == "The source's own words"
    assert list(config.taxonomy_keys.items())[:2] == [("language", "Programming language"), ("scope", None)]


def test_what_chose_the_documents_is_left_out() -> None:
    config, _ = effective_settings(read(), "site", None, {})
    assert config.exclude == ()
    assert config.overwrite == "seen"


def test_the_builder_s_words_count_before_the_source_s() -> None:
    config, _ = effective_settings(
        read(), "site", "For hosts", {"scope": "Where it applies", "language": None, "area": None}
    )
    assert config.corpus.description == "For hosts"
    assert list(config.taxonomy_keys.items())[:3] == [
        ("language", "Programming language"),
        ("scope", "Where it applies"),
        ("area", None),
    ]


def test_without_any_words_it_is_called_by_its_name() -> None:
    assert (
        effective_settings(WorkspaceConfig(), "site", None, {})[0].corpus.description
        == "documentation of site"
    )


@given(TEXT, TEXT.filter(lambda text: not set(text) & set("/\\.")))
def test_any_text_is_written_so_that_toml_reads_it_back(description: str, root: str) -> None:
    source = WorkspaceConfig.model_construct(root=root, corpus=CorpusSettings(description=description))
    config, data = effective_settings(source, "site", None, {})
    assert tomllib.loads(data.decode())["corpus"]["description"] == description
    assert (config.root, config.corpus.description) == (root, description)


@loop_over(
    ("taxonomy", "field"),
    [
        ({"limit": None}, "taxonomy.limit"),
        ({"a b": None}, "taxonomy.a b"),
        ({"": None}, "taxonomy."),
        ({f"key{number}": None for number in range(65)}, "taxonomy"),
        ({"area": "x" * 501}, "taxonomy.area.description"),
    ],
)
def test_a_key_that_breaks_its_rules_is_named(taxonomy: dict[str, str | None], field: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        effective_settings(WorkspaceConfig(), "site", None, taxonomy)
    assert caught.value.details["field"] == field


def test_a_description_that_is_too_long_is_named() -> None:
    with pytest.raises(InvalidConfig) as caught:
        effective_settings(WorkspaceConfig(), "site", "x" * 501, {})
    assert caught.value.details["field"] == "corpus.description"
