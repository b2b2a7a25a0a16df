"""The policy: which documents change only by review, and the tokens that identify people.

protection.py          the rules that govern a change, and the gate for direct writes to the served branch
shared_tokens.py       the tokens that several nodes share
tokens.py              named tokens
unapproved_text.py     text that Docyard wrote before a rule required an approval of its changes
unreviewed_commits.py  commits made with Git that change protected paths
"""
