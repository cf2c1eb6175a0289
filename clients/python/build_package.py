# SPDX-License-Identifier: Apache-2.0
"""Builds this package with nothing but Python (PEP 517 and 660), so that it installs without a network."""

import base64
import hashlib
import os
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, Iterable, Optional, Tuple

HERE = Path(__file__).resolve().parent
NAME = "aisbx"


def _field(name: str) -> str:
    """One line of pyproject.toml; tomllib came with Python 3.11."""
    found = re.search(rf'^{name} = "(.*)"$', (HERE / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    if not found:
        raise ValueError(f"pyproject.toml has no line {name} = \"...\"")
    return found.group(1)


VERSION = _field("version")
INFO = f"{NAME}-{VERSION}.dist-info"


def _metadata() -> str:
    head = (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\nSummary: {_field('description')}\n"
            f"License: Apache-2.0\nRequires-Python: {_field('requires-python')}\n"
            "Description-Content-Type: text/markdown\n\n")
    return head + (HERE / "README.md").read_text(encoding="utf-8")


def _sources() -> Iterable[Tuple[str, bytes]]:
    for path in sorted((HERE / NAME).iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            yield f"{NAME}/{path.name}", path.read_bytes()


def _write_wheel(directory: str, files: Iterable[Tuple[str, bytes]], tag: str = "py3-none-any",
                 programs: Iterable[str] = ()) -> str:
    """Writes the wheel of FILES, those in PROGRAMS executable; the same files give the same bytes."""
    name = f"{NAME}-{VERSION}-{tag}.whl"
    record = ""
    wheel = (f"Wheel-Version: 1.0\nGenerator: aisbx\nRoot-Is-Purelib: {str(tag.endswith('any')).lower()}\nTag: {tag}\n")
    runs = set(programs)
    entries = "[console_scripts]\naisbx-pytest = aisbx.pytest:main\n\n[pytest11]\naisbx = aisbx.pytest_plugin\n"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as out:
        def add(path: str, data: bytes) -> None:
            entry = zipfile.ZipInfo(path)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if path in runs else 0o100644) << 16
            out.writestr(entry, data)

        for path, data in [*files, (f"{INFO}/METADATA", _metadata().encode()), (f"{INFO}/WHEEL", wheel.encode()),
                           (f"{INFO}/entry_points.txt", entries.encode())]:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(data)}\n"
            add(path, data)
        add(f"{INFO}/RECORD", (record + f"{INFO}/RECORD,,\n").encode())
    return name


def build_program_wheel(directory: str, machine: str, installed: Iterable[Tuple[str, bytes]]) -> str:
    """The package with the program in it: INSTALLED are static programs and their pages below a prefix (tools/pack)."""
    data = f"{NAME}-{VERSION}.data"
    files, programs = list(_sources()), []
    for path, content in installed:
        # `aisbx` finds its parts by where it lies itself: in bin, and they in libexec beside it.
        path = f"{data}/scripts/aisbx" if path == "bin/aisbx" else f"{data}/data/{path}"
        files.append((path, content))
        if content[:4] == b"\x7fELF":
            programs.append(path)
    return _write_wheel(directory, files, f"py3-none-manylinux_2_17_{machine}.musllinux_1_1_{machine}", programs)


def build_wheel(wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None,
                metadata_directory: Optional[str] = None) -> str:
    """The package as a wheel."""
    return _write_wheel(wheel_directory, _sources())


def build_editable(wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None,
                   metadata_directory: Optional[str] = None) -> str:
    """A wheel that points here, for `pip install -e`."""
    return _write_wheel(wheel_directory, [(f"{NAME}.pth", f"{HERE}\n".encode())])


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    """The sources as an archive."""
    top = f"{NAME}-{VERSION}"
    with tarfile.open(os.path.join(sdist_directory, top + ".tar.gz"), "w:gz") as out:
        for name in ("pyproject.toml", "README.md", "build_package.py"):
            out.add(HERE / name, f"{top}/{name}")
        for path, _ in _sources():
            out.add(HERE / path, f"{top}/{path}")
        (Path(sdist_directory) / "PKG-INFO").write_text(_metadata(), encoding="utf-8")
        out.add(Path(sdist_directory) / "PKG-INFO", f"{top}/PKG-INFO")
    (Path(sdist_directory) / "PKG-INFO").unlink()
    return top + ".tar.gz"
