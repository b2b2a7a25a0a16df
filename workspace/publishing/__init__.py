"""The publication of a batch: one compare-and-swap of a branch, followed by the checkout.

after_commit.py   the rule for a failure after a commit
batch.py          A batch
batch_objects.py  the objects that a publication's commit brings, held in memory until Git's …
checkout.py       the work tree of a branch
journal.py        the journal
locks.py          the locks of a publication
prepared.py       the private folder of a publication
pruned.py         branches whose commits or files Git's housekeeping has removed, and what can rebuild …
publish.py        one commit from a batch, in an order in which no write is lost and a checkout never …
recovery.py       after a crash
refs.py           the branch's ref as a file
repair.py         what a loss of power broke, found and mended as far as that is safe
"""
