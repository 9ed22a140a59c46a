# SPDX-License-Identifier: Apache-2.0
"""Conformance through Python: what every registered filter must hold, and the golden files of the C++ tests."""

import os
import pathlib
import pickle

import pytest

import naysay

GOLDEN = pathlib.Path(os.environ["NAYSAY_SOURCE_DIR"]) / "tests" / "golden"
FILTERS = {f["name"]: f for f in naysay.filters()}
KEYS = list(range(2000))
NEGATIVES = list(range(100_000, 102_000))
STRANGERS = list(range(900_000, 920_000))

every_filter = pytest.mark.parametrize("name", sorted(FILTERS))


@every_filter
def test_never_denies_a_key_and_answers_batches_as_one_by_one(name):
    for n in (0, 1, 2, 63, 64, 65, 2000):
        f = naysay.build(KEYS[:n], NEGATIVES[:n], filter=name)
        assert len(f) == n and f.name == name
        assert all(key in f for key in KEYS[:n])
        assert f.contains(KEYS[:n]).tolist() == [True] * n
    assert f.contains(STRANGERS).tolist() == [key in f for key in STRANGERS]
    if "exact_on_negatives" in FILTERS[name]["abilities"] and "reads_bytes" not in FILTERS[name]["abilities"]:
        assert not any(f.contains(NEGATIVES))


@every_filter
def test_text_is_kept_apart_from_integers(name):
    texts = [f"key{i}" for i in range(1000)]
    f = naysay.build(texts, [f"negative{i}" for i in range(1000)], filter=name)
    assert all(text in f for text in texts) and all(text.encode() in f for text in texts)
    assert all(f.contains(texts)) and all(f.contains([t.encode() for t in texts]))
    assert f.info()["kind"] == "text"
    for wrong in (lambda: 7 in f, lambda: f.contains([7])):
        with pytest.raises(TypeError, match="its keys are text, and it was given"):
            wrong()
    with pytest.raises(TypeError, match="the keys are text and the negatives are integers"):
        naysay.build(texts, [1, 2], filter=name)


@every_filter
def test_golden_file_has_the_same_bytes_and_answers(name):
    path = sorted(GOLDEN.glob(f"{name}.v*.nsy"))[-1]  # of the newest format
    golden = path.read_bytes()
    mapped, copied = naysay.open(path), naysay.open(str(path), map=False)
    assert mapped.to_bytes() == golden and copied.to_bytes() == golden and naysay.loads(golden).to_bytes() == golden
    assert mapped.info()["mapped"] and not copied.info()["mapped"]
    assert all(mapped.contains(range(200)))
    # The file was built from digests; from integers only the kind of its keys and the checksum are others.
    built = naysay.build(range(200), range(1000, 1200), filter=name, seed=1)
    checksum, kind = slice(24, 32), slice(44, 48)
    made, kept = bytearray(built.to_bytes()), bytearray(golden)
    assert made[kind] == b"\2\0\0\0" and kept[kind] == b"\0\0\0\0"
    made[checksum], made[kind] = kept[checksum], kept[kind]
    assert made == kept
    assert built.contains(STRANGERS).tolist() == mapped.contains(STRANGERS).tolist()


@every_filter
def test_survives_pickle_and_copy(name):
    f = naysay.build(KEYS, NEGATIVES, filter=name)
    for again in (pickle.loads(pickle.dumps(f)), f.copy(), naysay.loads(memoryview(f.to_bytes()))):
        assert again.to_bytes() == f.to_bytes() and again.info() == f.info()


