"""What looks like an offence and is none, with the reason. An entry needs one; the list should stay short."""

from __future__ import annotations

from fnmatch import fnmatch

__all__ = ["HARMLESS", "is_harmless"]

# (door, argument, label of the change), each a pattern: reason
HARMLESS = {
    ("capacity.samples_needed", "bound", "returns *"): "the error is that of the reader's function",
    ("pacbayes.semi_analytic", "loss", "returns *"): "the error is that of the reader's function",
    ("pacbayes.group*", "caps", "*inf"): "an infinite cap is none",
    ("pacbayes.grouped", "sigma", "value: inf"): "a group without curvature may have infinite noise",
    ("pacbayes.seeger", "sentence", "misspelt"): "any words may begin the sentence",
    ("pacbayes.of_model", "groups", "value: misspelt"): "any word names a group",
    ("*", "options", "misspelt key"): "Python names the door and the argument",
    ("*", "choices", "misspelt key"): "Python names the door and the argument",
    ("*", "choices", "value: None"): "None is the default of some",
    ("*", "x", "the other coding"): "other people's networks take any numbers; ours refuse it",
    ("sharpness.*", "stream", "misspelt"): "any word names a stream of random numbers",
    ("training.Task", "f", "returns *"): "the function is asked later",
    ("blowup.*norm_bound", "*here", "inf inside"): "a vector without variance has an infinite factor",
    ("sharpness.Landscape.*", "*", "*"): "the measures call it, and have checked what they were given",
    ("networks.Adapter*", "*", "*"): "a network that is not ours answers for itself",
    ("networks.from_state", "names", "*"): "any words can name any matrices",
    ("networks.Circuit", "names", "*"): "any words can name any matrices",
    ("networks.Circuit", "channels", "*misspelt"): "any words can name the channels",
    ("networks.*", "channels", "value: element: string"): "any words can name the channels",
    ("networks.*", "x", "the other coding"): "vectors, not bits",
    ("networks.*", "x", "* inside"): "NaN comes out as NaN; to look for it in every layer would slow all networks",
    ("networks.many", "*", "*"): "a network that is not ours answers for itself",
    ("networks.*", "parameters", "* inside"): "the weights of a network that diverged",
    ("networks.stacked", "parameters", "*"): "any tensors by any names",
    ("networks.*", "positions", "returns *"): "the rule is asked, and its answer checked, when the network runs",
    ("sparse_variables.*", "points", "the other coding"): "points may be any numbers",
    ("scratchpad.growth", "quantity", "returns one *"): "it fails itself, before it has returned a number",
    ("cube.mask", "name", "*"): "any word can stand in a message",
    ("cube.mask", "subset", "value: *"): "of a dictionary only the keys count",
    ("tokens.[A-Z]*.forward", "x", "* inside"): "as for networks: NaN comes out as NaN",
    ("tokens.*", "inputs", "one more axis"): "a single input has no standard error",
    ("tokens.fit", "watch", "returns *"): "it is told, and what it returns is not used",
    ("tokens.coded", "words", "misspelt key"): "any words can stand in a vocabulary",
    ("tokens.*", "texts", "element: misspelt"): "texts are any words",
    ("grokking.Trial", "arm", "misspelt"): "any word names an arm",
    ("grokking.curves", "rows", "*"): "rows of a table, which may have other columns and infinite epochs",
    ("grokking.phase", "found", "value: inf"): "an event that never came",
    ("grokking.leads", "networks", "element: *"): "networks have columns that the measure does not ask for",
    ("sampling.Estimate.covers", "truth", "*"): "an interval covers neither NaN nor an infinity",
}


def is_harmless(door: str, argument: str, label: str) -> bool:
    given = (door, argument, label)
    return any(all(map(fnmatch, given, patterns)) for patterns in HARMLESS)
