"""Experiments: each module computes one stored result of the book.

``engine`` runs grids of trials, ``workers`` says where, ``journal`` records them as they end, and ``store`` keeps what
is published in ``data/``.
"""
