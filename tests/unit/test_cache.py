"""The cache: who may write to it, folders that appear as a whole, libraries that are what was built."""

import errno
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ophook_npu import cache
from ophook_npu.errors import OphookError


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("OPHOOK_NPU_CACHE", str(folder))
    return folder


def library(staging: Path) -> None:
    (staging / "lib64").mkdir()
    (staging / "lib64" / "liba.so").write_bytes(b"what was built")
    (staging / "release").mkdir()
    (staging / "release" / "lib64").symlink_to(Path("..") / "lib64")
    (staging / "notes.txt").write_text("not a library\n")


def test_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("OPHOOK_NPU_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(OphookError, match=r"\[cache\] cannot write to .*/file/below: .*next: set OPHOOK_NPU_CACHE"):
        cache.cache_dir()
    if os.getuid():  # root may write anywhere
        (tmp_path / "closed").mkdir()
        (tmp_path / "closed").chmod(stat.S_IRUSR | stat.S_IXUSR)
        monkeypatch.setenv("OPHOOK_NPU_CACHE", str(tmp_path / "closed"))
        with pytest.raises(OphookError, match=r"cannot write to"):
            cache.cache_dir()


MAKE = """
import sys, time
from pathlib import Path
from ophook_npu.cache import publish
folder = Path(sys.argv[1])
def make(staging):
    with (folder / "log").open("a") as log: log.write("made ")
    (staging / "half").touch()
    time.sleep(float(sys.argv[2]))
    (staging / "whole").touch()
root = publish(folder / "out", make)
assert (root / "whole").exists()
"""


def test_of_several_processes_one_publishes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAKE, str(tmp_path), "0.3"]
    processes = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait(120) for process in processes] == [0] * 4
    assert (tmp_path / "log").read_text() == "made "
    assert not list(tmp_path.glob("*building*"))


def test_a_killed_build_leaves_nothing_that_counts(tmp_path: Path) -> None:
    first = subprocess.Popen([sys.executable, "-c", MAKE, str(tmp_path), "60"])
    while not list(tmp_path.glob("out.building-*/half")):
        assert first.poll() is None
        time.sleep(0.01)
    first.kill()
    first.wait(120)
    assert not (tmp_path / "out").exists()
    assert subprocess.run([sys.executable, "-c", MAKE, str(tmp_path), "0"]).returncode == 0
    assert not list(tmp_path.glob("*building*"))


def test_what_a_power_cut_emptied_is_made_again(tmp_path: Path) -> None:
    root = cache.publish(tmp_path / "out", library)
    (root / cache.MANIFEST).write_text("")
    assert (cache.publish(root, library) / "lib64" / "liba.so").read_bytes() == b"what was built"


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    def make(staging: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OphookError, match=r"cannot write to .*: No space left on device; .*next: set OPHOOK_NPU_CACHE"):
        cache.publish(tmp_path / "out", make)


