"""The identities of callers: tokens, OAuth, sign-in, and the rules of groups. Boundary of `jwt`."""
