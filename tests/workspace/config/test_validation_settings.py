"""The `[validate]` table of `docyard.toml`: its settings, and the levels of each document."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from workspace.config.config import WorkspaceConfig
from workspace.config.names import RULE_NAMES
from workspace.config.tables import Validation
from workspace.errors import InvalidConfig
from workspace.validation.rule import Severity
from workspace.validation.rules import RULES
from workspace.validation.run import RuleSelection


def read_settings(text: str) -> Validation:
    return WorkspaceConfig.read(text.encode()).validation


def test_rule_names_of_the_settings_equal_those_of_the_rules() -> None:
    assert tuple(rule.name for rule in RULES) == RULE_NAMES


def test_each_rule_is_in_the_module_named_after_it() -> None:
    from workspace.validation import rules

    for rule in RULES:
        assert getattr(rules, rule.name.replace("-", "_")).RULE is rule


def test_last_matching_override_applies() -> None:
    settings = read_settings(
        '[validate]\nrules = { several-h1 = "off", skipped-level = "note" }\n'
        '[[validate.override]]\nmatch = "old"\nrules = { broken-link = "off", several-h1 = "error" }\n'
        '[[validate.override]]\nmatch = "old/x.md"\nrules = { broken-link = "note" }\n'
    )
    assert settings.levels("new.md") == {"several-h1": "off", "skipped-level": "note"}
    assert settings.levels("old/a.md") == {
        "several-h1": "error",
        "skipped-level": "note",
        "broken-link": "off",
    }
    assert settings.levels("old/x.md") == {
        "several-h1": "off",
        "skipped-level": "note",
        "broken-link": "note",
    }


def test_requested_rule_is_on_unless_the_settings_disable_it() -> None:
    settings = read_settings('[validate.rules]\nseveral-h1 = "off"\n')
    assert "missing-anchor" not in RuleSelection(settings).get_severities("a.md")
    requested = frozenset({"missing-anchor", "several-h1"})
    assert RuleSelection(settings, requested).get_severities("a.md") == {"missing-anchor": Severity.WARNING}
    assert RuleSelection(settings, requested, frozenset({"missing-anchor"})).get_severities("a.md") == {}


@loop_over(
    ("text", "message"),
    [
        ("[validate]\nrule = {}\n", "there is no setting 'validate.rule'"),
        ('[validate.rules]\nbroken-links = "off"\n', "there is no such rule; the rules are broken-link,"),
        ('[validate.rules]\nbroken-link = "fatal"\n', "must be 'error', 'warning', 'note' or 'off'"),
        (
            '[[validate.override]]\nmatch = "../x"\nrules = {}\n',
            "the glob leads out of its base folder",
        ),
        ("[[validate.override]]\nrules = {}\n", "validate.override.0.match: Field required"),
    ],
)
def test_invalid_validation_setting_error_names_the_problem(text: str, message: str) -> None:
    with pytest.raises(InvalidConfig) as error_info:
        read_settings(text)
    assert message in error_info.value.message


def test_unknown_table_error_lists_the_validate_table() -> None:
    with pytest.raises(InvalidConfig) as error_info:
        read_settings("validation = {}\n")
    assert ", validate" in error_info.value.fix
