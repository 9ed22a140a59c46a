# SPDX-License-Identifier: Apache-2.0
"""pip makes a wheel of the source tree and installs it, without a network; the extension comes from the build folder."""

import importlib.util
import os
import subprocess
import sys
import tarfile

import pytest

import naysay

SOURCE = os.environ["NAYSAY_SOURCE_DIR"]


def test_pip_makes_a_wheel_and_installs_it(tmp_path):
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip is not installed")
    build = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(naysay.__file__))))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
    subprocess.run([*pip, "wheel", SOURCE, "--no-index", "--no-deps", "--wheel-dir", tmp_path, "--config-settings",
                    f"build-dir={build}"], check=True, capture_output=True)
    wheel = next(tmp_path.glob(f"naysay-{naysay.__version__}-cp311-abi3-*.whl"))
    subprocess.run([*pip, "install", "--no-index", "--no-deps", "--target", tmp_path / "site", wheel], check=True,
                   capture_output=True)
    out = subprocess.run([sys.executable, "-c", "import naysay; print(7 in naysay.build([7]), naysay.__file__)"],
                         env={"PYTHONPATH": str(tmp_path / "site")}, cwd=tmp_path, check=True, capture_output=True,
                         text=True).stdout
    assert out.split() == ["True", str(tmp_path / "site/naysay/__init__.py")]


def test_the_source_distribution_has_what_a_build_reads(tmp_path):
    sys.path.insert(0, os.path.join(SOURCE, "hosts/python"))
    try:
        import backend
    finally:
        sys.path.pop(0)
    with tarfile.open(tmp_path / backend.build_sdist(tmp_path)) as sdist:
        names = set(sdist.getnames())
    base = f"naysay-{naysay.__version__}"
    for part in ("PKG-INFO", "pyproject.toml", "include/naysay/naysay.h", "src/c_api.cpp", "hosts/python/backend.py",
                 "hosts/python/src/extension.cpp", "cmake/naysay.map.in"):
        assert f"{base}/{part}" in names
