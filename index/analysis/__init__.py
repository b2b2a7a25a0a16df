"""Text analysis: bytes become raw tokens, and each distinct raw token becomes index terms.

A corpus has millions of words but few different ones. The steps for all words (`strip_markup`,
`split_raw_tokens`) therefore work on bytes and decode nothing. The slow steps (`expansion`: folding, stop
words, stemming, splitting names) run once for each different raw token, and `index.building.vocabulary`
caches the result. The functions of `terms` do the same in simple steps: they define the terms of a text, and
they analyse queries.

expansion.py  the index terms of a token
terms.py      the index terms of texts, headings and queries
words.py      tokens: the characters of words, and the characters that join words into one name
"""
