"""Do flat minima generalise? What networks make of the inputs that they were not shown, beside what bounds promise.

A network learns a function on the cube from m of its inputs (``sample``). What it computes on the others can be taken
apart: with ``split``, its risk is what it has wrong in the target's components, and what it adds to them. The modules
with experiments, whose tables in ``data/`` have their names, are

- ``random_functions``: functions without structure; what transformers make of them is less sensitive (HR Figs 4, 15);
- ``own_inputs``: are these transformers flatter on the inputs that they were trained on? (HR Sec. 6);
- ``gap``: sparse functions; how the gap grows with degree and sparsity, beside bounds (SP Fig. 1);
- ``attempts``: what was tried for the class of these functions that is never fitted (SP App. A);
- ``domination``: learned networks beside the hand-built one for the same function (SP Fig. 2);
- ``eigenvalues``: the spectra of their curvature side by side (SP Sec. 4.2);
- ``plain_start``: the norms once more, for networks whose first weights are not enlarged (SP Fig. 2(b));
- ``flattened``: networks that are pushed towards flat places, beside the same ones that are not;
- ``perturbed``: the hand-built network with noise in its weights (SP Figs 3 and 4).
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "learners": ["Sample", "sample", "config", "drawn", "learn"],
        "completions": ["extrapolate", "random_completion"],
        "findings": ["Parts", "split", "outputs", "errors", "shown_bits", "account", "distance", "certificate",
                     "hand_built"],
    },
)  # fmt: skip
