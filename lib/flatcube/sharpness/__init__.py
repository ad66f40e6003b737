"""How much a small change of the weights changes what a network computes.

    L_ρ = E_x E_Δ (f_{θ+Δ}(x) − f_θ(x))²    average-direction sharpness (HR Eq. 15)

with Δ uniform on the sphere of radius ρ, or Gaussian with standard deviation ρ in every weight, a shift of norm about
ρ√D. Position encodings are left alone unless ``exclude`` says otherwise: their number grows with the input (HR Sec. 5).
All means are over the given inputs; standard errors and intervals are over the directions.

Any ``nn.Module`` will do, with any loss, on tensors or batches: see ``Landscape``.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "measures": [
            "average_direction", "Sharpness", "radius", "parameter_norm", "worst_direction", "Worst", "shop",
            "shpred", "heat", "Heat", "input_shift",
        ],
        "landscape": ["Landscape", "Sampled", "random_source", "random_vectors"],
        "curvature": ["hessian", "hessian_trace", "perturbed_trace", "top_eigenvalue"],
        "spectra": ["spectrum", "Spectrum"],
        "rulers": ["relative_flatness"],
        "gradients": ["gradient_norms"],
        "brittleness": [
            "lower_bound", "limit", "width_correction", "least_zeta", "exponent", "blowup_constant", "small_ball",
            "angle_loss", "plateau",
        ],
    },
)
