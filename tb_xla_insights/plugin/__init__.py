"""The TensorBoard plugin. TensorBoard imports this module at every start, so other modules are imported only when
TensorBoard loads the plugin."""

from __future__ import annotations

import argparse
from typing import Any

from tensorboard.plugins import base_plugin


class XlaInsights(base_plugin.TBLoader):
    """The entry point's loader: defines the flags and creates the plugin."""

    def define_flags(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group("XLA Insights plugin")
        group.add_argument(
            "--xla_insights_catalog",
            metavar="FILE",
            default="",
            help="A JSON file with further host event names and their classes, in addition to the built-in ones.",
        )
        group.add_argument(
            "--xla_insights_memory_mb",
            metavar="MB",
            type=int,
            default=0,
            help="Memory for sessions in MB, beyond which the least recently used one is released "
            "(default: a third of the machine's or container's).",
        )
        group.add_argument(
            "--xla_insights_scheduler",
            metavar="ADDRESS",
            default="",
            help="A Dask scheduler, such as tcp://HOST:8786, whose workers read sessions of several hosts (default: "
            "local processes).",
        )
        group.add_argument(
            "--xla_insights_capture",
            choices=("on", "off"),
            default="on",
            help="Whether the page may capture from profiler servers at addresses entered there.",
        )
        group.add_argument(
            "--xla_insights_hosts",
            metavar="NAMES",
            default="",
            help="Further host names of this TensorBoard, such as those of proxies, separated by commas; "
            ".lab.example stands for all its subdomains, * for any name.",
        )

    def fix_flags(self, flags: argparse.Namespace) -> None:
        if getattr(flags, "xla_insights_memory_mb", 0) < 0:
            raise base_plugin.FlagsError("--xla_insights_memory_mb must not be negative")
        if names := getattr(flags, "xla_insights_hosts", ""):
            from tb_xla_insights.errors import InputError
            from tb_xla_insights.plugin.allowed_hosts import parse_names

            try:
                parse_names(names)
            except InputError as error:
                raise base_plugin.FlagsError(str(error)) from error

    def load(self, context: base_plugin.TBContext) -> Any:
        from tb_xla_insights.plugin.plugin import XlaInsightsPlugin

        return XlaInsightsPlugin(context)
