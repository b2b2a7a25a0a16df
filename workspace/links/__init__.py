"""Links: what a document refers to, what that means, and how it is spelled when what it names has moved.

`reading` finds links in bytes (`linewise` where lines can be read one by one, `leaves` elsewhere), `targets`
says which file and place a destination means, `names` which places a document has, `resolving` whether they
are there, `spelling` writes a destination anew as its author wrote it, `relinking` mends the links of a batch
after a rename or a move.
"""
