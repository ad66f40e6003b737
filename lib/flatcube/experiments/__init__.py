"""What all experiments share; each is a module of its chapter's room that defines ``EXPERIMENT``.

``engine`` runs grids of trials, ``workers`` says where, ``journal`` records them as they end, ``publish`` makes tables
of them, ``store`` keeps what is published in ``data/``, and ``trends`` has the statistics.
"""
