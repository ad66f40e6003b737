"""Creating sparse variables: attention picks s of T bits, an MLP looks up their function (ED Sec. 4.4 and App. B).

The last position, [CLS], asks; every bit answers with a logit, R for a chosen bit and 0 for the others. The softmax
makes a *signal* of this, close to one of n known points, and ``lookup`` turns points into values. There are three ways
to hand over the bits b:

    fixed       x_t = E_{b_t} + v_t, with given unit vectors v_t             ED Lemma B.2
    trainable   x_t = E_{b_t} + P_t, with P chosen to fit the task           ED Lemma B.3
    bag         x_t = b_t v_t, with no positions at all: X = diag(b) V       ED Lemma B.4

and two signals: "one" number for all chosen bits, enough for symmetric functions, or one number for "each".

    fixed, trainable   one: (1/s) Σ χ_i        each: χ_i              χ_i = (−1)^{b_i}, r = Σ b_i
    bag                one: (r − s)/(r + 1)    each: (b_i − 1)/(r + 1)

Signals of different inputs are γ apart or more, and the head must be right to γ/4. Where ED's choices fail, ``form``
selects the "repaired" ones or those "printed" (errata 41 to 47).
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "selectors": ["Selector", "represent", "as_symbols", "inputs"],
        "norms": ["frobenius_norms", "claimed_norms"],
        "scales": [
            "ENCODINGS", "OUTPUTS", "FORMS", "logit_scale", "largest_coherence", "worst_error", "smallest_scale",
            "truncated_softmax", "truncation_bound", "lookup_radius",
        ],
        "directions": ["coherence", "random_directions", "capacity", "dimension_for", "with_inner_products", "tilted"],
        "tables": ["KINKS", "ramp", "bump", "lookup", "lookup_norms", "largest_entries", "claimed_entries"],
        "juntas": ["is_sparse", "is_symmetric", "levels", "strictness", "injectivity", "distance"],
        "gates": ["compose"],
    },
)
