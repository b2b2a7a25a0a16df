"""Proposals at a terminal: what a command does, and what it prints.

actions.py    what was done with a proposal, and what is to be done next
changes.py    what differs between two commits, narrowed down to a place, for people and for programs
comments.py   what is said of a proposal
conflicts.py  conflicts of a proposal with its target
list.py       the list of proposals
page.py       A proposal as a page
"""
