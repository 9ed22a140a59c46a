# SPDX-License-Identifier: Apache-2.0
"""The build backend of pyproject.toml (PEP 517): CMake builds the extension, and this makes a wheel of it.

It needs nothing but CMake, a C++20 compiler and naysay's libraries (libxxhash-dev, zlib1g-dev, libzstd-dev), so that
`pip install .` works without a network. `--config-settings build-dir=DIR` takes the extension from a build folder.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ("__init__.py", "__init__.pyi", "py.typed", "_naysay.abi3.so")


def _version():
    text = (SOURCE / "include/naysay/version.hpp").read_text()
    return ".".join(re.search(rf"#define NAYSAY_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def _metadata():
    readme = (SOURCE / "docs/python.md").read_text()
    return (f"Metadata-Version: 2.1\nName: naysay\nVersion: {_version()}\n"
            "Summary: membership filters that know what is not in the set\nLicense: Apache-2.0\n"
            f"Requires-Python: >=3.11\nDescription-Content-Type: text/markdown\n\n{readme}")


def _tag():
    return "cp311-abi3-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _build(folder):
    """Builds the extension alone, and returns the folder of the package."""
    off = [f"-DNAYSAY_{part}=OFF" for part in ("TOOL", "TESTS", "INSTALL", "CUDA", "LEVELDB", "ROCKSDB", "REDIS", "UPDATES")]
    subprocess.run(["cmake", "-S", SOURCE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DNAYSAY_PYTHON=ON",
                    f"-DNAYSAY_PYTHON_EXECUTABLE={sys.executable}", *off], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "naysay_python", "--parallel", str(os.cpu_count() or 1)], check=True)
    return folder / "hosts/python/naysay"


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info, name = f"naysay-{_version()}.dist-info", f"naysay-{_version()}-{_tag()}.whl"
    given = (config_settings or {}).get("build-dir")
    with tempfile.TemporaryDirectory() as temporary:
        package = pathlib.Path(given).resolve() / "hosts/python/naysay" if given else _build(pathlib.Path(temporary))
        files = {f"naysay/{file}": (package / file).read_bytes() for file in PACKAGE}
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: naysay\nRoot-Is-Purelib: false\nTag: {_tag()}\n".encode()
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    base = f"naysay-{_version()}"
    name = f"{base}.tar.gz"
    with tarfile.open(pathlib.Path(sdist_directory) / name, "w:gz") as sdist, tempfile.NamedTemporaryFile("w") as about:
        for part in ("CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "cmake", "include", "src", "hosts",
                     "docs/python.md"):
            sdist.add(SOURCE / part, f"{base}/{part}", filter=lambda entry: None if "__pycache__" in entry.name else entry)
        about.write(_metadata())
        about.flush()
        sdist.add(about.name, f"{base}/PKG-INFO")
    return name
