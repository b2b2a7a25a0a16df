"""Words that are in almost every text, and so say nothing about any."""

from __future__ import annotations

_STOP_WORDS = """
    a about above after again against all also am an and any are aren't as at be because been before being
    below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down
    during each either else etc ever every few for from further get gets getting got had hadn't has hasn't
    have haven't having he her here here's hers herself him himself his how how's however i i'd i'll i'm
    i've if in into is isn't it it's its itself just let let's like may me might more most must mustn't my
    myself neither no nor not now of off often on once only or other ought our ours ourselves out over own
    per please same shall shan't she should shouldn't since so some such than that that's the their theirs
    them themselves then there there's these they they'd they'll they're they've this those though through
    thus to too under until up upon us very via want was wasn't we we'd we'll we're we've were weren't
    what what's when when's where where's whether which while who who's whom whose why why's will with
    within without won't would wouldn't yet you you'd you'll you're you've your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
