"""What pyproject.toml cannot say: the kernels are compiled, and the page's files are a package of their own, without a
second copy, and packed."""

import os
import shutil
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent.resolve()
sys.path.insert(0, str(ROOT))

from tb_xla_insights.page.pack import pack  # noqa: E402

OLDEST = (3, 11)
"""The first Python whose stable ABI has the buffers that arrays are handed over in: one build serves it and all later."""


class BuildWithPage(build_py):
    """Packs the page where it will be served from: in the wheel, or in the checkout of an editable install."""

    def run(self):
        super().run()
        wheel = Path(self.build_lib) / "tb_xla_insights/static"
        try:
            pack(ROOT / "frontend" if self.editable_mode else wheel)
        except ImportError as missing:
            self.warn(f"{missing}: the page is not minified, and takes longer to load from afar")


class BuildKernels(build_ext):
    pass


def kernels():
    modules = [path.relative_to(ROOT) for path in sorted(ROOT.glob("tb_xla_insights/**/kernels.py"))]
    extensions = [
        Extension(
            ".".join(path.with_suffix("").parts),
            [str(path)],
            define_macros=[("Py_LIMITED_API", "0x%02x%02x0000" % OLDEST)],
            extra_compile_args=["-O3", "-g0", "-fwrapv"],
            py_limited_api=True,
        )
        for path in modules
    ]
    return cythonize(
        extensions,
        build_dir=".make/kernels",
        compiler_directives={"language_level": 3, "infer_types": True, "boundscheck": False},
    )


setup(
    cmdclass={"build_py": BuildWithPage},
    ext_modules=kernels(),
    options={"build_ext": {"build_temp": ".make/kernels"}, "bdist_wheel": {"py_limited_api": "cp%d%d" % OLDEST}},
    packages=[*find_packages(include=["tb_xla_insights", "tb_xla_insights.*"]), "tb_xla_insights.static"],
    package_dir={"tb_xla_insights.static": "frontend"},
    package_data={
        "tb_xla_insights": ["py.typed"],
        "tb_xla_insights.catalog": ["*.json"],
        "tb_xla_insights.xplane.proto": ["*.proto", "*.pyi"],
        "tb_xla_insights.static": ["**/*.js", "**/*.css", "**/*.svg"],
    },
    exclude_package_data={"tb_xla_insights.static": ["**/*.test.js", "node_modules/**"]},
    include_package_data=False,
)
