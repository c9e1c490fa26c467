"""What pyproject.toml cannot say: the page's files are a package of their own, without a second copy, and packed."""

import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent.resolve()
sys.path.insert(0, str(ROOT))

from tb_xla_insights.page.pack import pack  # noqa: E402


class BuildWithPage(build_py):
    """Packs the page where it will be served from: in the wheel, or in the checkout of an editable install."""

    def run(self):
        super().run()
        wheel = Path(self.build_lib) / "tb_xla_insights/static"
        try:
            pack(ROOT / "frontend" if self.editable_mode else wheel)
        except ImportError as missing:
            self.warn(f"{missing}: the page is not minified, and takes longer to load from afar")


setup(
    cmdclass={"build_py": BuildWithPage},
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
