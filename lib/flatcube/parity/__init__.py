"""PARITY, four ways: nested majorities, a memorised wave, layer norm at ε = 0, and one bit at a time.

Every network is an ``Encoder`` on bits (batch, n) in {0, 1}. The nested majorities and the layer-norm network return
+1 for an even number of ones and −1 for an odd one; the memorised wave returns SP's 1 and 0; the scratchpad writes the
bit 0 for even and 1 for odd.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "constructions": [
            "is_odd", "majority_gates", "majority_network", "memorising_network", "scratchpad_network", "thresholds",
            "run",
        ],
        "amplifier": ["CHANNELS", "TARGETS", "layer_norm_network", "longest", "rescaled_network"],
        "fast": ["Lines"],
    },
)
