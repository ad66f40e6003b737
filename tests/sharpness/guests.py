"""Five modules that flatcube did not make, with what people have in them: for the tests of measures."""

import torch
from torch import Tensor, nn

from flatcube import networks

BATCH = 12


class Keywords(nn.Module):
    """Takes its inputs by keyword, returns a dictionary, and drops units by a function."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 6)
        self.norm, self.out = nn.RMSNorm(6), nn.Linear(6, 3)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, *, tokens: Tensor, mask: Tensor) -> dict[str, Tensor]:
        self.calls += 1  # as some modules count their steps, in any mode
        hidden = nn.functional.dropout(self.embedding(tokens).tanh(), 0.5, self.training)
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return {"logits": self.out(self.norm(mean))}


def _draw(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


def _tokens() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(8)
    mask = torch.ones(BATCH, 4)
    mask[::2, -1] = 0
    return {"tokens": torch.randint(5, (BATCH, 4), generator=generator), "mask": mask}


def encoder() -> tuple[nn.Module, Tensor]:
    layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)  # with PyTorch's own dropout of a tenth
    read = networks.Adapter(nn.TransformerEncoder(layer, 2), lambda model, x: model(x)[:, 0, :2])
    return read, _draw(BATCH, 4, 6)


def perceptron() -> tuple[nn.Module, Tensor]:
    layers = [nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.3), nn.LayerNorm(8), nn.Linear(8, 2)]
    return nn.Sequential(*layers), _draw(BATCH, 5)


def convolutional() -> tuple[nn.Module, Tensor]:
    layers = [nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.Flatten(), nn.LayerNorm(16), nn.Linear(16, 2)]
    return nn.Sequential(*layers), _draw(BATCH, 2, 4, 4)


def recurrent() -> tuple[nn.Module, Tensor]:
    parts = nn.ModuleDict({"lstm": nn.LSTM(3, 4, 2, dropout=0.2), "norm": nn.LayerNorm(4), "out": nn.Linear(4, 2)})
    read = lambda model, x: model["out"](model["norm"](model["lstm"](x.transpose(0, 1))[0])[-1])  # noqa: E731
    return networks.Adapter(parts, read), _draw(BATCH, 5, 3)


def by_keyword() -> tuple[nn.Module, dict[str, Tensor]]:
    return networks.Adapter(Keywords(), lambda model, **named: model(**named)["logits"][:, :2]), _tokens()


GUESTS = {
    "nn.TransformerEncoder": encoder,
    "MLP with BatchNorm": perceptron,
    "convolutional net": convolutional,
    "LSTM": recurrent,
    "keywords, RMSNorm": by_keyword,
}


def guest(name: str, *, train: bool = False, dtype: torch.dtype = torch.float64) -> tuple[nn.Module, object]:
    """One of them with random weights and statistics, in train or eval mode, and inputs for it."""
    torch.manual_seed(3)
    model, x = GUESTS[name]()
    for part in model.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.running_mean.normal_(), part.running_var.uniform_(0.5, 2.0)
    model = model.to(dtype).train(train)
    cast = lambda values: values.to(dtype) if values.is_floating_point() else values  # noqa: E731
    return model, {key: cast(values) for key, values in x.items()} if isinstance(x, dict) else cast(x)
