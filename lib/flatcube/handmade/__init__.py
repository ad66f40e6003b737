"""A transformer whose weights are written down: f(x) = Σ_i λ_i even_{S_i}(x), exact on every input (SP App. B).

    A₁ = softmax(X W₁ Xᵀ),  U = A₁ X V₁          position i averages the bits of S_i
    R = relu(U E + b),      Z = X Π + R F        the trapezoid wave turns n_i/d into even_{S_i}
    p = softmax(Z_o W₂ Zᵀ), f̂ = p Z v₂           the output position mixes them with weights λ_i/Λ

Rows of X are T+1 positions: the bits x_1, …, x_T and an output position with bit 0. Columns are T+2 channels: a
one-hot position and the bit. Π keeps the positions and drops the bit. A ``Design`` holds the choices and has the closed
forms; ``build`` makes it a network, and the closed forms meet what autograd measures.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "design": ["Design", "Mixer", "wave", "breakpoints", "least_scale", "prefix_sums", "target_values"],
        "formulas": ["norms", "gradient_norms", "row_bounds"],
        "construction": ["build", "assemble", "from_spectrum", "from_table"],
        "weights": ["measured_norms", "measured_gradient_norms", "matrices", "names"],
        "symmetries": ["rescale", "best_rescaling", "random_projection", "project"],
    },
)
