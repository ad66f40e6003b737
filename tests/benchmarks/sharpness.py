"""Sharpness and Hessian traces of HR's encoder, next to loops over perturbations, PyHessian and curvlinops.

Every arm gets the same network (n = 20, two layers, two heads, single precision, random weights) and one thread. For
sharpness, 8 Gaussian directions on 1024 inputs: the loops draw new noise and run PyTorch's own encoder for every
direction, as HR's public code does. For the trace, 512 inputs at a minimum of the loss: `vmap(grad)` and ours are
exact, a PyHessian probe is one of the thousands that Hutchinson's estimate needs, and XTrace stops at one per cent.
The targets are ratios of processor time.
"""

import arena
import torch

CASES = [("sharpness", 32), ("sharpness", 128), ("trace", 32), ("trace", 128)]
DIRECTIONS, NOISE = 8, 0.02
MATVECS = 8  # of XTrace; with 6 it is often off by more than one per cent

# (arm, cases, smallest ratio)
TARGETS = [
    ("functional_call loop", CASES[:2], 1.8),
    ("noise in place", CASES[:2], 1.8),
    ("vmap(grad)", CASES[2:], 2),
    ("one PyHessian probe", CASES[2:], 1),
    ("curvlinops XTrace", CASES[2:], 10),
]
LOOP, FOREIGN = "functional_call loop", "flatcube, PyTorch's encoder"
LEAST = 0.9  # of the loop's time to ours on the same foreign module: not slower, up to the noise of the machine


class Peer(torch.nn.Module):
    """HR's encoder as PyTorch builds it, with the weights of one of ours."""

    def __init__(self, model) -> None:
        super().__init__()
        p, width = {name: weight.detach() for name, weight in model.named_parameters()}, model.config.width
        self.tokens, self.positions = torch.nn.Parameter(p["tokens"]), torch.nn.Parameter(p["positions"])
        layer = torch.nn.TransformerEncoderLayer(width, model.config.heads, width, dropout=0.0, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, model.config.layers, enable_nested_tensor=False)
        self.readout = torch.nn.Linear(width, 1)
        self.load_state_dict(_state(p, model.config.layers))

    def forward(self, bits):
        x = torch.nn.functional.embedding(bits, self.tokens)
        x = torch.cat([x, self.positions.expand_as(x)], -1)
        return self.readout(self.encoder(x)[:, -1])[:, 0]


def _state(p, layers):
    """Our weights under PyTorch's names; PyTorch stores them as (out, in)."""
    state = {"tokens": p["tokens"], "positions": p["positions"]}
    state |= {"readout.weight": p["readout.weight"].T, "readout.bias": p["readout.bias"]}
    names = {"output": "self_attn.out_proj", "mlp.0": "linear1", "mlp.1": "linear2"}
    norms = {"norm_attention": "norm1", "norm": "norm2"}
    for index in range(layers):
        ours, theirs = f"layers.{index}.", f"encoder.layers.{index}."
        for kind in ("weight", "bias"):
            joined = torch.cat([p[f"{ours}{name}.{kind}"] for name in ("query", "key", "value")], -1)
            state[f"{theirs}self_attn.in_proj_{kind}"] = joined.T if kind == "weight" else joined
        for name, other in names.items():
            state[f"{theirs}{other}.weight"] = p[f"{ours}{name}.weight"].T
            state[f"{theirs}{other}.bias"] = p[f"{ours}{name}.bias"]
        for name, other in norms.items():
            state[f"{theirs}{other}.weight"] = p[f"{ours}{name}.gain"]
            state[f"{theirs}{other}.bias"] = p[f"{ours}{name}.bias"]
    return state


def scene(case):
    """Our network, the same one by PyTorch, and inputs."""
    from flatcube import networks

    torch.set_num_threads(1)
    task, width = case
    model = networks.Encoder(networks.Config(n=20, width=width), dtype=torch.float32)
    rows = 1024 if task == "sharpness" else 512
    bits = torch.randint(0, 2, (rows, 20), generator=torch.Generator().manual_seed(0))
    peer = Peer(model).eval()
    with torch.no_grad():
        assert torch.allclose(model(bits[:9]), peer(bits[:9]), atol=1e-4), "the two networks differ"
    return model, peer, bits


def flatcube(case):
    from flatcube import sharpness

    model, _, bits = scene(case)
    if case[0] == "trace":
        return lambda: sharpness.hessian_trace(model, bits, exclude=()).value
    return lambda: sharpness.average_direction(model, bits, rho=NOISE, directions=DIRECTIONS).value


def foreign(case):
    """The same measure of a module that flatcube did not make."""
    from flatcube import sharpness

    if case[0] != "sharpness":
        return None
    _, peer, bits = scene(case)
    return lambda: sharpness.average_direction(peer, bits, rho=NOISE, directions=DIRECTIONS).value


