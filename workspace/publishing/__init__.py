"""The publication of a batch: the update of the work tree, then one compare-and-swap of the branch.

after_commit.py    the rule for a failure after a commit
batch.py           a batch: the changes of one commit, as a value
batch_objects.py   the objects of a publication's commit
checkout.py        the work tree of a branch during a publication
journal.py         the journal: a record of a publication's steps, written before the first of them
locks.py           the locks of a publication
pruned.py          branches whose commits or files Git's housekeeping has removed
publish.py         the publication of a batch as one commit
recovery.py        recovery after a crash: an unfinished publication is rolled back or forward
refs.py            the ref of a branch as a file
repair.py          repair of damage by a loss of power
staging_folder.py  atomic changes of files, and the staging folder of a publication
"""
