"""One training step of K encoders, next to K encoders of PyTorch that take their steps one after the other.

Every arm draws its batches, computes the loss for PARITY, and makes a step of AdamW, on one thread; every process keeps
its freed memory, which helps all arms. The targets are ratios of processor time.
"""

import arena

CASES = [(16, 16, 10, 64), (16, 16, 10, 256), (16, 16, 20, 256), (16, 32, 20, 256), (4, 32, 20, 256), (1, 32, 20, 256)]

# (case, smallest ratio)
TARGETS = [((16, 16, 10, 64), 2.5), ((16, 16, 10, 256), 2.5), ((16, 16, 20, 256), 2.5), ((16, 32, 20, 256), 1.7)]


def flatcube(case):
    import torch

    from flatcube import networks, training
    from flatcube.networks.memory import keep_memory
    from flatcube.training import runs

    torch.set_num_threads(1)
    keep_memory()
    members, width, n, batch = case
    ensemble = networks.Ensemble(networks.Config(n, width=width), seeds=range(members))
    task = training.Task(lambda signs: signs.prod(axis=1), n)
    settings = training.Settings(steps=10**6, batch=batch, every=10**6)
    trainer = runs.Trainer(ensemble, task, settings, None, None)
    return trainer.advance  # the first call, which is not counted, also evaluates


def sequential(case):
    return _sequential(case, fused=False)


def sequential_fused(case):
    return _sequential(case, fused=True)


def _sequential(case, *, fused):
    import torch

    from flatcube.networks.memory import keep_memory

    torch.set_num_threads(1)
    keep_memory()
    members, width, n, batch = case
    models = [_pytorch(width, n) for _ in range(members)]
    optimisers = [torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.1, fused=fused) for model in models]

    def run():
        for model, optimiser in zip(models, optimisers, strict=True):
            bits = torch.randint(0, 2, (batch, n))
            y = 1.0 - 2 * (bits.sum(1) % 2)
            optimiser.zero_grad()
            (model(bits) - y).square().mean().backward()
            optimiser.step()

    return run


def _pytorch(width, n):
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(2, width // 2), nn.Parameter(torch.randn(n, width // 2))
            layer = nn.TransformerEncoderLayer(width, 2, width, 0.0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.readout = nn.Linear(width, 1)

        def forward(self, bits):
            x = torch.cat([self.tokens(bits), self.positions.expand(len(bits), -1, -1)], -1)
            return self.readout(self.encoder(x)[:, -1])[:, 0]

    return Model()


ARMS = {"flatcube": flatcube, "nn.TransformerEncoder": sequential, "the same, fused AdamW": sequential_fused}


def main() -> list[bool | None]:
    """Print the ratios; whether each target was met."""
    times, absent = arena.race(ARMS, CASES, rounds=12, patience=8)
    print("One training step of K encoders, time divided by flatcube's: above 1, flatcube is faster")
    for clock, title in (("cpu", "processor time"), ("wall", "on the clock")):
        heads = (f"{k} × d{width} n{n} b{batch}" for k, width, n, batch in CASES)
        print(f"{title:24}" + "".join(f"{head:>20}" for head in heads))
        for name in ARMS:
            ratios = "".join(f"{arena.short(arena.ratio(times, name, case, clock)):>20}" for case in CASES)
            print(f"{name:24}" + (f"  not measured: {absent[name]}" if name in absent else ratios))
        ours = (getattr(times["flatcube", case], clock) * 1e3 / case[0] for case in CASES)
        print(f"{'flatcube, ms a member':24}" + "".join(f"{arena.short(ms):>20}" for ms in ours) + "\n")
    return [
        arena.judge(f"{name} at K, d, n, batch = {case}, ratio", arena.ratio(times, name, case, "cpu"), least=least)
        for name in ("nn.TransformerEncoder", "the same, fused AdamW")
        for case, least in TARGETS
    ]
