"""`python -m tb_xla_insights`, the command `xla-insights` where its script is not on the PATH."""

from tb_xla_insights.cli.start import command

command()
