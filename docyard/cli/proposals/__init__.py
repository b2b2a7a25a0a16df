"""Proposals at the command line: the actions of the commands, and their output.

actions.py    results of actions on proposals, the next step, the author, the text and the address
changes.py    differences between two commits at an address, for people and for programs
comments.py   reviews and comments
conflicts.py  conflicts of a proposal with its target
list.py       the list of proposals
page.py       a proposal as a page
"""
