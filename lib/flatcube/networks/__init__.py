"""The vocabulary of all networks in the book, and the one interface through which measures see them.

*Put together by hand:* ``Head``, ``Mlp`` and ``Norm`` make a ``Layer``, layers make a ``Circuit``, and ``from_state``
makes it again from its tensors. *Trained:* a ``Config`` says what an encoder is made of; ``Encoder`` is one, drawn at
random, and ``Ensemble`` K of them at once; ``shapes`` and ``initial`` are those of its parameters. *To compare with:*
``Perceptron`` and ``Lstm``, of which ``Rivals`` computes K at once.

Circuits, encoders and ensembles are each a ``Network``:

    model(x)                symbols (batch, n), mostly bits, to numbers (batch,); an ensemble gives (K, batch)
    model.activations(x)    everything on the way, by name, such as layers.0.attention.1 or layers.1.factor
    model.circuit()         the same function as a ``Circuit``, whose layers hold every map: scores, values, MLPs, norms
    model.length            the number of symbols it takes, None for any

A measure that asks for no more than this (``flatcube.networks.interface`` has all of it) works for all of them. Weights
have names; those of position encodings contain "positions". ``squared_norms`` gives their sizes, and ``many`` runs
copies of any network, each with weights of its own; ``stacked`` shapes these for the parts of a circuit.

*Made by others:* measures take any ``nn.Module``, run it as after ``eval()`` and leave it as it was. An ``Adapter``
stands between if it takes or returns something else than tensors (batch, …); ``stretch.register`` makes a norm known.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "blocks": ["Head", "Mlp", "Norm", "Layer"],
        "circuit": ["Circuit", "from_state"],
        "config": ["Config"],
        "encoder": ["Encoder", "Ensemble", "shapes", "initial"],
        "rivals": ["Perceptron", "Lstm", "Rivals"],
        "interface": ["Network", "squared_norms"],
        "explorer": ["show"],
        "words": ["describe"],
        "copies": ["many", "stacked"],
        "guests": ["Adapter"],
        "norms": ["stretch"],
    },
)
