"""The layer-norm networks of ``flatcube.parity.amplifier`` in time n instead of n², exact to rounding."""

import torch
from torch import Tensor

from flatcube import networks

__all__ = ["Lines"]

_NODES = 12  # on each of the four lines


class Lines(networks.Circuit):
    """The same network, faster: its keys lie on four lines, one for each bit and side, and one point, position 1.

    Along a line, in place u = i/N, what attention adds up is e^{cu} times a linear function. Interpolation at 12
    Chebyshev nodes gives that to rounding for |c| up to about 1, so 50 weighted keys stand for N of them.
    """

    def __init__(self, model: networks.Circuit) -> None:
        torch.nn.Module.__init__(self)
        self.__dict__.update(model.__dict__)

    def forward(self, symbols: Tensor) -> Tensor:
        symbols = self.checked(symbols)
        x, layer = self.embed(symbols), self.layers[0]
        places = self.rule(x.shape[-2]).to(x)
        keys, weights = self._nodes(symbols, places)
        shares = (x @ layer.heads[0].query_key @ keys.mT).exp() * weights[:, None]
        mixed = shares @ (keys @ layer.heads[0].value) / shares.sum(-1, keepdim=True)
        x = layer.norm(layer._after(x, x + mixed, {}))
        return self._readout(self.layers[1](x, self._row(x)))

    def _nodes(self, symbols: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Keys (…, 50, D) and the weights (batch, 50) with which they stand for the keys of each input."""
        count = len(places)
        at = (torch.arange(count) + 1) % count  # the numbers i of the positions
        u = at.double() / count
        nodes = (1 + torch.cos(torch.pi * (torch.arange(_NODES, dtype=torch.float64) + 0.5) / _NODES)) / 2
        gaps = nodes[:, None] - nodes + torch.eye(_NODES)
        ratios = (u[:, None, None] - nodes) / gaps  # (N, node, other node)
        basis = ratios.masked_fill(torch.eye(_NODES, dtype=torch.bool), 1.0).prod(-1)  # Lagrange's polynomials
        slope = (places[3] - places[1]) * count / 2  # of the codes, per unit of u
        codes = [places[which] + (nodes - (which + 1) / count)[:, None] * slope for which in (1, 2)]  # i = 2 and 3
        bits = torch.cat([symbols, symbols.new_zeros(len(symbols), 1)], dim=1)
        held = torch.stack([bits == bit for bit in (0, 1)], dim=1).to(places)  # (batch, 2, N)
        sides = torch.stack([(at % 2 == side) & (at != 1) for side in (0, 1)]).to(places)
        weights = torch.einsum("kbj,sj,jm->kbsm", held, sides, basis).flatten(1)
        keys = self.tokens[..., :, None, :] + torch.cat(codes)  # (…, 2, 2·nodes, D)
        first = self.tokens + places[0]
        return torch.cat([keys.flatten(-3, -2), first], dim=-2), torch.cat([weights, held[:, :, 0]], dim=1)
