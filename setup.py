"""What pyproject.toml cannot say: the kernels are compiled, the page's files are a package of their own, without a
second copy, and packed where npm is, and the same sources give the same wheel and source distribution."""

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

OLDEST = (3, 11)
"""The first Python with buffers in its stable ABI, so that one build serves it and all later ones."""

STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")  # a Python without the lock has no stable ABI yet
WINDOWS = sys.platform == "win32"  # where setuptools finds Microsoft's compiler by itself
COMPILER = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
OWN_COMPILER = WINDOWS or bool(shutil.which(shlex.split(COMPILER)[0]))


def date_of_sources():
    """Of the commit, as seconds since 1970. A source distribution's files carry it."""
    date = os.environ.get("SOURCE_DATE_EPOCH")
    if not date and (ROOT / ".git").exists():
        # In the containers in which wheels are built the checkout belongs to somebody else.
        command = ["git", "-c", "safe.directory=*", "log", "-1", "--format=%ct"]
        try:
            date = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError):
            date = None  # no git: the files' own date, as in an archive of the sources
    return int(date or Path(__file__).stat().st_mtime)


def neutral_mode(mode):
    """Without what the umask of whoever checked the sources out made of it."""
    return 0o755 if mode & stat.S_IXUSR else 0o644


def pack_page(command):
    """Has npm pack the page of a checkout. A source distribution has it packed; without npm it is served as it is."""
    if is_packed(ROOT / "frontend"):
        return
    # What npm needs, once; it waits for no registry that does not answer.
    fetch = ["ci", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=30000"]
    steps = [] if (ROOT / "node_modules/rolldown").is_dir() else [fetch]
    try:
        npm = shutil.which("npm")
        if not npm:
            raise FileNotFoundError("there is no npm")
        for step in [*steps, ["run", "pack"]]:
            subprocess.run([npm, *step, "--silent"], cwd=ROOT, check=True)
    except (OSError, subprocess.CalledProcessError) as failure:
        command.warn(f"{failure}: the page is not packed, and takes longer to load from afar")


class BuildWithPage(build_py):
    def run(self):
        pack_page(self)
        # A build before this one may have left files there that the page has no more.
        shutil.rmtree(Path(self.build_lib) / "tb_xla_insights/static", ignore_errors=True)
        super().run()


class DistributeWithPage(sdist):
    def run(self):
        pack_page(self)
        super().run()

    def make_archive(self, base_name, *_, base_dir, **__):
        """A .tar.gz that tells nothing of the machine: all files are of one date, and of nobody."""

        def neutral(entry):
            entry.mtime, entry.mode = DATE, neutral_mode(entry.mode)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            return entry

        path = f"{base_name}.tar.gz"
        with (
            gzip.GzipFile(path, "wb", mtime=DATE) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            archive.add(base_dir, filter=neutral)
        return path


class NeutralWheel(bdist_wheel):
    """Setuptools dates the files by SOURCE_DATE_EPOCH, and takes their modes as they are."""

    def write_wheelfile(self, wheelfile_base, **options):
        super().write_wheelfile(wheelfile_base, **options)
        for path in Path(wheelfile_base).parent.rglob("*"):
            if path.is_file():
                path.chmod(neutral_mode(path.stat().st_mode))


class BuildKernels(build_ext):
    """Compiles with what this system has, else with Zig's C compiler, which PyPI has."""

    def run(self):
        headers = Path(sysconfig.get_path("include"))
        if not OWN_COMPILER and not importlib.util.find_spec("ziglang"):
            sys.exit(
                f"The kernels need a C compiler, and there is no {COMPILER}: install gcc or clang, or ziglang with pip"
            )
        if not (headers / "Python.h").is_file():
            sys.exit(
                f"The kernels need Python.h, which {headers} lacks: install python3-dev (or python3-devel)"
            )
        if not OWN_COMPILER:
            os.environ["CC"] = shlex.join([sys.executable, "-m", "ziglang", "cc"])
        super().run()


def kernels():
    """An extension module of each `kernels.py`. Numbers wrap around as NumPy's do. XLA_INSIGHTS_CHECKED=1 has every
    index checked, and code and data by the compiler's sanitizers (`make sanitize`)."""
    checked = os.environ.get("XLA_INSIGHTS_CHECKED") == "1"
    # At -O1, as their documentation advises: twice as fast to compile, and nothing is optimized away unseen.
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g", "-O1"]
    optimized = ["/O2"] if WINDOWS else ["-O3", "-g0", "-fwrapv"]
    modules = [path.relative_to(ROOT) for path in sorted(ROOT.glob("tb_xla_insights/**/kernels.py"))]
    extensions = [
        Extension(
            ".".join(path.with_suffix("").parts),
            [str(path)],
            define_macros=[("Py_LIMITED_API", "0x{:02x}{:02x}0000".format(*OLDEST))] * STABLE,
            extra_compile_args=optimized + sanitizers * checked,
            extra_link_args=sanitizers * checked,
            py_limited_api=STABLE,
        )
        for path in modules
    ]
    directives = {
        "language_level": 3,
        "infer_types": True,
        "boundscheck": checked,
        "show_performance_hints": not checked,
    }
    return cythonize(
        extensions, build_dir=".make/kernels", compiler_directives=directives, force=checked, quiet=True
    )


DATE = date_of_sources()
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
        "bdist_wheel": {"py_limited_api": "cp{}{}".format(*OLDEST)} if STABLE else {},
    },
    setup_requires=[] if OWN_COMPILER else ["ziglang"],
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
