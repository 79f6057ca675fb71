"""What pyproject.toml cannot say: one tree gives the same bytes each time, and links of the README work on an index.

OPHOOK_PROJECT_URL is where the repository is published, such as https://example.org/group/project: the release workflow
sets it. SOURCE_DATE_EPOCH is the time that is written into archives; 1980 if it is not set.
"""

import gzip
import os
import re
import tarfile
from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
URL = os.environ.get("OPHOOK_PROJECT_URL", "").rstrip("/")
os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")
os.umask(0o022)  # the modes of what is written on the way are in the wheel


def absolute(text: str, url: str) -> str:
    """``text`` with links that are relative to the repository as links into its main branch at ``url``."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found["image"] else "blob"
        return f"{found['image']}[{found['text']}]({url}/{kind}/main/{found['path']})"

    return re.sub(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<path>[^)\s]+)\)", link, text) if url else text


class Sdist(sdist):
    """Members in order, of one time and one owner."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        if format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)
        moment, name = int(os.environ["SOURCE_DATE_EPOCH"]), f"{base_name}.tar.gz"
        with open(name, "wb") as file, gzip.GzipFile("", "wb", mtime=moment, fileobj=file) as packed:
            with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
                for path in sorted(path for path in Path(base_dir).rglob("*") if path.is_file()):
                    member = archive.gettarinfo(str(path))
                    member.mtime, member.uid, member.gid, member.uname, member.gname = moment, 0, 0, "", ""
                    member.mode = 0o755 if member.mode & 0o100 else 0o644
                    member.type, member.linkname = tarfile.REGTYPE, ""  # the tree of an sdist is made of hard links
                    member.size = path.stat().st_size
                    with path.open("rb") as content:
                        archive.addfile(member, content)
        return name


setup(
    cmdclass={"sdist": Sdist},
    long_description=absolute((ROOT / "README.md").read_text(encoding="utf-8"), URL),
    long_description_content_type="text/markdown",
    project_urls={
        "Homepage": URL,
        "Documentation": f"{URL}/tree/main/docs",
        "Changelog": f"{URL}/blob/main/CHANGELOG.md",
        "Issues": f"{URL}/issues",
    }
    if URL
    else {},
)
