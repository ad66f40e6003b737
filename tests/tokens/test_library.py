"""The library of chapter 15: what it computes by two routes, files in their original formats, and what it refuses."""

import gzip
import itertools
import struct

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flatcube import networks, tokens
from flatcube.tokens import learn, models, synthetic, vision

# --- sensitivity ------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 99))
def test_exact_counts_pairs_of_place_and_symbol(symbols, T, seed):
    inputs = tokens.sequences(symbols, T)
    values = dict(zip(map(tuple, inputs), np.random.default_rng(seed).integers(-1, 2, len(inputs)), strict=True))
    found = tokens.exact(lambda x: np.array([values[tuple(row)] for row in x]), inputs, symbols)
    pairs = [values[tuple(row)] != values[(*row[:place], symbol, *row[place + 1 :])]
             for row in inputs.tolist() for place in range(T) for symbol in range(symbols)]  # fmt: skip
    assert found.value == pytest.approx(np.mean(pairs)) and found.positions.mean() == pytest.approx(found.value)


def test_samples_agree_with_what_is_exact_within_their_errors():
    rng = np.random.default_rng(0)
    inputs = rng.integers(3, size=(2000, 5))

    def f(x):
        return np.cos(x @ np.array([1.0, 2.0, 3.0, 4.0, 5.0]))

    exact, drawn = tokens.exact(f, inputs, 3), tokens.sampled(f, inputs, tokens.replaced(3), rng=rng, repeats=4)
    assert abs(drawn.value - exact.value) < 4 * drawn.error < 0.03
    assert drawn.positions == pytest.approx(exact.positions, abs=0.03)


def test_an_encoder_of_the_book_is_a_function_of_tokens():
    model = networks.Encoder(networks.Config(n=5), seed=1)
    found = tokens.exact(tokens.numbers(model), tokens.sequences(2, 5), 2)
    assert 0 <= found.value <= 0.5 and len(found.inputs) == 32


def test_places_without_a_token_are_left_alone():
    inputs = np.ones((6, 4, 2))
    present = np.array([[True, False, True, True]] * 6)
    inputs[~present] = 0
    seen = []

    def f(x):
        seen.append(x)
        return x[:, :, 0].sum(1)

    found = tokens.sampled(f, inputs, tokens.noisy(2.0), rng=0, repeats=3, present=present)
    assert np.isnan(found.positions[1]) and all((x[:, 1] == 0).all() for x in seen)
    assert found.value == pytest.approx(np.nanmean(found.positions))


def test_changes_keep_what_they_promise():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 7))
    assert np.allclose(np.linalg.norm(tokens.renormed(3.0)(x, rng), axis=1), np.linalg.norm(x, axis=1))
    swapped = tokens.swapped()(x, rng)
    assert not (swapped == x).all(1).any() and sorted(swapped[:, 0]) == sorted(x[:, 0])
    assert np.std(tokens.noisy(0.5)(np.zeros((500, 40)), rng)) == pytest.approx(0.5, rel=0.02)
    assert tokens.whole(lambda x: x.sum(1), np.full((40, 3), 9.0), tokens.noisy(0.1), rng=0).value == 0


# --- synthetic tokens -------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_closed_forms_count_all_pairs(data):
    m = data.draw(st.integers(4, 8))
    n_f = data.draw(st.integers(2, m - 1))
    setting = synthetic.Setting(data.draw(st.integers(1, min(3, n_f))), n_f, data.draw(st.integers(1, n_f)), m, T=14,
                                M=2 * m + 2 + data.draw(st.integers(1, 4)))  # fmt: skip
    some, _ = tokens.draw(setting, 4, rng=data.draw(st.integers(0, 99)))
    for cue, value in ((tokens.sparse, tokens.sparse_sensitivity(setting)),
                       (lambda x: tokens.frequent(x, m), tokens.frequent_sensitivity(setting))):  # fmt: skip
        assert tokens.exact(cue, some, setting.symbols).inputs == pytest.approx(np.full(4, value))