def test_two_processes_hold_the_lock_in_turn(tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from ophook_npu.cache import locked
log = Path(sys.argv[1]) / "log"
with locked(Path(sys.argv[1]) / "lock"):
    with log.open("a") as file: file.write("in\\n")
    time.sleep(0.2)
    with log.open("a") as file: file.write("out\\n")
"""
    processes = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(3)]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    assert (tmp_path / "log").read_text().split() == ["in", "out"] * 3


def test_a_new_cache_is_for_its_user_only(base: Path) -> None:
    assert cache.cache_dir() == base.resolve()
    assert stat.S_IMODE(base.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775, 0o722])
def test_a_cache_that_others_may_write_to_is_refused(base: Path, mode: int) -> None:
    base.mkdir()
    base.chmod(mode)
    with pytest.raises(
        OphookError, match=rf"\[cache\] {base} is open to other users \(you own it, mode {mode:04o}\)"
    ) as e:
        cache.cache_dir()
    assert f"chmod go-w {base}" in str(e.value)
    base.chmod(0o755)
    assert cache.cache_dir() == base.resolve()


def test_a_cache_whose_place_others_may_take_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    (shared / "between" / "cache").mkdir(parents=True)
    monkeypatch.setenv("OPHOOK_NPU_CACHE", str(shared / "between" / "cache"))
    shared.chmod(0o777)
    with pytest.raises(OphookError, match=rf"{shared}, above .*cache, is open to other users .*mode 0777"):
        cache.cache_dir()
    shared.chmod(0o1777)  # like /tmp: only an owner may move what is there
    cache.cache_dir()


def owned_by(user: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give ``path`` to ``user``; who is not root is told so instead."""
    if os.geteuid() == 0:
        os.chown(path, user, -1)
        return
    real = Path.stat

    def told(self: Path, **how: bool) -> os.stat_result:
        found = list(real(self, **how))
        if self == path:
            found[stat.ST_UID] = user
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", told)


def test_a_cache_of_another_user_is_refused(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base.mkdir(mode=0o755)
    owned_by(54321, base, monkeypatch)
    with pytest.raises(OphookError, match=rf"{base} is open to other users \(user 54321 owns it, mode 0755\)"):
        cache.cache_dir()


def test_a_cache_below_another_users_folder_is_refused(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "cache").mkdir(parents=True, mode=0o755)
    monkeypatch.setenv("OPHOOK_NPU_CACHE", str(theirs / "cache"))
    owned_by(54321, theirs, monkeypatch)
    with pytest.raises(OphookError, match=rf"{theirs}, above .*user 54321 owns it"):
        cache.cache_dir()


def test_a_planted_folder_in_the_cache_is_refused(base: Path) -> None:
    """What another user could prepare while the cache was open, found after it was closed."""
    root = cache.cache_dir() / "sim" / "key"
    root.mkdir(parents=True)
    library(root)
    (root / cache.MANIFEST).write_text(json.dumps(cache.hashes(root)))
    root.chmod(0o777)
    with pytest.raises(OphookError, match=rf"{root} is open to other users"):
        cache.publish(root, library)


def change(root: Path) -> None:
    path = root / "lib64" / "liba.so"
    path.write_bytes(b"what was BUILT")  # of the same length
    os.utime(path, ns=(0, 0))


def add(root: Path) -> None:
    (root / "lib64" / "libtorch_cpu.so.1").write_bytes(b"found first")


def remove(root: Path) -> None:
    (root / "lib64" / "liba.so").unlink()


def redirect(root: Path) -> None:
    (root / "lib64" / "liba.so").unlink()
    (root.parent / "theirs.so").write_bytes(b"theirs")
    (root / "lib64" / "liba.so").symlink_to(root.parent / "theirs.so")


def lead_elsewhere(root: Path) -> None:
    (root / "release" / "lib64").unlink()
    (root.parent / "theirs").mkdir()
    (root / "release" / "lib64").symlink_to(root.parent / "theirs")


@pytest.mark.parametrize(
    "attack, said",
    [
        (change, r"lib64/liba\.so was changed"),
        (add, r"lib64/libtorch_cpu\.so\.1 was not built there"),
        (remove, r"lib64/liba\.so is gone"),
        (redirect, r"lib64/liba\.so was changed"),
        (lead_elsewhere, r"release/lib64 is gone"),
    ],
)
def test_a_library_that_is_not_what_was_built_is_refused(base: Path, attack, said: str) -> None:
    root = cache.publish(cache.cache_dir() / "sim" / "key", library)
    assert cache.publish(root, library) == root
    (root / "notes.txt").write_text("may change\n")
    assert cache.publish(root, library) == root
    attack(root)
    with pytest.raises(OphookError, match=rf"\[cache\] {said}: {root} is not what was built.*remove {root}"):
        cache.publish(root, library)


def test_torch_is_not_read_each_time(base: Path, tmp_path: Path) -> None:
    """A simulator that was installed as a wheel has a link to torch's libraries, of half a gigabyte."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libtorch_cpu.so").write_bytes(b"torch")

    def make(staging: Path) -> None:
        library(staging)
        (staging / "lib64" / cache.TORCH_LINK).symlink_to(tmp_path / "lib")

    root = cache.publish(cache.cache_dir() / "sim" / "key", make)
    assert sorted(cache.hashes(root)) == ["lib64/liba.so", "lib64/torch", "release/lib64"]
    (tmp_path / "lib" / "libtorch_cpu.so").write_bytes(b"of another release")
    assert cache.publish(root, make) == root
    (root / "lib64" / cache.TORCH_LINK).unlink()
    (root / "lib64" / cache.TORCH_LINK).symlink_to(tmp_path)
    with pytest.raises(OphookError, match="lib64/torch was changed"):
        cache.publish(root, make)


def test_a_package_that_a_user_installs_is_the_users(base: Path) -> None:
    """Into the toolkit's own folder, where an operator package goes unasked; in one of ours nothing is added."""
    ours, theirs = Path("opp/vendors/ours/a.so"), Path("opp/vendors/theirs/a.so")

    def put(root: Path, name: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"a library")

    root = cache.publish(cache.cache_dir() / "sim" / "key", lambda staging: put(staging, ours))
    put(root, theirs)
    assert cache.checked(root) == root
    put(root, ours.with_name("b.so"))
    with pytest.raises(OphookError, match=r"ours/b\.so was not built there"):
        cache.checked(root)
