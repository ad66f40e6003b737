"""Grokking: a network that has learnt its examples by heart goes on, and much later understands the rule.

``cycles`` has the Fourier analysis of numbers on a circle, ``adder`` the transformer that learns to add modulo p, and
``circle`` one put together by hand that does so without a mistake. ``readings`` says what is read off a network on the
way, ``phases`` finds the phases by a rule. The modules with experiments, whose tables in ``data/`` have their names:

- ``modular``: a + b modulo 59, everything read all along (VA Figs 8 and 23);
- ``controls``: no decay, another optimiser or schedule, and sharpness-aware training.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "cycles": ["waves", "harmonics", "gini", "effective", "turning"],
        "adder": ["Adder", "pairs", "split"],
        "circle": ["by_hand", "margins"],
        "readings": ["Readings", "swaps"],
        "watching": ["Trial", "training"],
        "phases": ["curves", "events", "phase", "described", "leads"],
    },
)
