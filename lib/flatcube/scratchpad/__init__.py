"""Chain of thought: automata that write down their states, and what PAC-Bayes promises for a chain of steps.

A finite automaton reads symbols x_1 … x_T and moves from state q_{t−1} to q_t = table[q_{t−1}, x_t] (HR Theorem 7; the
printed proof reads x_{t−1}). In *one pass* a network goes from x to the last state; with a *scratchpad* it writes every
state, and each step depends on one state and one symbol only. States and symbols travel as bits: state q as the binary
digits of q, low digit first, and a code that nobody uses behaves like the last one in use.

The bounds are for PARITY (SP Theorems 7, 8 and 16, whose formulas are derived anew). A bit is rounded to the wrong
side only if the squared error is at least ¼, so by Markov its probability is at most 4·loss, and over T steps 4T·loss:

    chain     4T · (loss + truncated PAC-Bayes bound of the step network)
    one pass  4 · (truncated PAC-Bayes bound of the memorised wave of degree T)
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "automata": [
            "Automaton", "AUTOMATA", "sensitive", "transduce", "one_pass_sensitivity", "reset_word", "step_tables",
            "step_sensitivity",
        ],
        "steps": ["chain_error", "Price", "step", "one_pass", "error_bound", "samples", "log_delta", "growth"],
    },
)
