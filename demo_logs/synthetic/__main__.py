"""Writes every synthetic session into the logdir around this package: `python -m synthetic`, from `demo_logs`."""

from pathlib import Path

from synthetic import case_study

LOGDIR = Path(__file__).resolve().parents[1]


def main() -> None:
    written = case_study.build().write(LOGDIR / case_study.path())
    print(f"{written.relative_to(LOGDIR)}: {written.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
