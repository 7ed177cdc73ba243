"""Packages of Debian, of any release and architecture, unpacked into a folder: nothing is installed on the machine.

apt runs with a configuration of its own; the mirror is the machine's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_CONFIG = """\
Dir::Etc::SourceList "{place}/sources.list";
Dir::Etc::SourceParts "{place}/none";
Dir::Etc::Preferences "{place}/none";
Dir::Etc::PreferencesParts "{place}/none";
Dir::State::Lists "{place}/lists";
Dir::State::Status "{place}/status";
Dir::Cache "{place}/cache";
APT::Architecture "{architecture}";
APT::Architectures "{architecture}";
APT::Sandbox::User "";
Acquire::Languages "none";
"""


class NotThereError(Exception):
    """A package, or apt itself, that cannot be had here."""


class Debian:
    """A release of Debian for an architecture, whose files are kept in a folder."""

    def __init__(self, place: Path, release: str, architecture: str = "amd64") -> None:
        self.place, self.release = place / f"{release}-{architecture}", release
        if shutil.which("apt-get") is None:
            raise NotThereError("there is no apt-get on this machine")
        for folder in ("lists/partial", "cache/archives/partial", "none", "sources"):
            (self.place / folder).mkdir(parents=True, exist_ok=True)
        (self.place / "status").touch()
        self.config = self.place / "apt.conf"
        self.config.write_text(_CONFIG.format(place=self.place, architecture=architecture), "utf-8")
        mirror = self._run("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", own=False)
        lines = [f"{kind} [signed-by={_KEYRING}] {mirror.split()[0]} {release} main\n" for kind in ("deb", "deb-src")]
        (self.place / "sources.list").write_text("".join(lines), "utf-8")
        self._run("apt-get", "update", "-q")

    def _run(self, *command: str, cwd: Path | None = None, own: bool = True) -> str:
        env = {**os.environ, "LC_ALL": "C", **({"APT_CONFIG": str(self.config)} if own else {})}
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotThereError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def unpack(self, root: Path, *packages: str) -> Path:
        """Unpack packages and all that they need into `root`."""
        shutil.rmtree(self.place / "cache/archives", ignore_errors=True)
        (self.place / "cache/archives/partial").mkdir(parents=True)
        self._run("apt-get", "install", "--download-only", "--no-install-recommends", "--yes", *packages)
        return self._into(root)

    def unpack_alone(self, root: Path, *packages: str) -> Path:
        """Unpack packages without what they need."""
        archives = self.place / "cache/archives"
        shutil.rmtree(archives, ignore_errors=True)
        (archives / "partial").mkdir(parents=True)
        self._run("apt-get", "download", *packages, cwd=archives)
        return self._into(root)

    def _into(self, root: Path) -> Path:
        root.mkdir(parents=True, exist_ok=True)
        # /lib and /lib64 are links to folders of /usr: some packages still name them
        for name in ("bin", "lib", "lib64"):
            (root / "usr" / name).mkdir(parents=True, exist_ok=True)
            if not (root / name).is_symlink():
                (root / name).symlink_to(f"usr/{name}")
        for package in sorted((self.place / "cache/archives").glob("*.deb")):
            self._run("dpkg-deb", "--extract", str(package), str(root))
        return root

    def source(self, package: str) -> Path:
        """The archive of a package's source, as its authors published it."""
        folder = self.place / "sources"
        for path in folder.glob(f"{package}_*.orig.tar.*"):
            return path
        self._run("apt-get", "source", "--tar-only", "-q", package, cwd=folder)
        return next(folder.glob(f"{package}_*.orig.tar.*"))
