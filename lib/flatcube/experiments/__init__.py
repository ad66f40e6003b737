"""Experiments: each module computes one stored result of the book.

``engine`` runs grids of trials, ``journal`` records them as they end, ``store`` keeps what is published in ``data/``.
"""
