"""The parts of the build that pyproject.toml cannot express: compiles the kernels, packs the page if npm is installed,
includes the page's files as a package without copying them, and makes wheel and source distribution reproducible."""

import gzip
import importlib.util
import os
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent.resolve()
sys.path.insert(0, str(ROOT))

from tb_xla_insights.page.packed import is_packed  # noqa: E402

MIN_PYTHON = (3, 11)
"""The first Python with the buffer protocol in its stable ABI: one build serves it and all later versions."""

HAS_STABLE_ABI = not sysconfig.get_config_var("Py_GIL_DISABLED")  # free-threaded Python has no stable ABI yet
WINDOWS = sys.platform == "win32"  # setuptools finds Microsoft's compiler itself
COMPILER = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
HAS_COMPILER = WINDOWS or bool(shutil.which(shlex.split(COMPILER)[0]))


def source_date():
    """The date of the commit, in seconds since 1970; in a source distribution, the date of its files."""
    date = os.environ.get("SOURCE_DATE_EPOCH")
    if not date and (ROOT / ".git").exists():
        # In the containers that build wheels, the checkout belongs to another user.
        command = ["git", "-c", "safe.directory=*", "log", "-1", "--format=%ct"]
        try:
            date = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError):
            date = None  # no git: use the file's date, as in a source archive
    return int(date or Path(__file__).stat().st_mtime)


def neutral_mode(mode):
    """The file mode without the effect of the umask at checkout."""
    return 0o755 if mode & stat.S_IXUSR else 0o644


def pack_page(command):
    """Packs the page of a checkout with npm, if installed. A source distribution contains the packed page."""
    if is_packed(ROOT / "frontend"):
        return
    # Installs npm's packages once, without waiting for a registry that does not answer.
    fetch = ["ci", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=30000"]
    steps = [] if (ROOT / "node_modules/rolldown").is_dir() else [fetch]
    try:
        npm = shutil.which("npm")
        if not npm:
            raise FileNotFoundError("npm is not installed")
        for step in [*steps, ["run", "pack"]]:
            subprocess.run([npm, *step, "--silent"], cwd=ROOT, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        command.warn(f"{error}: the page is not packed, so remote browsers load it more slowly")


class BuildWithPage(build_py):
    def run(self):
        pack_page(self)
        # An earlier build may have left files that the page no longer has.
        shutil.rmtree(Path(self.build_lib) / "tb_xla_insights/static", ignore_errors=True)
        super().run()


class DistributeWithPage(sdist):
    def run(self):
        pack_page(self)
        super().run()

    def make_archive(self, base_name, *_, base_dir, **__):
        """A reproducible .tar.gz: all files have the same date and no owner."""

        def neutral(member):
            member.mtime, member.mode = DATE, neutral_mode(member.mode)
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            return member

        path = f"{base_name}.tar.gz"
        with (
            gzip.GzipFile(path, "wb", mtime=DATE) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            archive.add(base_dir, filter=neutral)
        return path


class NeutralWheel(bdist_wheel):
    """A wheel with normalised file modes; setuptools sets only the dates (by SOURCE_DATE_EPOCH)."""

    def write_wheelfile(self, wheelfile_base, **options):
        super().write_wheelfile(wheelfile_base, **options)
        for path in Path(wheelfile_base).parent.rglob("*"):
            if path.is_file():
                path.chmod(neutral_mode(path.stat().st_mode))


class BuildKernels(build_ext):
    """Compiles with the system's C compiler, else with Zig's, which is on PyPI."""

    def run(self):
        headers = Path(sysconfig.get_path("include"))
        if not HAS_COMPILER and not importlib.util.find_spec("ziglang"):
            sys.exit(
                f"The kernels need a C compiler, and {COMPILER} is missing: install gcc or clang, or ziglang with pip"
            )
        if not (headers / "Python.h").is_file():
            sys.exit(
                f"The kernels need Python.h, which {headers} lacks: install python3-dev (or python3-devel)"
            )
        if not HAS_COMPILER:
            os.environ["CC"] = shlex.join([sys.executable, "-m", "ziglang", "cc"])
        super().run()


ARRAY_VIEWS = "tb_xla_insights._array_views"
"""The extension module with Cython's code for arrays, which is most of a kernel's code if each has its own."""


def kernels():
    """An extension module per `kernels.py`, and one that all of them share. Integers wrap around as NumPy's do.
    XLA_INSIGHTS_CHECKED=1 adds bounds checks and the compiler's sanitizers (`make sanitize`)."""
    checked = os.environ.get("XLA_INSIGHTS_CHECKED") == "1"
    # -O1, as the sanitizers' documentation advises: compiles twice as fast, and no fault is optimized away.
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g", "-O1"]
    optimized = ["/O2"] if WINDOWS else ["-O3", "-g0", "-fwrapv"]
    paths = [path.relative_to(ROOT) for path in sorted(ROOT.glob("tb_xla_insights/**/kernels.py"))]
    sources = {".".join(path.with_suffix("").parts): [str(path)] for path in paths}
    extensions = [
        Extension(
            name,
            files,
            define_macros=[("Py_LIMITED_API", "0x{:02x}{:02x}0000".format(*MIN_PYTHON))] * HAS_STABLE_ABI,
            extra_compile_args=optimized + sanitizers * checked,
            extra_link_args=sanitizers * checked,
            py_limited_api=HAS_STABLE_ABI,
        )
        for name, files in {**sources, ARRAY_VIEWS: []}.items()
    ]
    directives = {
        "language_level": 3,
        "infer_types": True,
        "boundscheck": checked,
        "show_performance_hints": not checked,
    }
    return cythonize(
        extensions,
        build_dir=".make/kernels",
        compiler_directives=directives,
        shared_utility_qualified_name=ARRAY_VIEWS,
        force=checked,
        quiet=True,
    )


DATE = source_date()
os.environ["SOURCE_DATE_EPOCH"] = str(DATE)
setup(
    cmdclass={
        "build_py": BuildWithPage,
        "build_ext": BuildKernels,
        "sdist": DistributeWithPage,
        "bdist_wheel": NeutralWheel,
    },
    ext_modules=kernels(),
    options={
        "build": {"build_base": ".make", "parallel": True},
        "bdist_wheel": {"py_limited_api": "cp{}{}".format(*MIN_PYTHON)} if HAS_STABLE_ABI else {},
    },
    setup_requires=[] if HAS_COMPILER else ["ziglang"],
    packages=[*find_packages(include=["tb_xla_insights", "tb_xla_insights.*"]), "tb_xla_insights.static"],
    package_dir={"tb_xla_insights.static": "frontend"},
    package_data={
        "tb_xla_insights": ["py.typed", "arrays.pxd"],
        "tb_xla_insights.catalog": ["*.json"],
        "tb_xla_insights.xplane.proto": ["*.proto", "*.pyi"],
        "tb_xla_insights.static": ["**/*.js", "**/*.css", "packed/*"],
    },
    include_package_data=False,
)
