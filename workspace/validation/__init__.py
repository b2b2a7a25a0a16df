"""Validation of the Markdown of a workspace.

characters.py    invisible characters in a text
destinations.py  broken destinations, for the rules that report them
file_tree.py     the files to validate as a tree: their documents and document types
files.py         the files to validate: of a folder, of Git's index, or of a commit
fixes/           fixes for findings that are safe to apply
rule.py          rules, their context and their findings
rules/           the rules, one file each
run.py           validation runs: documents checked against the enabled rules
skill_faults.py  the reasons why a document of type `skill` is not offered as instructions
"""