def functional_call_loop(case):
    if case[0] != "sharpness":
        return None
    _, peer, bits = scene(case)
    own = {name: w.detach() for name, w in peer.named_parameters() if name != "positions"}

    @torch.no_grad()
    def run():
        base, total = peer(bits), 0.0
        for _ in range(DIRECTIONS):
            moved = {name: w + NOISE * torch.randn_like(w) for name, w in own.items()}
            total += float((torch.func.functional_call(peer, moved, (bits,)) - base).square().mean())
        return total / DIRECTIONS

    return run


def noise_in_place(case):
    if case[0] != "sharpness":
        return None
    _, peer, bits = scene(case)
    own = [w for name, w in peer.named_parameters() if name != "positions"]

    @torch.no_grad()
    def run():
        base, total = peer(bits), 0.0
        for _ in range(DIRECTIONS):
            noise = [NOISE * torch.randn_like(w) for w in own]
            for w, shift in zip(own, noise, strict=True):
                w.add_(shift)
            total += float((peer(bits) - base).square().mean())
            for w, shift in zip(own, noise, strict=True):
                w.sub_(shift)
        return total / DIRECTIONS

    return run


def vmap_grad(case):
    if case[0] != "trace":
        return None
    _, peer, bits = scene(case)
    own = {name: w.detach() for name, w in peer.named_parameters()}

    def output(weights, row):
        return torch.func.functional_call(peer, weights, (row[None],))[0]

    slopes = torch.func.vmap(torch.func.grad(output), (None, 0), chunk_size=256 if case[1] == 32 else 64)

    def run():
        with _plain_attention():
            return 2 * sum(float(slope.square().sum()) for slope in slopes(own, bits).values()) / len(bits)

    return run


def pyhessian_probe(case):
    if case[0] != "trace":
        return None
    from pyhessian import hessian

    _, peer, bits = scene(case)
    with torch.no_grad():
        y = peer(bits)

    def run():
        with _plain_attention():
            return hessian(peer, torch.nn.MSELoss(), data=(bits, y), cuda=False).trace(maxIter=1)[0]

    return run


def curvlinops_xtrace(case):
    if case[0] != "trace":
        return None
    from curvlinops import HessianLinearOperator, xtrace

    from flatcube import sharpness

    model, peer, bits = scene(case)
    with torch.no_grad():
        y = peer(bits)

    def run():
        with _plain_attention():
            loss, halves = torch.nn.MSELoss(), [*zip(bits.split(256), y.split(256), strict=True)]
            operator = HessianLinearOperator(peer, loss, [*peer.parameters()], halves, check_deterministic=False)
            return xtrace(operator, num_matvecs=MATVECS)

    off = float(run()) / sharpness.hessian_trace(model, bits, exclude=()).value - 1
    assert abs(off) < 0.01, f"XTrace is off by {off:.1%}"
    return run


def _plain_attention():
    """PyTorch's fused attention has no second derivative on a processor, and no rule for vmap."""
    return torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)


ARMS = {
    "flatcube": flatcube,
    FOREIGN: foreign,
    LOOP: functional_call_loop,
    "noise in place": noise_in_place,
    "vmap(grad)": vmap_grad,
    "one PyHessian probe": pyhessian_probe,
    "curvlinops XTrace": curvlinops_xtrace,
}


def main() -> list[bool | None]:
    """Print the ratios; whether each target was met."""
    times, absent = arena.race(ARMS, CASES, rounds=10, patience=12)
    print("Sharpness and Hessian traces, time divided by flatcube's: above 1, flatcube is faster")
    heads = {(task, width): f"{task[:5]} {width}" for task, width in CASES}
    arena.show(times, absent, ARMS, heads)
    extra = {name: arena.memory(ARMS[name], CASES[0], CASES[1]) / 2**20 for name in ("flatcube", LOOP)}
    print("extra memory for sharpness at width 128, MB: " + ", ".join(f"{name} {mb:.0f}" for name, mb in extra.items()))
    verdicts = [
        arena.judge(f"{name} at {heads[case]}, ratio", arena.ratio(times, name, case, "cpu"), least=least)
        for name, cases, least in TARGETS
        for case in cases
    ]
    for case in CASES[:2]:
        loop, ours = (arena.ratio(times, name, case, "cpu") for name in (LOOP, FOREIGN))
        ratio = loop / ours if loop and ours else None
        verdicts.append(arena.judge(f"{LOOP} to {FOREIGN} at {heads[case]}, ratio", ratio, least=LEAST))
    return [*verdicts, arena.judge("extra memory, MB", extra["flatcube"], most=128)]