def test_no_setting_prefers_sparse_tokens_by_sensitivity_and_frequent_ones_by_signal():
    """So settings decide between the two rules in one direction only."""
    for m, n_s in itertools.product(range(2, 40, 3), range(1, 6)):
        for n_f in range(max(2, n_s), m):
            for n_d in range(1, n_f + 1):
                setting = synthetic.Setting(n_s, n_f, n_d, m)
                sparse, frequent = tokens.signals(setting)
                if frequent > sparse:
                    assert tokens.frequent_sensitivity(setting) <= tokens.sparse_sensitivity(setting)


def test_a_vote_along_class_means_goes_by_the_larger_signal():
    for numbers in ((1, 17, 3, 20), (1, 17, 7, 20), (3, 5, 1, 16), (2, 7, 7, 10)):
        setting = tokens.Setting(*numbers)
        wrong, y = tokens.draw(setting, 400, rng=0, flipped=True)
        score = y * tokens.directions(setting)["mean"][wrong].sum(1)
        sparse, frequent = tokens.signals(setting)
        assert score == pytest.approx(np.full(400, frequent - sparse))


# --- images and their files -------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_patches_and_back(rows, columns, size, N):
    image = np.random.default_rng(0).normal(size=(N, rows * size, columns * size))
    assert np.array_equal(tokens.assembled(tokens.patches(image, size), columns * size), image)


def _idx(values: np.ndarray) -> bytes:
    return struct.pack(">I", 2048 + values.ndim) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def _write(folder, packed=True, few=0):
    rng = np.random.default_rng(0)
    for part, count in (("train", 6), ("t10k", 3)):
        images, labels = rng.integers(256, size=(count, 4, 4), dtype=np.uint8), np.arange(count - few, dtype=np.uint8)
        for name, values in (("images-idx3", images), ("labels-idx1", labels)):
            raw = _idx(values)
            name = f"{part}-{name}-ubyte" + (".gz" if packed else "")
            (folder / name).write_bytes(gzip.compress(raw) if packed else raw)


@pytest.mark.parametrize("packed", [True, False])
def test_fashion_mnist_in_its_own_format(tmp_path, packed):
    _write(tmp_path, packed)
    found = tokens.fashion(tmp_path)
    assert found.images.shape == (6, 4, 4) and found.test_labels.tolist() == [0, 1, 2]
    assert found.images.min() >= 0 and found.images.max() <= 1
    assert found.images[0, 0, 0] == np.float32(np.random.default_rng(0).integers(256, size=1, dtype=np.uint8)[0] / 255)


def test_digits_in_their_own_format(tmp_path):
    path = tmp_path / "digits.csv.gz"
    with gzip.open(path, "wt") as file:
        for label in range(8):
            file.write(",".join(["16.0"] * 64 + [str(label)]) + "\n")
    found = tokens.digits(path)
    assert found.images.shape == (6, 8, 8) and (found.images == 1).all() and found.test_labels.tolist() == [6, 7]


def test_damaged_files_are_refused_in_one_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match="dataset-fashion-mnist"):
        tokens.fashion(tmp_path)
    _write(tmp_path, few=1)
    with pytest.raises(ValueError, match="a label for each image"):
        tokens.fashion(tmp_path)
    path = tmp_path / "x"
    good = _idx(np.zeros(5, np.uint8))
    for raw in (b"", b"\x1f\x8bno", good[:-1], good + b"1", b"\x00\x00\x08\x02" + good[4:], gzip.compress(good)[:-9]):
        path.write_bytes(raw)
        with pytest.raises(ValueError, match="expected"):
            tokens.idx(path)
    path.write_bytes(gzip.compress(b"1,2\n" * 9))
    with pytest.raises(ValueError, match="64 pixels"):
        tokens.digits(path)


