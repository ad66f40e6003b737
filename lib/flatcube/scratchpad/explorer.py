"""An automaton with a scratchpad: edit its table, let it write its states, and see what one flipped bit can do.

State::

    {"table": [[0, 1], [1, 0]],   the next state after 0 and after 1, for each state; it starts in state 0
     "accepting": [1],            states in which a string is accepted
     "bits": "1011001",           the string
     "step": 3}                   how many states are written, 0 … n

A state is coded in binary, and a code that nobody uses behaves like the last state.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flatcube.classroom.explorers import Explorer, Schema, tables
from flatcube.scratchpad import automata as scratchpad

__all__ = ["ScratchpadExplorer"]


class ScratchpadExplorer(Explorer):
    """The states written so far, which bits matter in one step and in one pass, and the averages of both."""

    name = "scratchpad"
    label = "An automaton with a scratchpad, one step and one pass"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        table, bits = state["table"], state["bits"]
        if any(np.shape(row) != (2,) for row in table):
            raise ValueError(f"table: expected {cls.schema['table'].expected}, got {table!r}")
        accepting = scratchpad.Automaton(np.array(table), state["accepting"]).accepting
        return {"table": table, "accepting": list(accepting), "bits": bits, "step": min(state["step"], len(bits))}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        automaton = scratchpad.Automaton(np.array(state["table"]), tuple(state["accepting"]))
        bits, step, most = list(map(int, state["bits"])), state["step"], cls.schema["bits"].max
        states, flips = automaton.run(bits), scratchpad.sensitive(automaton, bits)
        shown = {"n": len(bits), "states": len(automaton.table), "step": step, "here": flips.sum()}
        shown |= {f"next:{q}:{x}": after for (q, x), after in np.ndenumerate(automaton.table)}
        shown |= {f"accept:{q}": verdict for q, verdict in enumerate(automaton.accepts)}
        shown |= {f"x:{i}": bit for i, bit in enumerate(bits, 1)}
        shown |= {f"t:{i}": states[i] for i in range(step + 1)}
        shown |= {f"flip:{i}": flip for i, flip in enumerate(flips, 1)}
        if step:
            shown["now"] = _matter(automaton, states[step - 1], bits[step - 1])
        shown |= {f"s:{k}": scratchpad.one_pass_sensitivity(automaton, k) for k in range(1, most + 1)}
        shown |= {"s:step": scratchpad.step_sensitivity(automaton), "bits": sum(automaton.bits)}
        return {key: float(value) for key, value in shown.items()}

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The states of the whole run as columns, dark where the prefix is accepted."""
        state = cls.complete(state)
        automaton = scratchpad.Automaton(np.array(state["table"]), tuple(state["accepting"]))
        states = automaton.run(list(map(int, state["bits"])))
        width = 400 / len(states)
        bars = "".join(
            f'<rect x="{(at + 0.1) * width:.4g}" width="{0.8 * width:.4g}" y="{70 - 15 * q}" height="{15 + 15 * q}" '
            f'fill="{tables.colour(1 - 2 * automaton.accepts[q])}"/>'
            for at, q in enumerate(states)
        )
        return f'<svg viewBox="0 0 400 100" width="400" role="img" aria-label="{cls.label}">{bars}</svg>'


def _matter(automaton: scratchpad.Automaton, state: int, symbol: int) -> int:
    """How many bits of this state and this symbol change the next state when flipped."""
    codes = automaton.codes
    flipped = [codes[state ^ 1 << i, symbol] for i in range(automaton.bits[0])] + [codes[state, symbol ^ 1]]
    return sum(after != codes[state, symbol] for after in flipped)
