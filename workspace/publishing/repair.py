"""What a loss of power broke, found and mended as far as that is safe. `docyard doctor --fix` asks for it.

    objects.py   loose objects that are empty or cut short are set aside
    refs.py      a branch whose file is torn is restored from its reflog
    pruned.py    a branch whose objects Git's housekeeping removed is rebuilt

Nothing is deleted: what is replaced is kept in `docyard/` within the Git directory.
"""
