"""Two nodes of Docyard and three machines with PostgreSQL under Patroni, whose machines and links fail.

cluster.py         etcd, and PostgreSQL under Patroni with the files of deploy/patroni
faults.py          the faults, and a table of what each of them cost: python -m tests.patroni.faults
network.py         machines as network namespaces, whose links can be cut
nodes.py           the nodes of Docyard and their clones
observers.py       a writer and the readers, which count lost writes and stale answers
test_failover.py   the test, in the slow run
"""
