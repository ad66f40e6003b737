"""Images in colour: tiny files in the formats of their makers, what is read from them, and what is refused."""

import pickle

import numpy as np
import pytest
from scipy import io

from flatcube import tokens
from flatcube.tokens import colour, images, vision


def _colours(count, seed=0):
    return np.random.default_rng(seed).integers(256, size=(count, 32, 32, 3), dtype=np.uint8)


def _cifar(folder, count=4):
    """Records: the label, 1024 reds, 1024 greens, 1024 blues."""
    folder.mkdir(exist_ok=True)
    for seed, name in enumerate([*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]):
        planes = _colours(count, seed).transpose(0, 3, 1, 2).reshape(count, -1)
        records = [bytes([label % 10]) + row.tobytes() for label, row in enumerate(planes, start=seed)]
        (folder / f"{name}.bin").write_bytes(b"".join(records))
    return folder


def _spoilt(folder, count=2):
    folder.mkdir(exist_ok=True)
    for name in {*colour._SPOILT.values(), "frost"}:
        np.save(folder / f"{name}.npy", _colours(5 * count, seed=len(name)))
    np.save(folder / "labels.npy", np.tile(np.arange(count), 5).astype(np.uint8))
    return folder


def _svhn(folder, labels=(10, 1, 2)):
    for seed, name in enumerate(("train", "test")):
        x = np.moveaxis(_colours(len(labels), seed), 0, -1)
        y = np.array(labels, np.uint8)[:, None]
        io.savemat(folder / f"{name}_32x32.mat", {"X": x, "y": y}, do_compression=True)
    return folder


def test_cifar_in_its_own_format(tmp_path):
    found = tokens.cifar(_cifar(tmp_path))
    assert found.images.shape == (20, 32, 32) and found.labels[4:8].tolist() == [1, 2, 3, 4]
    assert found.images[4] == pytest.approx(_colours(4, 1)[0].mean(-1) / 255, abs=1e-6)
    assert found.test_images[3] == pytest.approx(_colours(4, 5)[3].mean(-1) / 255, abs=1e-6)
    assert found.test_labels.tolist() == [5, 6, 7, 8]


def test_spoilt_images_in_their_own_format(tmp_path):
    """Severities follow each other in one file; our names and theirs both do."""
    _spoilt(tmp_path)
    for kind, name in (("noise", "gaussian_noise"), ("frost", "frost")):
        some, labels = tokens.spoilt(tmp_path, kind, 3)
        assert some == pytest.approx(_colours(10, len(name))[4:6].mean(-1) / 255, abs=1e-6)
        assert labels.tolist() == [0, 1]
    assert colour._SPOILT.keys() == images.CORRUPTIONS.keys()


def test_house_numbers_in_their_own_format(tmp_path):
    found = tokens.svhn(_svhn(tmp_path))
    assert found.labels.tolist() == [0, 1, 2] and found.test_images.shape == (3, 32, 32)
    assert found.test_images[2] == pytest.approx(_colours(3, 1)[2].mean(-1) / 255, abs=1e-6)


def test_files_that_are_not_there_say_where_they_come_from(tmp_path):
    for call, where in ((tokens.cifar, "cifar-10-binary.tar.gz"), (tokens.svhn, "train_32x32.mat"),
                        (lambda folder: tokens.spoilt(folder, "blur", 1), "CIFAR-10-C.tar")):  # fmt: skip
        with pytest.raises(FileNotFoundError, match=where) as refused:
            call(tmp_path)
        assert "\n" not in str(refused.value)


def test_damaged_files_of_cifar_are_refused(tmp_path):
    path = _cifar(tmp_path) / "data_batch_2.bin"
    good = path.read_bytes()
    for raw in (b"", good[:-1], b"\x0a" + good[1:], pickle.dumps({"data": [1]})):
        path.write_bytes(raw)
        with pytest.raises(ValueError, match="data_batch_2.bin: expected records"):
            tokens.cifar(tmp_path)


class _Trap:
    """What is unpickled would write this file."""

    def __reduce__(self):
        return (open, ("trapped", "w"))


def test_damaged_spoilt_images_are_refused_and_nothing_is_unpickled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = _spoilt(tmp_path) / "contrast.npy"
    np.save(path, np.array([_Trap()], object), allow_pickle=True)
    with pytest.raises(ValueError, match="without Python objects"):
        tokens.spoilt(tmp_path, "contrast", 1)
    path.write_bytes(pickle.dumps(_Trap()))
    with pytest.raises(ValueError, match="without Python objects"):
        tokens.spoilt(tmp_path, "contrast", 1)
    assert not (tmp_path / "trapped").exists()
    for wrong in (_colours(10)[..., 0], _colours(9), _colours(10).astype(float)):
        np.save(path, wrong)
        with pytest.raises(ValueError, match="expected bytes"):
            tokens.spoilt(tmp_path, "contrast", 1)
    np.save(tmp_path / "labels.npy", np.full(10, 11))
    with pytest.raises(ValueError, match="expected labels"):
        tokens.spoilt(tmp_path, "blur", 1)
    with pytest.raises(ValueError, match="severity"):
        tokens.spoilt(tmp_path, "blur", 6)


def test_damaged_house_numbers_are_refused(tmp_path):
    path = _svhn(tmp_path) / "test_32x32.mat"
    good = path.read_bytes()
    for raw in (b"", b"MATLAB", good[: len(good) // 2], good[:200] + bytes(50) + good[250:]):
        path.write_bytes(raw)
        with pytest.raises(ValueError, match="test_32x32.mat: expected"):
            tokens.svhn(tmp_path)
    io.savemat(path, {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": np.array([[0], [1]])})
    with pytest.raises(ValueError, match="labels from 1 to 10"):
        tokens.svhn(tmp_path)
    io.savemat(path, {"X": np.zeros((32, 32, 3, 2), np.uint8)})
    with pytest.raises(ValueError, match="expected X and y"):
        tokens.svhn(tmp_path)


@pytest.mark.parametrize(("source", "write"), [("cifar", _cifar), ("svhn", _svhn)])
def test_a_trial_can_name_them(tmp_path, source, write):
    trial = vision.Trial("mlp", 0, source=source, folder=str(write(tmp_path)), m=2, epochs=0, looked=2, tests=2)
    rows = vision.trial(trial)
    assert vision.network(trial).maps[0].in_features == 32 * 32
    assert {row["source"] for row in rows} == {source} and {"token", "clean", "blur"} < {row["what"] for row in rows}


def test_beside_cifar_the_spoilt_images_are_those_of_its_own_benchmark(tmp_path, monkeypatch):
    """Labels there are 0 and 1, those of CIFAR-10's tests 5 and 6: a network that always says 0 tells them apart."""
    folder = _cifar(tmp_path / "cifar-10-batches-bin")
    trial = vision.Trial("mlp", 0, source="cifar", folder=str(folder), m=2, epochs=0, looked=2, tests=2)
    network = vision.network(trial)
    network.readout.bias.data[0] = 1e9
    monkeypatch.setattr(vision, "network", lambda trial: network)

    def right():
        return {row["value"] for row in vision.trial(trial) if row["what"] in images.CORRUPTIONS}

    assert right() == {0.0}
    _spoilt(tmp_path / "CIFAR-10-C")
    assert right() == {0.5}
