"""Spectral bias: the kernel of a wide network says which degrees it learns first.

On the cube a kernel Ψ(⟨x, y⟩/n) has the parities as eigenfunctions and one eigenvalue μ_k for each degree k; if Ψ has
no negative Taylor coefficient, μ_k ≥ μ_{k+2} (Yang and Salman 2020; VA Prop. 3.1). ``spectra`` computes them by routes
that share no code, ``profiles`` has the functions Ψ of wide MLPs and of attention over bits, ``layers`` kernels that
are no functions of ⟨x, y⟩, ``finite`` networks of finite width, ``flow`` the curves that gradient flow follows. The
modules with experiments, whose tables in ``data/`` have their names, are

- ``by_degree``: the loss by degree while networks learn a sum of parities (HR, Discussion);
- ``first_weights``: what the size of the first weights changes (HR summary, open question 3);
- ``architectures``: spectra of MLPs, windows and attention side by side (VA App. E);
- ``widths``: how the kernels of finite networks approach those of infinite ones (VA App. B).
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "spectra": ["matrix", "krawtchouk", "eigenvalues", "words", "gaps", "ordered", "by_set", "mean_by_degree",
                    "leak"],
        "profiles": ["relu", "step", "conjugate", "tangent", "attention"],
        "layers": ["head", "features", "products", "linear_attention", "transformer", "convolution"],
        "finite": ["of_weights", "perceptron", "heads", "softmax_by_set"],
        "flow": ["left", "descend"],
    },
)  # fmt: skip
