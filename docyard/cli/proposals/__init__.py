"""Proposals at the command line: the actions of the commands, and their output.

actions.py    the author, text and address of an action on a proposal, and its printed result
changes.py    differences between two commits at an address, as JSON, as Markdown and for a terminal
comments.py   reviews and comments
conflicts.py  conflicts of a proposal with its target
list.py       the list of proposals
page.py       a proposal as a page
write.py      a write to the served branch, or to a proposal if the policy requires review
"""
