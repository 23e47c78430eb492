"""The documents that the demo watches: copies, so that it can edit them."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

MAX_COPIED = 40
MAX_BYTES = 256 * 1024
_REPOSITORY = ("*.md", "*.toml", "Makefile", "docs/*.md", "compose/*.yaml", "compose/Dockerfile", "common/**/*.lua")
_PACKAGE = ("*.py", "store/lua/*.lua")


@dataclass(frozen=True, slots=True)
class Documents:
    """Copies in ``folder``; ``origin`` says of what, in words."""

    folder: Path
    origin: str
    names: list[str]

    def edit(self, number: int, line: str) -> str:
        """Add a line to one of the documents (any number picks one), and return its name."""
        name = self.names[number % len(self.names)]
        with (self.folder / name).open("a", encoding="utf-8") as document:
            document.write(f"{line}\n")
        return name


def copy_documents(working_dir: Path, target: Path) -> Documents:
    """Copy this repository's documents when ``working_dir`` is the repository, else duly's own installed files."""
    if _is_repository(working_dir):
        return _copy(working_dir, _REPOSITORY, target, "this repository's documents")
    with as_file(files("duly.common") / "errors.py") as inside:
        return _copy(inside.parent, _PACKAGE, target, "the files of the installed duly package")


def _copy(source: Path, patterns: tuple[str, ...], target: Path, origin: str) -> Documents:
    found = [path for pattern in patterns for path in sorted(source.glob(pattern)) if _fit(path)]
    chosen = list(dict.fromkeys(found))[:MAX_COPIED]
    names = []
    for path in chosen:
        name = path.relative_to(source).as_posix()
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / name)
        names.append(name)
    return Documents(target, origin, names)


def _fit(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_BYTES


def _is_repository(folder: Path) -> bool:
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8")).get("project", {})
    except (OSError, ValueError):
        return False
    return bool(project.get("name") == "duly") and (folder / "common" / "duly").is_dir()
