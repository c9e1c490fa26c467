"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.text import units
from tb_xla_insights.text.units import (
    byte_size,
    change_text,
    count,
    parse_time,
    range_text,
    rounded_parts,
    share,
    shares,
    step_name,
    time_text,
    utc_text,
)


def plain(text: str) -> str:
    return text.replace(units.NARROW_SPACE, " ")


@pytest.mark.parametrize(
    ("ps", "text"),
    [
        (72_143_000_000, "72.143 ms"),
        (4_118_000, "4.118 µs"),
        (0, "0.000 ns"),
        (1, "0.001 ns"),
        (99_999, "99.999 ns"),
        (100_000, "0.100 µs"),
        (99_999_999, "100.000 µs"),
        (100_000_000, "0.100 ms"),
        (9_999_000_000_000, "9 999.000 ms"),
        (10_000_000_000_000, "10.000 s"),
        (1_840_000_000_000_000, "1 840.000 s"),
        (-58_200_000_000, "−58.200 ms"),
        (None, "–"),
    ],
)
def test_a_time_has_the_fitting_unit(ps: int | None, text: str) -> None:
    assert plain(time_text(ps)) == text


def test_a_headline_has_fewer_decimals() -> None:
    assert plain(time_text(242_649_000_000, 1)) == "242.6 ms"
    assert plain(time_text(242_649_000_000, 0)) == "243 ms"


@pytest.mark.parametrize(
    ("start_ps", "end_ps", "text"),
    [
        (715_080_172_721, 787_223_000_000, "715.080 – 787.223 ms"),
        (-50_000_000_000, 1_500_000_000_000, "−50.000 – 1 500.000 ms"),
        (100_000_000_000, 100_010_000_000, "100.000 – 100.010 ms"),
        (100_000_000_000, 100_009_999_999, "100.000000 – 100.010000 ms"),
        (100_000_000_000, 100_000_000_001, "100.000000000 – 100.000000001 ms"),
    ],
)
def test_the_ends_of_a_range_differ(start_ps: int, end_ps: int, text: str) -> None:
    assert plain(range_text(start_ps, end_ps)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.622, "62.2 %"),
        (0.0, "0.0 %"),
        (0.0004, "< 0.1 %"),
        (0.9999, "99.9 %"),
        (1.0, "100.0 %"),
        (None, "–"),
    ],
)
def test_a_share_is_rounded_to_100_percent_only_if_exact(value: float | None, text: str) -> None:
    assert plain(share(value)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (318_449_000, "318.4 MB"),
        (7 * 10**15, "7 000.0 TB"),
    ],
)
def test_bytes_count_in_powers_of_a_thousand(value: int, text: str) -> None:
    assert plain(byte_size(value)) == text


def test_counts() -> None:
    assert plain(count(11520)) == "11 520"
    assert count(999) == "999"
    assert (count(None), byte_size(None)) == ("–", "–")


def test_numbers_and_units_never_part_at_a_line_end() -> None:
    assert " " not in time_text(1_840_000_000_000_000) + share(0.0004) + byte_size(10**9) + count(10**6)


def test_unknown_instants_and_steps_are_a_dash() -> None:
    assert utc_text(1_644_437_497_999_999_999) == "2022-02-09 20:11:37"
    assert utc_text(0) == "–"
    assert [step_name(7, 0), step_name(7, None), step_name(None, None)] == ["0", "7", "–"]


def test_shares_of_parts_add_up() -> None:
    assert [plain(text) for text in shares([1, 1, 1], 3)] == ["33.4 %", "33.3 %", "33.3 %"]
    assert [plain(text) for text in shares([0, 1, 9_999], 10_000)] == ["0.0 %", "< 0.1 %", "100.0 %"]


@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=12), st.sampled_from([10**6, 10**8]))
def test_rounded_parts_add_up_to_the_rounded_whole(parts: list[int], step: int) -> None:
    total = sum(parts)
    rounded = rounded_parts(parts, total, step)
    assert sum(rounded) == (2 * total + step) // (2 * step) * step
    assert all(abs(rounded_part - part) < step for rounded_part, part in zip(rounded, parts, strict=True))


@given(st.integers(0, 10**17))
def test_milliseconds_are_read_back_exactly(ps: int) -> None:
    assert parse_time(f"{ps // 10**9}.{ps % 10**9:09d}") == ps


@pytest.mark.parametrize("text", ["", ".", "1e3", "ten", "1 000", "nan"])
def test_invalid_milliseconds_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="milliseconds"):
        parse_time(text)


def test_times_of_a_sentence_have_three_digits_and_one_unit() -> None:
    texts = [plain(units.brief_time(ps)) for ps in (318_407_000_000, 27_404_000_000, 1_789_398_000_000)]
    assert texts == ["318 ms", "27.4 ms", "1.79 s"]
    times = units.brief_times(34_003_000, 561_000_000)
    assert [plain(text) for text in times] == ["0.034 ms", "0.561 ms"]


def test_numbers_of_samples_keep_all_their_digits() -> None:
    texts = [units.samples(value).replace(units.NARROW_SPACE, " ") for value in (1, 0.5, 128, 1_234_567.5)]
    assert texts == ["1 sample", "0.5 samples", "128 samples", "1 234 567.5 samples"]


@pytest.mark.parametrize(
    ("times_ps", "text"),
    [
        ((290_800_000_000, 169_300_000_000), "290.8 → 169.3 ms"),
        ((1_000_000_000, 0), "1.0 → 0.0 ms"),
        ((500_000_000_000, 40_000_000), "500.00 → 0.04 ms"),
        ((75_000_875_000_000, 500_000_000), "75.0 s → 0.5 ms"),
    ],
)
def test_a_change_never_reads_as_a_change_to_zero(times_ps: tuple[int, int], text: str) -> None:
    assert plain(change_text(*times_ps)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.0 %"), (0.0123, "1.2 %"), (0.0996, "10 %"), (0.604, "60 %"), (0.996, "over 99 %"), (1, "100 %")],
)
def test_a_share_read_in_passing_is_rounded_but_never_to_all(value: float, text: str) -> None:
    assert plain(units.rounded_share(value)) == text


def test_a_cut_table_says_how_many_rows_it_shows() -> None:
    assert [units.cut_note(12, rows) for rows in (12, 13)] == ["", "the first 12 of 13"]
