# SPDX-License-Identifier: Apache-2.0
"""What is peculiar to Python: forms of keys, errors, threads, Ctrl-C, progress, docstrings."""

import array
import doctest
import inspect
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest

import naysay

try:
    import numpy
except ImportError:
    numpy = None

needs_numpy = pytest.mark.skipif(numpy is None, reason="NumPy is not installed")


class Arrow:
    """The part of a pyarrow array that naysay uses."""

    def __init__(self, texts, width="i", type="string", offset=0, nulls=0):
        data, offsets = b"", array.array(width, [0])
        for text in texts:
            data += text
            offsets.append(len(data))
        self._parts, self._count = [None, offsets, data], len(texts) - offset
        self.type, self.offset, self.null_count = type, offset, nulls

    def __len__(self):
        return self._count

    def buffers(self):
        return self._parts


def same(*filters):
    return len({f.to_bytes() for f in filters}) == 1


def test_integers_in_any_form_are_the_same_keys():
    numbers = [3, 1, 4, 159, 26, 5, 35]
    forms = [numbers, tuple(numbers), iter(numbers), array.array("Q", numbers), array.array("q", numbers),
             array.array("h", numbers), array.array("B", numbers), memoryview(array.array("i", numbers)),
             memoryview(array.array("q", [x for n in numbers for x in (n, 0)]))[::2]]
    if numpy is not None:
        forms += [numpy.array(numbers), numpy.array(numbers, dtype=numpy.int32), [numpy.uint8(n) for n in numbers],
                  numpy.array(numbers, dtype=object)]
    assert same(*(naysay.build(form, filter="bloom") for form in forms))
    f = naysay.build(numbers, filter="ribbon", bits_per_key=30)
    for form in forms[:2] + forms[3:]:
        assert f.contains(form).tolist() == [True] * 7


def test_negative_integers_are_extended_to_64_bits():
    f = naysay.build([-1, -2], filter="ribbon", bits_per_key=30)
    assert -1 in f and 2**64 - 1 in f and all(f.contains(array.array("b", [-1, -2])))
    assert same(naysay.build(array.array("i", [-5])), naysay.build([-5]), naysay.build([2**64 - 5]))
    with pytest.raises(OverflowError, match="64 bits"):
        2**64 in f


def test_texts_in_any_form_are_the_same_keys():
    texts = ["a", "", "gr\u00fcn", "longer than the others"]
    raw = [t.encode() for t in texts]
    forms = [texts, raw, iter(texts), ["a", b"", "gr\u00fcn", raw[3]], Arrow(raw), Arrow(raw, "q", "large_string"),
             Arrow([b"x", b"y"] + raw, offset=2), naysay.Strings(b"".join(raw), array.array("i", [0, 1, 1, 6, 28]))]
    if numpy is not None:
        forms.append(numpy.array(texts))
    assert same(*(naysay.build(form, filter="bloom") for form in forms))
    f = naysay.build(texts, filter="ribbon", bits_per_key=30)
    for form in forms[:2] + forms[3:]:
        assert f.contains(form).tolist() == [True] * 4


@pytest.mark.parametrize("keys, error, says", [
    ("one key", TypeError, "one key"), (b"one key", TypeError, "one key"), (7, TypeError, "one key"),
    (bytearray(b"x"), TypeError, "one key"), ([1, "two"], TypeError, "all must be of one kind"),
    (["two", 1], TypeError, "all must be of one kind"), ([1.5], TypeError, "type float"), ([None], TypeError, "NoneType"),
    ([True], TypeError, "type bool"), (array.array("d", [1.5]), TypeError, "no integers"), (1.5, TypeError, "iterable"),
    (["\ud800"], UnicodeEncodeError, "surrogates"), ([2**70], OverflowError, "64 bits"),
    (Arrow([b"a"], type="int64"), TypeError, "int64"), (Arrow([b"a"], nulls=1), ValueError, "1 nulls"),
])
def test_what_is_no_batch_of_keys_is_refused(keys, error, says):
    for call in (naysay.build, naysay.build([1]).contains, lambda keys: naysay.build([1], keys)):
        with pytest.raises(error, match=says):
            call(keys)


def test_arrow_arrays_that_lie_are_refused():
    short = Arrow([b"abc", b"def"])
    short._count = 3
    with pytest.raises(ValueError, match="fewer offsets"):
        naysay.build(short)
    beyond = Arrow([b"abc", b"def"])
    beyond._parts[2] = b"abcd"
    with pytest.raises(ValueError, match="beyond its bytes"):
        naysay.build(beyond)
    falling = Arrow([b"abc", b"def"])
    falling._parts[1] = array.array("i", [0, 5, 2])
    with pytest.raises(ValueError, match="offsets"):
        naysay.build(falling)


