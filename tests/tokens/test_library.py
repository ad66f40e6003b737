"""The library of chapter 15: what it computes by two routes, files in their original formats, and what it refuses."""

import gzip
import itertools
import struct
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flatcube import cube, networks, sensitivity, tokens
from flatcube.tokens import _steps, learn, letters, models, optimisers, pretrained, sentences, synthetic, vision

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
            tokens.images.idx(path)
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


def _mrpc(path, count):
    """Made-up pairs in the format of MRPC, which say the same if their labels do."""
    lines = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
    said = tokens.spoken(2 * count, rng=0)
    for k, ((one, label), (other, theirs)) in enumerate(zip(said[::2], said[1::2], strict=True)):
        lines.append(f"{int(label == theirs)}\t{k}\t{k}\t{one}\t{other}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_the_paper_s_pairs_take_the_place_of_films(tmp_path):
    """The experiment on a file of MRPC, from the file to verdicts."""
    path = tmp_path / "msr_paraphrase_train.txt"
    _mrpc(path, 520)
    found = sentences.originals(str(path), seeds=2)
    assert len(found) == 8 and {(one.source, one.m, one.T) for one in found} == {(str(path), 20, 64)}
    small = [replace(one, layers=1, width=4, T=24, epochs=1, looked=4) for one in found]
    rows = [row for one in small for row in sentences.trial(one)]
    assert {row["source"] for row in rows} == {str(path)} and {row["kind"] for row in rows} == set(models.READERS)
    for one in sentences.measured(rows):
        assert one["setting"] == "smaller" and one["statement"].startswith(f"Pairs of sentences in {path}, 2 networks")


def test_pairs_that_are_absent_damaged_or_few_are_refused_in_one_sentence(tmp_path):
    path = tmp_path / "qqp.tsv"
    for source in (sentences.originals, lambda path: sentences.trial(sentences.Trial("lstm", 0, path))):
        with pytest.raises(FileNotFoundError, match=r"qqp.tsv: expected a file of text, got none there"):
            source(str(path))
    with pytest.raises(ValueError, match="path: expected a file of text, got "):
        tokens.pairs(tmp_path)
    path.write_text(
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\tWhy?\tHow?\tmaybe\n", encoding="utf-8"
    )
    with pytest.raises(ValueError, match="expected the labels 0 and 1, got 'maybe'"):
        sentences.originals(str(path))
    _mrpc(path, 30)
    with pytest.raises(ValueError, match="path: expected more than 500 pairs, of which 500 are kept apart, got 30"):
        sentences.originals(str(path))
    with pytest.raises(ValueError, match="m: expected fewer examples than there are in .*, 30, got 7000"):
        sentences.trial(sentences.Trial("lstm", 0, str(path)))


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
        layer = models.seeded(lambda r=relu, c=causal: models.Attention(6, 2, relu=r, causal=c), 0)
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
    with pytest.raises(TypeError, match="y: expected classes"):
        tokens.accuracy(model, x, y.double())
    with pytest.raises(ValueError, match="y: expected shape"):
        tokens.accuracy(model, x, y[1:])


def test_a_glance_ends_nothing_before_all_examples_agree():
    """The first three examples are right from the start, so a look at them alone would stop at once."""
    data = tokens.made(120, rng=0)
    x, y = torch.as_tensor(tokens.patches(data.images, 7)), torch.as_tensor(data.labels)
    model = tokens.build("mlp", 16, 49, seed=0)
    y = torch.cat([model(x[:3]).argmax(-1), y[3:]])
    told = []
    epochs, reached = tokens.fit(model, x, y, rate=0.05, goal=0.9, epochs=30, seed=0, glance=3,
                                 watch=lambda epoch, train: told.append(train))  # fmt: skip
    assert told[0] == 1 and 0 < epochs < 30 and reached == tokens.accuracy(model, x, y) >= 0.9


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


# --- optimisers, earlier training, letters ----------------------------------------------------------------------------


def _linear(count=60, size=4):
    """A linear model, and examples that it cannot fit entirely."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((count, size)), rng.choice([-1.0, 1.0], count)
    model = torch.nn.Linear(size, 1, bias=False).double()
    return model, torch.as_tensor(X), torch.as_tensor(y)


class _Flat(torch.nn.Module):
    """A model with numbers (N,), of inputs that are first multiplied by a matrix."""

    def __init__(self, inner, matrix):
        super().__init__()
        self.inner, self.matrix = inner, matrix

    def forward(self, x):
        return self.inner(x @ self.matrix)[:, 0]


@pytest.mark.parametrize("damping", [1e-6, 0.1, 10.0])
def test_a_natural_step_of_a_linear_model_is_that_of_its_closed_form(damping):
    """(XᵀWX/N + λI)⁻¹ Xᵀ(−yσ(−yf))/N, with the matrix P × P that the library avoids."""
    linear, x, y = _linear()
    model, X = _Flat(linear, torch.eye(4).double()), x.numpy()
    was = linear.weight.detach().numpy()[0].copy()
    _steps.natural_step(model, x, y, damping=damping)
    f = X @ was
    p = 1 / (1 + np.exp(-f))
    F = X.T @ (X * (p * (1 - p))[:, None]) / len(X)
    gradient = X.T @ (-y.numpy() / (1 + np.exp(y.numpy() * f))) / len(X)
    expected = was - np.linalg.solve(F + damping * np.eye(4), gradient)
    assert linear.weight.detach().numpy()[0] == pytest.approx(expected, rel=1e-6)


def test_natural_steps_end_where_the_gradient_is_zero_and_ask_for_no_coordinates():
    """For logistic regression they are Newton's; and inputs in other coordinates give the same outputs."""
    rng = np.random.default_rng(1)
    matrix = torch.as_tensor(rng.standard_normal((4, 4)) + 3 * np.eye(4))
    outputs = []
    for change in (torch.eye(4).double(), matrix):
        linear, x, y = _linear()
        with torch.no_grad():
            linear.weight.zero_()
        model = _Flat(linear, change)
        for _ in range(2):
            _steps.natural_step(model, x, y, damping=1e-6)
        outputs.append(model(x).detach().numpy())
        for _ in range(6):
            _steps.natural_step(model, x, y, damping=1e-6)
        torch.nn.functional.softplus(-y * model(x)).mean().backward()
        assert float(linear.weight.grad.norm()) < 1e-6
    assert outputs[0] == pytest.approx(outputs[1], rel=1e-3)


@pytest.mark.parametrize("optimiser", optimisers.OPTIMISERS)
def test_every_optimiser_fits_and_meets_the_same_examples(optimiser):
    trial = optimisers.Trial("mlp", optimiser, 3, 5, 1, 16, 35, 0, T=12, examples=200, batch=50, looked=5)
    accuracy, loss = optimisers.trial(trial)
    assert (accuracy["goal"], accuracy["reached"], loss["goal"], loss["reached"]) == ("accuracy", 1, "loss", 1)
    assert accuracy["train"] >= 0.99 <= loss["train"] and loss["loss"] <= 0.05 and accuracy["steps"] <= loss["steps"]
    (first, _) = optimisers.trial(replace(trial, optimiser="adam"))
    assert first["seed"] == accuracy["seed"] and (first == accuracy) == (optimiser == "adam")


def test_functions_of_low_degree_times_parity_have_high_degree():
    for n in (5, 7):
        found = pretrained.functions(n, rng=n)
        low, high = (sensitivity.average(found[name]) for name in ("low", "high"))
        assert low + high == pytest.approx(n) and low < high
        assert np.array_equal(found["low"] * found["high"], cube.parity(n))
        assert set(found["random"]) == {-1.0, 1.0}


def test_networks_with_an_earlier_training_begin_where_it_ended(monkeypatch):
    seen, right = [], pretrained._trained

    def trained(trial, ensemble, tasks):
        seen.append((ensemble, tasks, run := right(trial, ensemble, tasks)))
        return run

    monkeypatch.setattr(pretrained, "_trained", trained)
    trial = pretrained.Trial(0, n=4, steps=600, width=16, heads=2, hidden=32, batch=16, rate=5e-3)
    rows = {(row["target"], row["before"]): row for row in pretrained.trial(trial)}
    assert rows.keys() == set(itertools.product(pretrained.TARGETS, pretrained.ARMS))
    assert max(row["first"] for row in rows.values()) < pretrained.FIT
    assert all(np.isnan(row["past"]) == (before == "none") for (_, before), row in rows.items())
    (fresh, _, before), *later = seen
    begun = [fresh.member(0), *before.ensemble.members()]
    assert len(later) == len(pretrained.TARGETS) and len(begun) == len(pretrained.ARMS)
    for ensemble, tasks, _ in later:
        assert len({id(task) for task in tasks}) == 1  # the same for all arms
        for k, member in enumerate(begun):
            assert all(map(torch.equal, ensemble.member(k).parameters(), member.parameters()))
    assert not any(map(torch.equal, begun[1].parameters(), begun[2].parameters()))


def test_encoders_together_answer_as_alone():
    config = networks.Config(n=4, width=16, heads=2, hidden=32)
    members = [networks.Encoder(config, seed=seed, dtype=torch.float32) for seed in range(3)]
    bits = torch.as_tensor(tokens.sequences(2, 4))
    alone = torch.stack([one(bits) for one in members])
    assert torch.allclose(pretrained._together(config, members)(bits), alone, atol=1e-5)


def test_answers_about_letters_are_those_of_counting():
    words = "Sphinx of black quartz, judge my vow! An eel, 12 owls & a hyena."
    codes = letters.spelt(words)
    clean = "".join(letters.LETTERS[code] for code in codes)
    assert clean == "sphinx of black quartz judge my vow an eel owls a hyena "
    for T in (3, 5, 8):
        cut = [clean[k : k + T] for k in range(len(clean) - T + 1)]
        windows = np.array(
            [letters.spelt(one) if one.strip() == one else codes[k : k + T] for k, one in enumerate(cut)]
        )
        vowels = [sum(letter in "aeiou" for letter in one) for one in cut]
        for task, true in (("parity", [v % 2 == 0 for v in vowels]), ("majority", [v > T / 3 for v in vowels]),
                           ("present", ["e" in one for one in cut])):  # fmt: skip
            assert letters.answers(task, windows).tolist() == [1 if one else -1 for one in true]


def test_windows_stand_anywhere_and_a_speller_reads_them_all():
    trial = letters.Trial("parity", 6, 0, "made", width=8)
    windows = np.random.default_rng(0).integers(27, size=(200, 6))
    placed = letters._placed(windows, trial.places, np.random.default_rng(1)).numpy()
    assert placed.shape == (200, 10) and (placed[:, 0] == 1).all()
    assert [row[row > 1].tolist() for row in placed] == (windows + 2).tolist()
    starts = (placed[:, 1:] > 0).argmax(1)
    assert set(starts) == {0, 1, 2, 3}
    assert letters._Speller(trial)(torch.as_tensor(placed)).shape == (200,)


def test_the_text_of_the_licence_is_read_without_its_head_and_other_texts_from_files(tmp_path):
    first, kept = letters._text("licence")
    assert len(kept) > 3000 and abs(len(first) - 4 * len(kept)) < 5
    assert "".join(letters.LETTERS[code] for code in first[:29]) == " creative commons corporation"
    path = tmp_path / "short.txt"
    path.write_text("Too short.", encoding="utf-8")
    with pytest.raises(ValueError, match="expected a text of 1000 letters or more, got 10 in"):
        letters.trial(letters.Trial("parity", 4, 0, str(path)))
    with pytest.raises(FileNotFoundError, match="expected a file of text, got none there"):
        letters.trial(letters.Trial("parity", 4, 0, str(tmp_path / "none.txt")))


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
        (lambda: optimisers.Trial("cnn", "sgd", 1, 17, 3, 20, 69, 0), "kind: expected"),
        (lambda: optimisers.Trial("mlp", "newton", 1, 17, 3, 20, 69, 0), "optimiser: expected"),
        (lambda: pretrained.Trial(0, n=13), "n: expected"),
        (lambda: letters.Trial("anagram", 4, 0), "task: expected"),
        (lambda: letters.answers("parity", np.zeros(3, int)), "windows: expected"),
        (lambda: tokens.fit(tokens.build("mlp", 4, 4, seed=0), torch.tensor(1.0), torch.tensor([0]), rate=1, seed=0),
         "x: expected inputs along its first axis, got a single number"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(call, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        call()
