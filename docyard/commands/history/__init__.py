"""The commands that read the history, one module each, imported on demand.

blame.py  `docyard blame`: who last changed each line
diff.py   `docyard diff`: the changes between two versions
drift.py  `docyard drift`: sections whose code changed after they last did
log.py    `docyard log`: the commits that changed documents
"""