def test_answers_are_bools_in_a_buffer():
    f = naysay.build([1, 2], filter="ribbon", bits_per_key=40)
    answers = f.contains([1, 77, 2])
    assert isinstance(answers, memoryview) and answers.format == "?" and answers.tolist() == [True, False, True]
    out = bytearray(b"\7\7\7\7")
    assert f.contains([1, 77, 2], out=out) is out and bytes(out) == b"\1\0\1\7"
    for bad in (bytearray(2), array.array("i", [0, 0, 0])):
        with pytest.raises(ValueError, match="one byte"):
            f.contains([1, 77, 2], out=bad)
    with pytest.raises(BufferError):
        f.contains([1], out=b"x")
    if numpy is not None:
        assert numpy.asarray(answers).dtype == bool
        mask = numpy.zeros(3, dtype=bool)
        f.contains(numpy.array([1, 77, 2]), out=mask)
        assert mask.tolist() == [True, False, True]


def test_costs_and_negatives_in_any_form():
    costs = [5.0, 1.0, 2.0]
    forms = [naysay.build([1, 2], {10: 5.0, 11: 1.0, 12: 2.0}, filter="taught-ribbon")]
    for given in (costs, tuple(costs), array.array("f", costs), array.array("d", costs)):
        forms.append(naysay.build([1, 2], [10, 11, 12], given, filter="taught-ribbon"))
    assert same(*forms)
    with pytest.raises(ValueError, match="2 costs for 3"):
        naysay.build([1, 2], [10, 11, 12], [1, 2])
    with pytest.raises(ValueError, match="finite"):
        naysay.build([1, 2], [10], [-1])
    with pytest.raises(TypeError, match="leave costs out"):
        naysay.build([1], {2: 3}, [4])


def test_options_reach_the_build():
    keys = range(1000)
    assert naysay.build(keys, filter="bloom", bits_per_key=16).info()["params"]["bits_per_key"] == 16
    assert naysay.build(keys, filter="bloom", params={"bits_per_key": 16.5}).info()["params"]["bits_per_key"] == 16.5
    assert naysay.build(keys, filter="bloom", params={"bits_per_key": "16"}).info()["params"]["bits_per_key"] == 16
    keyed = naysay.build(keys, filter="bloom", siphash_key=bytes(range(16)))
    assert all(keyed.contains(keys)) and not same(keyed, naysay.build(keys, filter="bloom"))
    assert same(naysay.build(keys, keys, filter="taught-ribbon", threads=3), naysay.build(keys, keys, filter="taught-ribbon"))
    for wrong, says in (dict(fpr=2), "fpr"), (dict(siphash_key=b"short"), "16 bytes"), (dict(params={"no": 1}), "no parameter"), \
            (dict(bits_per_key=-1), "bits_per_key"), (dict(bits_per_key=8, fpr=0.1), "both"):
        with pytest.raises(ValueError, match=says):
            naysay.build(keys, filter="bloom", **wrong)


def test_auto_refuses_the_negatives_and_makes_room():
    f = naysay.build(range(1000), range(5000, 6000))
    assert "exact_on_negatives" in f.info()["abilities"] and not any(f.contains(range(5000, 6000)))
    assert f.info()["bits_per_key"] < 11.5
    assert "insert" in naysay.build([1], capacity=100).info()["abilities"]


def test_files(tmp_path):
    (tmp_path / "keys.txt").write_text("evil.example\nworse.example\n")
    (tmp_path / "negatives.tsv").write_text("popular.example\t1000\n")
    built = naysay.build_from_files(tmp_path / "keys.txt", tmp_path / "negatives.tsv", filter="taught-ribbon")
    assert same(built, naysay.build(["evil.example", "worse.example"], {"popular.example": 1000}, filter="taught-ribbon"))
    with pytest.raises(FileNotFoundError) as missing:
        naysay.open(tmp_path / "none.nsy")
    assert missing.value.filename == str(tmp_path / "none.nsy")
    with pytest.raises(FileNotFoundError):
        naysay.build_from_files(tmp_path / "none.txt")
    with pytest.raises(OSError, match="is a directory|not a regular"):
        built.save(tmp_path)
    with pytest.raises(ValueError, match="not a naysay file"):
        naysay.open(tmp_path / "keys.txt")
    with pytest.raises(ValueError, match="checksum"):
        damaged = bytearray(built.to_bytes())
        damaged[-1] ^= 1
        naysay.loads(damaged)


def test_a_full_filter_raises_full():
    f = naysay.build(range(100), filter="cuckoo")
    with pytest.raises(naysay.Full, match="larger capacity"):
        f.insert(range(1000, 10_000))
    assert all(f.contains(range(100))) and len(f) < 10_000