def test_every_corruption_gets_worse_with_severity():
    data = tokens.made(40, rng=0).images
    assert data.shape == (40, 28, 28)
    for kind in tokens.CORRUPTIONS:
        off = [np.abs(tokens.corrupted(data, kind, k, rng=0) - data).mean() for k in (1, 2, 3)]
        assert 0 < off[0] < off[1] < off[2], kind
        assert tokens.corrupted(data, kind, 3).shape == data.shape


# --- sentences and their files ----------------------------------------------------------------------------------------


def test_sentences_in_their_own_formats(tmp_path):
    films, mrpc, qqp = (tmp_path / name for name in ("films.csv", "mrpc.txt", "qqp.tsv"))
    films.write_text('text,label,source\n"A good, film",1,rotten_tomatoes\nbad,0,imdb\n', encoding="utf-8")
    mrpc.write_text('\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tHe said "no.\tHe refused.\n',
                    encoding="utf-8")  # fmt: skip
    qqp.write_text("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\tWhy?\tHow?\t0\n", encoding="utf-8")
    assert tokens.rated(films) == [("A good, film", 1)]
    assert tokens.pairs(mrpc) == [('He said "no. | He refused.', 1)] and tokens.pairs(qqp) == [("Why? | How?", 0)]
    for path, said in ((mrpc, "the columns"), (tmp_path / "none", "none there")):
        with pytest.raises((ValueError, FileNotFoundError), match=said):
            tokens.rated(path)
    with pytest.raises(ValueError, match="MRPC"):
        tokens.pairs(films)
    qqp.write_text("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="row 2: expected 6 columns"):
        tokens.pairs(qqp)


def test_words_have_numbers_and_texts_end_on_the_right():
    words = tokens.vocabulary(["a film, a", "film no"], least=2)
    assert words == {"a": 3, "film": 4}
    assert tokens.coded(["no film a a film"], words, 4).tolist() == [[1, 3, 3, 4]]
    assert all(label == (_lead(text) > 0) for text, label in tokens.spoken(20, rng=0))


def _lead(text):
    good, bad = ({"good", "fine", "bright", "kind"}, {"bad", "dull", "dark", "cruel"})
    return sum((word in good) - (word in bad) for word in text.split())


# --- networks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", models.KINDS)
def test_networks_of_images(kind):
    model, again = (tokens.build(kind, 16, 49, seed=3) for _ in range(2))
    x = torch.rand(5, 16, 49)
    model.eval(), again.eval()
    assert torch.equal(model(x), again(x)) and model(x).shape == (5, 10)


def test_convolutions_see_the_image_that_the_patches_make():
    model = tokens.build("cnn", 16, 49, seed=0)
    images = torch.rand(3, 28, 28)
    seen = []
    model.maps[0].register_forward_hook(lambda module, given, out: seen.append(given[0]))
    model(torch.as_tensor(tokens.patches(images.numpy(), 7)))
    assert torch.equal(seen[0][:, 0], images)


@pytest.mark.parametrize("kind", models.READERS)
def test_readers_ignore_places_without_words(kind):
    model = models.seeded(lambda: tokens.Reader(20, 8, kind), 0)
    x = torch.tensor([[1, 0, 0, 0, 4, 5, 6, 7]])
    vectors = model.embed(x)
    assert torch.allclose(vectors.square().sum(-1)[x > 0], torch.tensor(64.0), rtol=1e-3)
    assert (vectors[x == 0] == 0).all()
    if kind != "lstm":  # an LSTM steps through the gap, where it meets zeros
        vectors = vectors.detach().requires_grad_()
        model.read(vectors).sum().backward()
        assert (vectors.grad[x == 0] == 0).all() and (vectors.grad[x > 0] != 0).any()


def test_attention_is_the_formula():
    for relu, causal in itertools.product((False, True), repeat=2):
        layer = models.seeded(lambda r=relu, c=causal: tokens.Attention(6, 2, relu=r, causal=c), 0)
        x = torch.randn(1, 4, 6, generator=torch.Generator().manual_seed(0))
        q, k, v = layer.inputs(x)[0].reshape(4, 3, 2, 3).permute(1, 2, 0, 3)
        mixed = []
        for h in range(2):
            logits = (q[h] @ k[h].T / 3**0.5).detach().numpy()
            seen = np.tril(np.ones((4, 4))) if causal else np.ones((4, 4))
            weights = np.maximum(logits, 0) * seen if relu else np.exp(logits) * seen
            weights = weights / (seen if relu else weights).sum(1, keepdims=True)
            mixed.append(weights @ v[h].detach().numpy())
        expected = layer.output(torch.as_tensor(np.concatenate(mixed, 1), dtype=torch.float32))
        assert torch.allclose(layer(x)[0], expected, atol=1e-5), (relu, causal)


def test_training_stops_at_its_goal():
    data = tokens.made(120, rng=0)
    x, y = torch.as_tensor(tokens.patches(data.images, 7)), torch.as_tensor(data.labels)
    model = tokens.build("mlp", 16, 49, seed=0)
    told = []
    epochs, reached = tokens.fit(model, x, y, rate=0.05, goal=0.9, epochs=30, seed=0,
                                 watch=lambda epoch, train: told.append(train))  # fmt: skip
    assert epochs < 30 and reached >= 0.9 and max(told[:-1]) < 0.9
    assert reached == tokens.accuracy(model, x, y) and not model.training


def test_shaken_weights_come_back():
    model, x = tokens.build("mlp", 4, 4, seed=0), torch.rand(20, 4, 4)
    before = model(x)
    moved, changed = learn.shaken(model, x, sigma=0.1, rng=0)
    assert torch.equal(model(x), before) and moved > 0 and 0 <= changed <= 1
    assert learn.shaken(model, x, sigma=0.0, rng=0) == (0, 0)


def test_a_trial_of_images_has_the_rows_it_promises():
    rows = vision.trial(vision.EXPERIMENT.trials("live")[0])
    assert {"token", "held", "renormed", "swap", "whole", "clean", "shop", "shpred"} < {row["what"] for row in rows}
    assert {row["final"] for row in rows} == {0, 1}


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: tokens.exact(lambda x: x[:, 0], np.array([[0, 3]]), 3), "from 0 to 2"),
        (lambda: tokens.exact(lambda x: x[:, 0], np.zeros(3, int), 3), r"\(N, T\)"),
        (lambda: tokens.sampled(lambda x: x[:, 0], np.ones((2, 2)), tokens.noisy(1), rng=0,
                                present=np.zeros((2, 2))), "a token in every input"),
        (lambda: tokens.exact(lambda x: x[1:, 0], np.zeros((3, 2), int), 3), "f: expected an answer for each of 3"),
        (lambda: tokens.whole(lambda x: x[:, 0], np.ones((3, 2)), lambda x, rng: x[1:], rng=0), "change: expected"),
        (lambda: tokens.sampled(lambda x: x[:, 0], np.ones((3, 2)), lambda x, rng: x[1:], rng=0), "change: expected"),
        (lambda: tokens.Setting(1, 17, 3, 10), "n_f: expected"),
        (lambda: tokens.Setting(1, 5, 3, 10, M=22), "M: expected"),
        (lambda: tokens.patches(np.ones((1, 4, 4)), 3), "a divisor"),
        (lambda: tokens.assembled(np.ones((1, 3, 4))), "square patches"),
        (lambda: tokens.build("vit", 15, 49, seed=0), "T: expected a square"),
        (lambda: tokens.build("forest", 16, 49, seed=0), "kind: expected"),
        (lambda: tokens.corrupted(np.ones((1, 4, 4)), "fog", 1), "kind: expected"),
        (lambda: tokens.Reader(5, 5, "rnn"), "kind: expected"),
        (lambda: tokens.fit(tokens.build("mlp", 4, 4, seed=0), torch.tensor(1.0), torch.tensor([0]), rate=1, seed=0),
         "x: expected inputs along its first axis, got a single number"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(call, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        call()
