"""Link keys: a link has a key in common with each possible target."""

from __future__ import annotations

from hypothesis import given, settings

from index.link_graph.records import (
    LinkRecord,
    extract_destination_name,
    find_matching_names,
    make_link_keys,
    make_name_test,
    make_path_keys,
    make_record,
)
from tests.example_counts import scale_examples
from tests.workspace.links.spellings import (
    PATHS,
    SOURCE_PATHS,
    PathTree,
    documents_with_path,
    read_targets,
    rules,
)
from workspace.config.tables import LinkRules
from workspace.document.document import Document


@given(rules, documents_with_path)
@settings(max_examples=scale_examples(120), deadline=None)
def test_link_and_its_target_share_a_key(links: LinkRules, document: tuple[str, bytes]) -> None:
    path, data = document
    file_tree = PathTree((*PATHS, *SOURCE_PATHS), links)
    parsed_document = Document.parse(data, path)
    record = make_record(parsed_document, links)
    for kind, destination, target in read_targets(file_tree, parsed_document):
        assert set(make_link_keys(kind, destination, path, links)) & set(make_path_keys(target))
        if target != path:
            assert record.keys(path, links) & set(make_path_keys(target)), (destination, target)
        if not file_tree.is_folder(target):
            assert make_name_test(target)(destination), (destination, target)
            assert extract_destination_name(destination) in {None, *find_matching_names(target)}, (
                destination,
                target,
            )


@given(rules, documents_with_path)
@settings(max_examples=scale_examples(50), deadline=None)
def test_written_record_is_read_back(links: LinkRules, document: tuple[str, bytes]) -> None:
    path, data = document
    record = make_record(Document.parse(data, path), links)
    assert LinkRecord.from_bytes(record.to_bytes()) == record


def test_very_long_destination_matches_every_path() -> None:
    record = make_record(Document.parse(b"[x](" + b"a" * 5_000 + b".md)", "from.md"), LinkRules())
    assert record.may_link_to_any_file
    assert record.keys("from.md", LinkRules()) & set(make_path_keys("any/other.md"))
