# SPDX-License-Identifier: Apache-2.0
"""Membership filters that know what is not in the set.

A filter is built from keys and, if there are any, from known negatives: keys that are not in the set, each with what one
false "maybe" about it costs. It answers "no" with certainty or "maybe", and never "no" for a key.

>>> import naysay
>>> blocked = ["evil.example", "worse.example"]
>>> f = naysay.build(blocked, negatives={"popular.example": 1000, "niche.example": 2}, bits_per_key=10)
>>> "evil.example" in f
True
>>> "popular.example" in f
False
>>> f.contains(["worse.example", "niche.example"]).tolist()
[True, False]

Keys are str (as UTF-8), bytes, or int of 64 bits; one filter holds text or integers, not both. Many keys are a list, an
array of integers (NumPy, array.array, any buffer), or an Arrow array of strings.

Threads may query one filter at the same time; batch queries and builds run without the GIL. A change waits for the
queries that run.
"""

from __future__ import annotations

import errno as _errno
import os as _os
from collections.abc import Mapping as _Mapping

from . import _naysay
from ._naysay import Filter, Full

__all__ = ["Filter", "Full", "Strings", "build", "build_from_files", "compare", "filters", "loads", "open"]
__version__ = _naysay.version


class Strings:
    """Keys that lie one after the other in one buffer, as Arrow has them: key i is data[offsets[i]:offsets[i + 1]].

    The offsets are a buffer of 32-bit or 64-bit integers, one more than there are keys.

    >>> import array, naysay
    >>> keys = naysay.Strings(b"onetwothree", array.array("i", [0, 3, 6, 11]))
    >>> f = naysay.build(keys)
    >>> "two" in f, len(keys)
    (True, 3)
    """

    null_count = 0
    offset = 0

    def __init__(self, data, offsets):
        view = memoryview(offsets)
        if view.itemsize not in (4, 8) or view.ndim != 1 or view.format.lstrip("@=<") not in ("i", "l", "q"):
            raise TypeError("offsets must be signed integers of 32 or 64 bits")
        self.type = "binary" if view.itemsize == 4 else "large_binary"
        self._parts = [None, view.cast("B") if view.contiguous else memoryview(view.tobytes()), data]
        self._count = len(view) - 1
        if self._count < 0:
            raise ValueError("offsets must hold one number more than there are keys")

    def __len__(self):
        return self._count

    def buffers(self):
        return self._parts


def _split(negatives, costs):
    """Negatives as a mapping of keys to costs, or as keys with costs next to them."""
    if not isinstance(negatives, _Mapping):
        return negatives, costs
    if costs is not None:
        raise TypeError("negatives are a mapping to costs already; leave costs out")
    return list(negatives.keys()), list(negatives.values())


def _options(bits_per_key, fpr, capacity, seed, threads, siphash_key, stranger_share, params):
    options = dict(bits_per_key=bits_per_key, fpr=fpr, capacity=capacity, seed=seed, threads=threads,
                   stranger_share=stranger_share, params=params)
    if siphash_key is not None:
        if not isinstance(siphash_key, bytes) or len(siphash_key) != 16:
            raise ValueError("siphash_key must be 16 bytes, such as those of secrets.token_bytes(16)")
        options.update(siphash=1, secret_lo=int.from_bytes(siphash_key[:8], "little"),
                       secret_hi=int.from_bytes(siphash_key[8:], "little"))
    return options