@every_filter
def test_does_what_it_can_and_raises_where_it_cannot(name, tmp_path):
    can = FILTERS[name]["abilities"]
    f = naysay.build(KEYS, NEGATIVES, filter=name, capacity=3000 if "insert" in can else 0)
    f.save(tmp_path / "f.nsy")
    mapped = naysay.open(tmp_path / "f.nsy")
    before = f.to_bytes()
    for change in (mapped.insert, mapped.erase, mapped.adapt):
        with pytest.raises(TypeError, match="mapped"):
            change(5_000_000)
    with pytest.raises(TypeError, match="mapped"):
        mapped.attach_key_file(tmp_path / "f.keys")
    if "insert" in can:
        f.insert(5_000_000)
        f.insert(range(5_000_001, 5_000_100))
        assert 5_000_000 in f and all(f.contains(range(5_000_000, 5_000_100))) and len(f) == 2100
        with pytest.raises(TypeError, match="integers"):
            f.insert("text")
    else:
        for keys in (5_000_000, [5_000_000]):
            with pytest.raises(TypeError, match="cannot be inserted"):
                f.insert(keys)
        assert f.to_bytes() == before
    if "erase" in can:
        f.erase(5_000_000)
        f.erase(list(range(5_000_001, 5_000_100)))
        assert len(f) == 2000
        absent = next(key for key in STRANGERS if key not in f)
        with pytest.raises(KeyError, match="does not contain"):
            f.erase(absent)
    else:
        with pytest.raises(TypeError, match="cannot be erased"):
            f.erase(1)
    if "adapts_with_key_file" in can:
        with pytest.raises(TypeError, match="cannot be adapted without the file of its keys"):
            f.adapt(1)
        keys = tmp_path / "f.keys"
        with pytest.raises(FileNotFoundError) as missing:
            f.attach_key_file(keys)
        assert missing.value.filename == keys
        for wrong in (KEYS[1:], KEYS[1:] + [next(key for key in STRANGERS if key not in f)]):
            with pytest.raises(ValueError, match="built from"):
                f.write_key_file(keys, wrong)
        assert not keys.exists()
        f.write_key_file(keys, KEYS)
        with pytest.raises(ValueError, match="another filter"):
            naysay.build(KEYS[:1000], filter=name).attach_key_file(keys)
        with pytest.raises(TypeError, match="no file of its keys is attached"):
            f.sync_key_file()
        f.attach_key_file(keys)
        for call in (f.copy().attach_key_file, lambda path: f.write_key_file(path, KEYS)):
            with pytest.raises(OSError, match="lock"):
                call(keys)
    else:
        for call in (lambda: f.write_key_file(tmp_path / "no", KEYS), lambda: f.attach_key_file(tmp_path / "no"),
                     f.sync_key_file):
            with pytest.raises(TypeError, match="no file of its keys"):
                call()
        assert not (tmp_path / "no").exists()
    if "adapt" in can:
        accepted = [key for key in STRANGERS if key in f][:20]
        refused = 0
        for key in accepted:
            if f.adapt(key, 5):  # until its entry is evicted
                assert key not in f
                refused += 1
        assert refused or not accepted or "adapts_with_churn" in can
        assert f.adapt(STRANGERS[:10], [1.0] * 10) <= 10
        with pytest.raises(ValueError, match="costs for"):
            f.adapt(STRANGERS[:10], [1.0] * 9)
        with pytest.raises(ValueError, match="finite"):
            f.adapt(STRANGERS[0], float("nan"))
        if "adapts_with_key_file" in can:
            f.sync_key_file()
            answers = f.contains(STRANGERS).tolist()
            del f  # which unlocks the file
            f = naysay.loads(before)
            assert f.contains(STRANGERS).tolist() != answers
            f.attach_key_file(tmp_path / "f.keys")
            assert f.contains(STRANGERS).tolist() == answers
    else:
        with pytest.raises(TypeError, match="cannot be adapted"):
            f.adapt(1)
    if "warm" in can:
        f.warm(KEYS + (list(range(5_000_000, 5_000_100)) if len(f) > 2000 else []))
    else:
        with pytest.raises(TypeError, match="does not warm"):
            f.warm(KEYS)
    assert all(f.contains(KEYS))
    if "price" in can:
        assert naysay.build(KEYS, filter=name, fpr=0.02).info()["expected_fpr"] < 0.05
