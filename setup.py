"""What pyproject.toml cannot say: the page's files are a package of their own, without a second copy."""

from setuptools import find_packages, setup

setup(
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
