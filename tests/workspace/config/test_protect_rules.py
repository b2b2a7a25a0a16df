"""`[[protect]]` in `docyard.toml`: valid rules, and errors of invalid ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.loops import loop_over
from workspace.config.config import WorkspaceConfig
from workspace.config.tables import ALL_CHECKS, MAX_PROTECTION_RULES, Protection
from workspace.errors import InvalidConfig
from workspace.proposals.approvals import VoidReason

pytestmark = pytest.mark.smoke


def test_rule_with_all_settings_is_read() -> None:
    config = WorkspaceConfig.read(
        b'[[protect]]\npaths = ["specs/**"]\ntypes = ["api_spec"]\napprovals = 2\n'
        b'approvers = ["ana", "ben", "ana"]\nmerge = ["ana"]\nchecks = ["links"]\n[[protect]]\n'
    )
    assert config.protect == (
        Protection(
            paths=("specs/**",),
            types=("api_spec",),
            approvals=2,
            approvers=("ana", "ben"),
            merge=("ana",),
            checks=("links",),
        ),
        Protection(),
    )
    assert (Protection().approvals, Protection().checks) == (1, ALL_CHECKS)
    assert WorkspaceConfig.read(None).protect == ()


@loop_over(
    ("rule", "field"),
    [
        ('approvers = ["ana"]\napprovals = 2', "protect.0.approvals"),
        ('approvals = 2\napprovers = ["ana", "ana"]', "protect.0.approvals"),
        ("approvals = -1", "protect.0.approvals"),
        ("approvals = 21", "protect.0.approvals"),
        ("approvals = false", "protect.0.approvals"),
        ('approvals = "0"', "protect.0.approvals"),
        ('approvers = ["Ana"]', "protect.0.approvers.0"),
        ('merge = ["a b"]', "protect.0.merge.0"),
        ('merge = ["a\\u001b[2J"]', "protect.0.merge.0"),
        ('merge = ["' + "a" * 10_000 + '"]', "protect.0.merge.0"),
        ('paths = ["../up"]', "protect.0.paths.0"),
        ('paths = ["/etc"]', "protect.0.paths.0"),
        ('paths = ["specs", ""]', "protect.0.paths.1"),
        ('paths = ["[a"]', "protect.0.paths.0"),
        ('paths = ["./specs/**"]', "protect.0.paths.0"),
        ('paths = ["specs//api.md"]', "protect.0.paths.0"),
        ('paths = "specs"', "protect.0.paths"),
        ("paths = [" + '"a",' * 101 + "]", "protect.0.paths"),
        ('types = [" "]', "protect.0.types.0"),
        ('checks = ["spelling"]', "protect.0.checks.0"),
        ('path = ["specs"]', "protect.0.path"),
    ],
)
def test_invalid_rule_is_an_error_that_names_its_field(rule: str, field: str) -> None:
    with pytest.raises(InvalidConfig) as error_info:
        WorkspaceConfig.read(f"[[protect]]\n{rule}\n".encode())
    assert error_info.value.details["field"] == field
    assert len(error_info.value.message) < 300
    assert error_info.value.message.isprintable()


def test_error_of_single_table_states_the_list_syntax() -> None:
    with pytest.raises(InvalidConfig, match=r"write each rule below \[\[protect\]\]"):
        WorkspaceConfig.read(b'[protect]\npaths = ["specs"]\n')


def test_error_of_unknown_setting_lists_the_known_settings() -> None:
    with pytest.raises(InvalidConfig) as error_info:
        WorkspaceConfig.read(b'[[protect]]\npath = ["specs"]\n')
    assert "Known settings: paths, types, approvers, approvals, merge, checks." in error_info.value.fix


def test_more_than_five_hundred_rules_are_refused() -> None:
    assert len(WorkspaceConfig.read(b"[[protect]]\n" * MAX_PROTECTION_RULES).protect) == MAX_PROTECTION_RULES
    with pytest.raises(InvalidConfig, match="at most 500 rules, and has 501"):
        WorkspaceConfig.read(b"[[protect]]\n" * (MAX_PROTECTION_RULES + 1))


def test_example_of_the_documentation_is_a_valid_rule() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "policy.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    [rule] = WorkspaceConfig.read(example.encode()).protect
    assert rule.model_fields_set == {*Protection.model_fields}
    assert (rule.approvals, rule.checks) == (Protection().approvals, Protection().checks)


def test_every_reason_of_a_void_approval_is_documented() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "policy.md").read_text(encoding="utf-8")
    assert [reason for reason in VoidReason if f"`{reason}`" not in page] == []
