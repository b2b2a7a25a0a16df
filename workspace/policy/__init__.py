"""The policy: which documents change only by review, and the tokens that identify people.

protection.py  which rules govern a change, and the gate at which a write to the served branch is asked
tokens.py      named tokens
"""
