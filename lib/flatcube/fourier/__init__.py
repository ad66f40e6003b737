"""The Walsh–Fourier transform of functions on the cube, and their spectra.

Every f: {±1}^n → ℝ is a unique combination of parities (HR Sec. 3; VA Sec. 3),

    f(x) = Σ_S c_S χ_S(x),    χ_S(x) = ∏_{i∈S} x_i,    c_S = E_x f(x) χ_S(x),

with x uniform on the cube. Tables and masks follow the convention of ``flatcube.cube``: c[mask(S)] is c_S.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "transforms": ["transform", "inverse"],
        "spectra": ["Spectrum", "spectrum", "to_even", "from_even"],
        "learning": ["learn_low_degree", "wrong_share"],
    },
)
