"""The rules, each a file of its name; this is their list."""

from __future__ import annotations

from workspace.validation.rules import (
    bidirectional_control,
    derived_anchor,
    duplicate_anchor,
    encoding,
    invisible_character,
    lost_character,
    malformed_front_matter,
    malformed_manifest,
    malformed_task,
    missing_anchor,
    mixed_line_endings,
    several_h1,
    skipped_level,
    taxonomy_limit,
    trailing_space,
    type_structure,
    unknown_type,
    unreadable_document,
)
from workspace.validation.rules.links import broken_fragment, broken_image, broken_link

RULES = tuple(
    module.RULE
    for module in (
        broken_link,
        broken_fragment,
        broken_image,
        duplicate_anchor,
        derived_anchor,
        missing_anchor,
        skipped_level,
        several_h1,
        malformed_task,
        malformed_front_matter,
        unknown_type,
        type_structure,
        taxonomy_limit,
        malformed_manifest,
        invisible_character,
        bidirectional_control,
        trailing_space,
        encoding,
        lost_character,
        mixed_line_endings,
        unreadable_document,
    )
)
"""Every rule, in the order in which they are documented."""
