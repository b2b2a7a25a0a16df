"""Writes: plan the operations of a call on the tip, check the result, and publish it as one commit.

dependency_updates.py  update the dependencies of tasks after one operation of a batch
idempotency.py         idempotency keys
plan.py                apply operations in memory, in order, with the result of each
read_before_write.py   prevent overwriting text that the caller has not read
write.py               the write of one call
"""
