"""The settings of an artifact, which combine the settings of its source and of its builder."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.artifacts.build import make_settings
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


def read_config(source: str = SOURCE) -> WorkspaceConfig:
    return WorkspaceConfig.read(source.encode())


def test_settings_of_the_source_are_preserved() -> None:
    config, _ = make_settings(read_config(), "site", None, {})
    assert (config.root, config.limits.document_bytes) == ("docs", 5000)
    assert config.corpus.description == "The source's own words"
    assert list(config.taxonomy_keys.items())[:2] == [("language", "Programming language"), ("scope", None)]


def test_selection_settings_of_the_source_are_dropped() -> None:
    config, _ = make_settings(read_config(), "site", None, {})
    assert config.exclude == ()
    assert config.overwrite == "seen"


def test_descriptions_of_the_builder_override_the_source() -> None:
    config, _ = make_settings(
        read_config(), "site", "For hosts", {"scope": "Where it applies", "language": None, "area": None}
    )
    assert config.corpus.description == "For hosts"
    assert list(config.taxonomy_keys.items())[:3] == [
        ("language", "Programming language"),
        ("scope", "Where it applies"),
        ("area", None),
    ]


def test_default_description_contains_the_name() -> None:
    assert make_settings(WorkspaceConfig(), "site", None, {})[0].corpus.description == "documentation of site"


@given(TEXT, TEXT.filter(lambda text: not set(text) & set("/\\.")))
def test_any_description_is_written_as_valid_toml(description: str, root: str) -> None:
    source = WorkspaceConfig.model_construct(root=root, corpus=CorpusSettings(description=description))
    config, data = make_settings(source, "site", None, {})
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
def test_invalid_key_error_names_its_field(taxonomy: dict[str, str | None], field: str) -> None:
    with pytest.raises(InvalidConfig) as error_info:
        make_settings(WorkspaceConfig(), "site", None, taxonomy)
    assert error_info.value.details["field"] == field


def test_too_long_description_error_names_its_field() -> None:
    with pytest.raises(InvalidConfig) as error_info:
        make_settings(WorkspaceConfig(), "site", "x" * 501, {})
    assert error_info.value.details["field"] == "corpus.description"
