"""Beyond bits: how often a prediction changes when one token of its input does, for networks of words and of images.

Vasudeva et al. replace one token at a time, or add noise to it, and count changed predictions (Def. 4.1). ``flips``
does that, exactly where inputs are finite: if tokens are bits, it is the average sensitivity of chapter 2 over 2T.
``synthetic`` and ``single`` are their sequences with two cues and the layer of attention that learns them; ``images``,
``colour`` and ``text`` read data in their original files; ``models`` has the networks, ``learn`` their training to
equal accuracy.
The modules with experiments, whose tables in ``data/`` have their names, are

- ``cues``: which of two cues a layer of attention follows (VA Figs 3 and 9);
- ``vision``: sensitivity and robustness of networks that see images (VA Figs 4, 7, 14, 15, 17, Table 4);
- ``variations``: what a vision transformer's sensitivity hangs on (VA Figs 7, 10-12, Table 2);
- ``sentences``: networks that read sentences (VA Figs 5, 6, 19-22);
- ``optimisers``: whether the sensitivity of what is learnt hangs on the optimiser (VA App. E);
- ``pretrained``: what functions learnt before do to it (VA App. E);
- ``letters``: parity, majority and presence of letters in a real text (HR, next check 2);
- ``pocket``: three networks small enough for the explorer.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "flips": ["Sensitivity", "sequences", "decisions", "exact", "sampled", "whole", "replaced", "noisy", "renormed",
                  "swapped"],
        "synthetic": ["Setting", "draw", "sparse", "frequent", "sparse_sensitivity", "frequent_sensitivity", "signals"],
        "single": ["Single", "directions", "alignment", "mass"],
        "images": ["Pictures", "patches", "assembled", "fashion", "digits", "made", "CORRUPTIONS", "corrupted"],
        "colour": ["cifar", "svhn", "spoilt"],
        "text": ["rated", "pairs", "plain", "spoken", "vocabulary", "coded"],
        "models": ["KINDS", "READERS", "Mlp", "Cnn", "Mixer", "Vit", "Reader", "build", "numbers"],
        "learn": ["accuracy", "fit", "noisy_copies", "steady", "shaken"],
    },
)  # fmt: skip
