"""Experiments: each module computes one stored result of the book."""
