"""Learning sparse functions: how many examples an AND of three hidden bits takes, and when a parity is found.

``counting`` has the bounds that no learner beats, ``search`` the learner that tries all sets, ``critical`` the way from
successes to the sample size at which half of the trials succeed. The modules with experiments, whose tables in
``data/`` have their names, are

- ``sparse_and``: transformers that learn a hidden AND, success against examples and length (ED Figs 2 and 4);
- ``patience``: the same near the critical size, with more steps;
- ``overfit``: single runs with too few examples and with enough (ED Fig. 2);
- ``sparse_parity``: loss curves for hidden parities, and the time at which they jump (ED Fig. 3);
- ``progress``: what moves before the accuracy does, on all inputs of 14 bits (VA Fig. 24);
- ``forty``: the same at VA's length of 40 bits, by samples.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "counting": ["sets", "least_samples", "most_success", "least_queries", "survivors"],
        "targets": ["conjunction", "parity", "planted"],
        "learners": ["networks"],
        "search": ["consistent", "ideal"],
        "critical": ["Critical", "Law", "LAWS", "fit", "joined", "first_above", "bootstrap", "laws", "exponent"],
    },
)
