"""The identities of callers: tokens, OAuth, sign-in, and the rules of groups. Boundary of `jwt`.

rules.py   the role of a caller in a namespace, and the scopes of a role
"""
