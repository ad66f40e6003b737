"""Training the cast on longer and longer inputs. Each module of this list is an experiment, and its table in ``data/``
has its name:

- ``sharper``: sharpness against the length (HR Figs 1, 5 and 6, Table 2);
- ``longer``: the same at long inputs, with networks of width 4 (HR Figs 7 and 8);
- ``tradeoff``: norm against blow-up, with many learning rates and weight decays (HR Figs 2, 9 and 10);
- ``dynamics``: loss, sharpness, norm and blow-up along training (HR Figs 3, 12, 13 and 14);
- ``stepwise``: networks that write PARITY down step by step (HR Fig. 11);
- ``initial``: how sensitive networks are before any training (HR Sec. 6);
- ``variants``: other networks, and another sensitive function, beyond the papers;
- ``signal``: the rival explanation, by the first gradient;
- ``changes``: which of our settings makes PARITY's slope half of HR's (not run at book scale yet).

``trials`` is what they share: networks trained on the cast and measured on the way. ``forest`` gathers all intervals
that compare sharpness, under the choices that a reader of the data may make. The room has no names of its own,
since ``trial``, ``summary`` and ``measured`` are those of an experiment.
"""
