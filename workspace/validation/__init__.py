"""Validation of the Markdown of a workspace.

characters.py    characters that cannot be seen
corpus.py        the corpus that is validated
destinations.py  what links lead to, for the rules that tell of broken ones
files.py         the files that are looked at
fixes/           fixes for findings that are safe to apply
rule.py          what a rule is
rules/           the rules, each a file of its name
run.py           A workspace is validated
"""