def build(keys, negatives=None, costs=None, filter="auto", bits_per_key=None, *, fpr=None, capacity=0, seed=0, threads=1,
          siphash_key=None, stranger_share=0.01, params=None, progress=None) -> Filter:
    """Build a filter from keys and known negatives.

    keys            a list of str, bytes or int; an array of integers; an Arrow array of strings; naysay.Strings
    negatives       the same, or a dict of negatives and their costs
    costs           one number for each negative; without it each costs 1
    filter          a name of naysay.filters(), or "auto": the one that should accept the least cost
    bits_per_key    the size; without it 10 for "auto" and the default of any other filter
    fpr             instead of bits_per_key, the rate on strangers, for filters that can price one
    capacity        room for this many keys, for filters that insert later
    seed            same keys, parameters and seed give the same bytes
    threads         any number gives the same bytes; 0: as many as there are cores
    siphash_key     16 secret bytes, for keys that an adversary chooses
    stranger_share  the share of the negative queries that will be about strangers
    params          more parameters of the filter, as a dict
    progress        called as progress(stage, done, total) now and then; an exception in it ends the build, as Ctrl-C does

    >>> import naysay
    >>> f = naysay.build(range(1000), negatives=range(5000, 6000))
    >>> all(f.contains(range(1000))), any(f.contains(range(5000, 6000)))
    (True, False)
    >>> naysay.build(["a"], filter="no-such")
    Traceback (most recent call last):
        ...
    ValueError: no filter has the name 'no-such'; ...
    """
    negatives, costs = _split(negatives, costs)
    return _naysay.build(filter, keys, negatives, costs,
                         _options(bits_per_key, fpr, capacity, seed, threads, siphash_key, stranger_share, params),
                         progress)


def build_from_files(keys, negatives=None, filter="auto", bits_per_key=None, *, fpr=None, capacity=0, seed=0, threads=1,
                     siphash_key=None, stranger_share=0.01, params=None, progress=None) -> Filter:
    """Build a filter from a file of keys, one per line, and one of negatives, key<TAB>cost; plain, gzip or zstd.

    The strings are never all in memory. The other arguments are those of build().
    """
    try:
        return _naysay.build_from_files(
            filter, keys, negatives,
            _options(bits_per_key, fpr, capacity, seed, threads, siphash_key, stranger_share, params), progress)
    except OSError as error:
        for path in (keys, negatives):
            _raise_missing(error, path)
        raise


def _raise_missing(error, path):
    if path is not None and error.errno is None and not _os.path.exists(path):
        raise FileNotFoundError(_errno.ENOENT, str(error), _os.fspath(path)) from None


def open(path, *, map=True) -> Filter:
    """A filter from a file. It is queried in place and cannot be changed; with map=False it is copied into memory.

    >>> import naysay, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "numbers.nsy")
    ...     naysay.build([1, 2, 3]).save(path)
    ...     2 in naysay.open(path)
    True
    """
    try:
        return _naysay.open_file(path, map)
    except OSError as error:
        _raise_missing(error, path)
        raise


def loads(data) -> Filter:
    """A filter from the bytes that Filter.to_bytes() or Filter.save() wrote."""
    return _naysay.loads(data)


def filters() -> list[dict]:
    """The filters that can be built, one dict each: name, id, about, abilities, params with their defaults.

    >>> import naysay
    >>> "guarded" in [f["name"] for f in naysay.filters() if {"insert", "erase", "adapt"} <= f["abilities"]]
    True
    """
    return _naysay.filters()


def compare(keys, negatives, costs=None, filters=None, bits_per_key=10, *, seed=0, threads=1, stranger_share=0.01,
            params=None, progress=None) -> list[dict]:
    """Build filters at one size and measure each on these keys; one dict per filter, as `naysay compare` has them.

    A tenth of the negatives is not given to the filters. These are the strangers.

    fpr, known_fpr, wfpr   accepted: of the strangers, of the known negatives, of the cost of the known negatives
    build_ns, batch_ns     nanoseconds per key of the build, and per query in batches
    problem                why a filter has no numbers

    >>> import naysay
    >>> rows = naysay.compare(range(1000), range(5000, 7000), filters=["bloom", "taught-ribbon"], bits_per_key=12)
    >>> [(row["filter"], row["false_negatives"]) for row in rows], rows[1]["wfpr"]
    ([('bloom', 0), ('taught-ribbon', 0)], 0.0)
    """
    negatives, costs = _split(negatives, costs)
    return _naysay.compare(() if filters is None else tuple(filters), keys, negatives, costs,
                           _options(bits_per_key, None, 0, seed, threads, None, stranger_share, params), progress)
