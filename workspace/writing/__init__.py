"""Writes: the operations of a call planned on the tip, checked, and published as one commit.

idempotency.py        idempotency keys
plan.py               plans: operations applied in memory, in order, with the result of each
read_before_write.py  prevention of overwriting text that the caller has not read
write.py              the write of one call
"""