def test_progress_is_called_and_its_exception_ends_the_build():
    seen = []
    naysay.build(range(5000), filter="cuckoo", progress=lambda stage, done, total: seen.append((stage, done, total)))
    assert seen and all(isinstance(stage, str) and 0 <= done <= total for stage, done, total in seen)

    class Enough(Exception):
        pass

    def stop(stage, done, total):
        raise Enough

    with pytest.raises(Enough):
        naysay.build(range(5000), filter="cuckoo", progress=stop)
    with pytest.raises(Enough):
        naysay.compare(range(500), range(1000, 1500), filters=["cuckoo"], progress=stop)


def test_ctrl_c_ends_a_build():
    calls = []

    def interrupt(stage, done, total):
        calls.append(done)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        naysay.build(range(5000), filter="cuckoo", progress=interrupt)
    assert len(calls) == 1


def test_other_threads_run_during_a_build():
    """The other thread needs the GIL to answer the build's callback; both wait for each other."""
    asked, answered = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: asked.wait() and answered.set())
    other.start()

    def progress(stage, done, total):
        asked.set()
        assert answered.wait(60)

    naysay.build(range(5000), filter="cuckoo", progress=progress)
    other.join()


def test_threads_query_one_filter_while_another_changes_it():
    f = naysay.build(range(1000), filter="cuckoo", capacity=100_000)
    keys, failed, done = array.array("Q", range(1000)), [], threading.Event()

    def read():
        while not done.is_set():
            if not all(f.contains(keys)):
                failed.append("a key was denied")

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for first in range(1000, 20_000, 500):
        f.insert(range(first, first + 500))
    done.set()
    for reader in readers:
        reader.join()
    assert not failed and len(f) == 20_000


def test_compare_gives_the_rates_of_the_tool(tmp_path):
    keys = [f"key{i}" for i in range(3000)]
    negatives = {f"negative{i}": 1 + i % 5 for i in range(3000)}
    names = ["bloom", "habf", "taught-ribbon", "learned-ribbon"]
    rows = naysay.compare(keys, negatives, filters=names, bits_per_key=10)
    assert [row["filter"] for row in rows] == names and all(row["false_negatives"] == 0 for row in rows)
    assert len(naysay.compare(keys[:50], negatives, bits_per_key=30)) == len(naysay.filters())
    tool = os.environ.get("NAYSAY_TOOL")
    if not tool:
        pytest.skip("the tool is not built")
    (tmp_path / "keys").write_text("\n".join(keys))
    (tmp_path / "negatives").write_text("".join(f"{key}\t{cost}\n" for key, cost in negatives.items()))
    out = subprocess.run([tool, "compare", "--keys", tmp_path / "keys", "--negatives", tmp_path / "negatives",
                          "--bits-per-key", "10", "--filters", ",".join(names), "--json", "-"],
                         check=True, capture_output=True, text=True).stdout
    for ours, theirs in zip(rows, json.loads(out)["rows"], strict=True):
        # Not the rate of strangers: the tool makes up more of them.
        for column in ("filter", "known_fpr", "wfpr", "false_negatives", "bytes"):
            assert ours[column] == pytest.approx(theirs[column]), column


def test_docstrings_run():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    finder, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=flags)
    documented = [naysay] + [getattr(naysay, name) for name in naysay.__all__]
    documented += [value for name, value in vars(naysay.Filter).items() if not name.startswith("_")]
    examples = 0
    for thing in documented:
        text = inspect.getdoc(thing)
        assert text, thing
        test = finder.get_doctest(text, {}, getattr(thing, "__name__", "?"), None, 0)
        examples += len(test.examples)
        runner.run(test)
    assert runner.failures == 0 and examples > 30


def test_stub_names_what_there_is():
    stub = (pathlib.Path(naysay.__file__).parent / "__init__.pyi").read_text()
    for name in naysay.__all__:
        assert f"def {name}(" in stub or f"class {name}" in stub, name
    for name in vars(naysay.Filter):
        if not name.startswith("_"):
            assert f"def {name}(" in stub, name
    compile(stub, "__init__.pyi", "exec")


def test_only_the_module_is_exported():
    library = next(pathlib.Path(naysay.__file__).parent.glob("_naysay*.so"))
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    assert [line.split()[2] for line in out.splitlines()] == ["PyInit__naysay"]


def test_version_is_that_of_the_library():
    header = (pathlib.Path(os.environ["NAYSAY_SOURCE_DIR"]) / "include/naysay/version.hpp").read_text()
    for part in naysay.__version__.split("."):
        assert f" {part}\n" in header


def test_a_filter_cannot_be_made_from_nothing():
    with pytest.raises(TypeError):
        naysay.Filter()
    assert repr(naysay.build([1, 2], filter="bloom")) == "<naysay.Filter bloom of 2 keys>"
    assert sys.getrefcount(naysay.Filter) > 1
