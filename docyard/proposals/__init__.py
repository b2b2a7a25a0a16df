"""Proposals as commands and pages show them.

conflicts.py  conflicts of a proposal with its target, and their versions as text
view.py       what is known of a proposal, and what its reviews and its merge lack
"""
