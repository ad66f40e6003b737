"""Training K independent networks at once.

An ensemble is any module whose parameters have a leading axis of K members and that has two methods:
``many(parameters, bits)`` takes parameters (K, …) by name and bits (K, batch, n) to outputs (K, batch), no member
entering the output of another, and ``member(k)`` gives member k alone. All weights are kept as one matrix (K, P), so
that a step of the optimiser is a few operations on it.

A member meets the same batches whatever the other members are: its batch t depends on its seed and on t only. That
also makes a run that was stopped and resumed equal, bit by bit, to one that was not.

Every ``every`` steps each member is evaluated, and stops for one of four reasons:

- *goal*: its mean squared error was first below ``goal`` at least ``after`` steps ago (never, if ``after`` is None);
- *chance*: ``chance_after`` steps are done and its error never was below ``chance`` times that of the best constant;
- *diverged*: its error is not a finite number;
- *end*: all ``steps`` are done.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "tasks": ["Task"],
        "optimiser": ["Settings"],
        "runs": ["Run"],
        "loop": ["train"],
    },
)
