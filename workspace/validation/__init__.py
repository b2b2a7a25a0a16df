"""Validation of the Markdown of a workspace.

characters.py    invisible characters in a text
corpus.py        the files to validate, as documents, links and document types
destinations.py  broken destinations, for the rules that report them
files.py         the files to validate: of a folder, of Git's index, or of a commit
fixes/           fixes for findings that are safe to apply
rule.py          rules, their context and their findings
rules/           the rules, one file each
run.py           validation runs: documents checked against the enabled rules
"""
