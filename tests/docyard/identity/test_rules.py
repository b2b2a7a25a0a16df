"""The role of a caller in a namespace: the longest prefix, denial, and a plain reference."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from docyard.caller import ADMIN_SCOPE, READ_SCOPE, REVIEW_SCOPE, SCOPES, WRITE_SCOPE
from docyard.identity.rules import EVERYONE, ROLE_SCOPES, Role, Rule, find_role, narrow_scopes
from tests.loops import loop_over

GROUPS = ("*", "staff", "docs", "contractors")
NAMES = st.text("ab-", max_size=4)
RULES = st.lists(st.builds(Rule, st.sampled_from(GROUPS), NAMES, st.sampled_from(Role)), max_size=8)


def find_role_by_definition(rules: list[Rule], groups: set[str], namespace: str) -> Role:
    """Return the role, by trying each prefix of the name from the longest to the empty one."""
    for length in range(len(namespace), -1, -1):
        matching = [
            rule
            for rule in rules
            if rule.namespace_prefix == namespace[:length] and rule.group in {*groups, EVERYONE}
        ]
        if any(rule.role == Role.NONE and rule.group != EVERYONE for rule in matching):
            return Role.NONE
        if matching:
            return sorted(rule.role for rule in matching)[-1]
    return Role.NONE


@given(RULES, st.sets(st.sampled_from(GROUPS[1:])), NAMES)
def test_role_equals_that_of_the_definition(rules: list[Rule], groups: set[str], namespace: str) -> None:
    expected_role = find_role_by_definition(rules, groups, namespace)
    assert find_role(rules, groups, namespace) == expected_role
    assert find_role(reversed(rules), groups, namespace) == expected_role


@given(RULES, st.sets(st.sampled_from(GROUPS[1:])), NAMES, st.sets(st.sampled_from([*SCOPES, "other"])))
def test_request_never_widens_a_role(
    rules: list[Rule], groups: set[str], namespace: str, scopes: set[str]
) -> None:
    role = find_role(rules, groups, namespace)
    assert narrow_scopes(scopes, role) <= ROLE_SCOPES[role] & scopes


def rule(group: str, prefix: str, role: str) -> Rule:
    return Rule(group, prefix, Role.parse(role))


EXAMPLES = (
    ([], {"staff"}, "api", Role.NONE),
    ([rule("*", "", "reader")], set(), "api", Role.READER),
    ([rule("staff", "", "writer")], set(), "api", Role.NONE),
    ([rule("*", "", "reader"), rule("staff", "", "writer")], {"staff"}, "api", Role.WRITER),
    ([rule("staff", "", "admin"), rule("*", "secret-", "none")], {"staff"}, "secret-plans", Role.NONE),
    ([rule("staff", "", "admin"), rule("*", "secret-", "none")], {"staff"}, "api", Role.ADMIN),
    ([rule("staff", "", "admin"), rule("staff", "api", "reader")], {"staff"}, "api-v2", Role.READER),
    ([rule("*", "", "none"), rule("staff", "", "reader")], {"staff"}, "api", Role.READER),
    ([rule("staff", "api", "reader"), rule("staff", "", "admin")], {"staff"}, "api-v2", Role.READER),
    ([rule("staff", "api", "reader"), rule("staff", "", "none")], {"staff"}, "api-v2", Role.READER),
    ([rule("guests", "", "none"), rule("staff", "", "admin")], {"staff", "guests"}, "api", Role.NONE),
)


@loop_over(("rules", "groups", "namespace", "role"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_longest_prefix_decides(rules: list[Rule], groups: set[str], namespace: str, role: Role) -> None:
    assert find_role(rules, groups, namespace) is role


def test_stronger_role_has_all_scopes_of_the_weaker() -> None:
    assert ROLE_SCOPES[Role.READER] == {READ_SCOPE}
    assert ROLE_SCOPES[Role.WRITER] == {READ_SCOPE, WRITE_SCOPE, REVIEW_SCOPE}
    assert ROLE_SCOPES[Role.ADMIN] == {READ_SCOPE, WRITE_SCOPE, REVIEW_SCOPE, ADMIN_SCOPE}
