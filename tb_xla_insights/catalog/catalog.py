"""Looks up the class and the tags of an event by its name.

The table is data (`host_events.json`): groups of names, prefixes and suffixes that share a class, tags and a note.
Users can add a file of the same format, whose entries replace or extend the table's.

    {"optional_prefixes": ["MyClient::"],
     "groups": [{"source": "our trainer", "class": "input", "tags": ["loader"], "note": "reads shards",
                 "names": ["ReadShard"], "prefixes": ["shard::"], "suffixes": ["::ReadShard"]}]}

`source` (what records these events) and `note` are comments.

A name `$func` matches the Python tracer's frames of that function in any file, `$file.py func` those in that file,
`$<built-in> func` those of a function that is not written in Python (`$time sleep`). `files` gives its tags to all
frames in files of these names, and its class to those without an entry: the tracer records a file without its folders.
Frames of functions with a loader's name (`next_batch`, `examples_from_disk`, `batches`) count as loading, except in
files of the table. A compiler pass, a part of a compilation or an execute call with its module appended, as in
`dce (jit_f)`, is looked up without the module.
A name `[core] call` matches every core's part of an execute call: `[0] call`, `[1] call` and so on, also with the
module appended. Any other member of a C++ class or namespace of the table (`TpuClient::…`) is known, without class and
tags: no user names an annotation like that.

Tags are properties of events in addition to their class:
- synchronisations: `step_marker`, `sync` (PyTorch/XLA prepares the graph of its lazy tensors and hands it over to run),
  `schedule` (the handing over within a `sync`), `read` (fetches a value from the device), `graph_order` (sorts a
  graph's nodes; outside of synchronisations, PyTorch/XLA's bridge for torch.compile does so to get the graph's hash)
- executions: `launch` (an execute call), `scheduled` (one core's part of an execute call), `run_start` (prepares and
  starts one core's run), `enqueue` (puts the program into the device's queue), `gpu_run` (puts the program's kernels
  into a GPU's streams), `jitted_call` (a call of a compiled function; if no execute call is recorded, it shows which
  runs belong to one launch), `dynamo` and `dynamo_part` (an execution that torch.compile launches, and its parts),
  `dispatch_then_wait` and `ends_dispatch` (when an event of the second kind ends, the one of the first kind around it
  only waits)
- waits: `blocks` (waits for an asynchronous result)
- compilations: `compile_call` (one requested compilation), `compile_part` (a phase of one, on any thread)
- loading: `loader` (an event of a data loader), `mp_device_loader` and `tf_data` (an event of that loader),
  `loading_frame` (a Python frame with a loader's name; not in the table)
- Python: `python_tracer` (a frame of the Python tracer), `profiler` (a frame of the profiler itself), `library` (a
  frame in a file of a framework or a package; those of the standard library have it without an entry), `framework` (a
  library whose functions call its own), `decorator` (a library's frame around that of the function that it wraps),
  `blocking_call` (a function that waits, not for the device), `queue` (takes something out of a queue)
- TensorFlow: `function_run` (has the stat `_r` that marks the root event of a step, but is not a step)
- without a class: `pass` (a compiler pass, part of the compilation around it), `plumbing` (no work of the host),
  `device_work` (a device at work on a host thread)
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tb_xla_insights.catalog.classes import CLASS_INDEX, CLASSES
from tb_xla_insights.catalog.frames import Frame, parse_frame
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.texts import TextError, parse_json, read_text

__all__ = ["CLASSES", "Catalog", "load_catalog", "without_encoded_stats"]

_ENCODED_STATS = re.compile(r"#[^#=]*=[^#]*#$")
"""Stats that TSL's TraceMe appends to a name: `#step_num=3#`."""
_WITH_MODULE = re.compile(r"(.+) \([\w.-]+\)")
_SCOPE = "::"
_CORE_INDEX = re.compile(r"^\[\d+\] ")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_INPUT_WORD = re.compile(
    r"(data|load|batch|input|fetch|prefetch)(s|es|ing|ed|er|ers)?|(data|batch|input)(set|sets|load|loader|loaders|loading|"
    r"iter|fetch|fetching|pipeline|queue)|(mini|micro)batch(es)?|(pre)?fetch(ing)?data|load(ing)?data"
)
_COMPUTING_WORD = re.compile(
    r"\w*norm|embed(ding|dings)?|run|forward|backward|eval(uate|uation)?|infer(ence)?|predict(ion)?|prefill|"
    r"generat(e|ion)|compute|execute|prepare|parallel|matmul|loss|grad(ient)?s?|update"
)
"""Words of model parts and of what is done with data that is there already, whose names may also contain a word about
loading: batch_norm, input_embedding, forward_batch, prepare_inputs."""

_TAGS_WITH_AFFIXES = {"pass", "compile_part", "launch", "scheduled"}
"""Tags of events that may have their module appended, or a core's number in front."""

_LOADED = r"((micro|mini|next|train|training)_*)*(batch(es)?|data|examples?|records|samples)"
_LOADING_FUNCTION = re.compile(
    rf"_*(get|next|load|fetch|read|make|sample|iter|iterate)_+{_LOADED}|_*{_LOADED}_from_\w+"
    r"|_*((micro|mini|train|training)_*)?batch(es)?|_*(examples|samples)"
    r"|_*prefetch(_\w+)?|_*(batch|data|train)_*(loader|iterator|iter|generator)"
)
"""Matches the whole name of a Python function, since library functions may contain single words about loading. `data`
alone is the name of many properties."""

_LISTS = ("names", "prefixes", "suffixes", "files")


@dataclass(frozen=True)
class _Entry:
    """The class (-1: none) and the tags of one name, prefix, suffix or file."""

    class_index: int
    tags: frozenset[str]


_UNKNOWN = _Entry(-1, frozenset())
_OF_KNOWN_SCOPE = _Entry(-1, frozenset())
_LOADING_FRAME = _Entry(CLASS_INDEX["input"], frozenset(("python_tracer", "loading_frame")))
_STANDARD_LIBRARY_FRAME = _Entry(CLASS_INDEX["python"], frozenset(("python_tracer", "library")))


@dataclass
class Catalog:
    """Classes and tags by event name. Create it with `load_catalog`."""

    _names: dict[str, _Entry] = field(default_factory=dict)
    _prefixes: dict[str, _Entry] = field(default_factory=dict)
    _suffixes: dict[str, _Entry] = field(default_factory=dict)
    _files: dict[str, _Entry] = field(default_factory=dict)
    _optional_prefixes: tuple[str, ...] = ()
    _all_prefixes: tuple[str, ...] = ()
    _all_suffixes: tuple[str, ...] = ()
    _prefix_lengths: Sequence[int] = ()
    _suffix_lengths: Sequence[int] = ()
    _scopes: set[str] = field(default_factory=set)
    _cache: dict[str, _Entry] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        # Another process would not recognize _UNKNOWN in the cache: `knows` compares by identity.
        return self.__dict__ | {"_cache": {}}

    def class_index(self, name: str) -> int:
        """The index into CLASSES of events with this name, -1 if they have no class."""
        return self._entry(name).class_index

    def tags(self, name: str) -> frozenset[str]:
        """The tags of events with this name."""
        return self._entry(name).tags

    def knows(self, name: str) -> bool:
        """Whether the name is known; a known name is not an annotation."""
        return self._entry(name) is not _UNKNOWN

    def describes_loading(self, name: str) -> bool:
        """Whether the name of a user's annotation has a word about loading data, and none of _COMPUTING_WORD."""
        words = [word.lower() for word in _WORD.findall(without_encoded_stats(name))]
        if any(map(_COMPUTING_WORD.fullmatch, words)):
            return False
        return any(map(_INPUT_WORD.fullmatch, words))

    def _entry(self, name: str) -> _Entry:
        entry = self._cache.get(name)
        if entry is None:
            entry = self._cache[name] = self._find(name)
        return entry

    def _find(self, name: str) -> _Entry:
        name = without_encoded_stats(name)
        if (frame := parse_frame(name)) and (entry_of_frame := self._find_frame(frame)):
            return entry_of_frame
        entry = self._match(name)
        for prefix in self._optional_prefixes:
            if entry is _UNKNOWN and name.startswith(prefix):
                entry = self._match(name[len(prefix) :])
        module_match = _WITH_MODULE.fullmatch(name)
        call = _CORE_INDEX.sub("[core] ", module_match[1] if module_match else name)
        if call != name and name not in self._names:
            entry_of_call = self._match(call)
            entry = entry_of_call if entry_of_call.tags & _TAGS_WITH_AFFIXES else entry
        return _OF_KNOWN_SCOPE if entry is _UNKNOWN and self._has_known_scope(name) else entry

    def _has_known_scope(self, name: str) -> bool:
        """Whether the name is that of another member of a C++ class or namespace of the table."""
        return _SCOPE in name and any(
            name.startswith(prefix) and name[len(prefix) :].partition(_SCOPE)[0] in self._scopes
            for prefix in ("", *self._optional_prefixes)
        )

    def _find_frame(self, frame: Frame) -> _Entry | None:
        """The entry of a Python frame; None if nothing is known but that it is one."""
        file, function = frame.file or frame.module, frame.function
        of_file = self._files.get(file)
        if of_file is None and _is_of_standard_library(file):
            of_file = _STANDARD_LIBRARY_FRAME
        candidates = (f"${file} {function}", f"${function}" if frame.file else f"$<built-in> {function}")
        named = next((self._names[candidate] for candidate in candidates if candidate in self._names), None)
        if named and of_file:
            return _Entry(named.class_index, named.tags | of_file.tags)
        return named or of_file or (_LOADING_FRAME if _LOADING_FUNCTION.fullmatch(function) else None)

    def _match(self, name: str) -> _Entry:
        if name in self._names:
            return self._names[name]
        # Most names in a capture have no prefix and no suffix of the table: one call for each finds that out.
        if name.startswith(self._all_prefixes):
            return next(
                self._prefixes[prefix]
                for length in self._prefix_lengths
                if (prefix := name[:length]) in self._prefixes
            )
        if name.endswith(self._all_suffixes):
            return next(
                self._suffixes[suffix]
                for length in self._suffix_lengths
                if (suffix := name[-length:]) in self._suffixes
            )
        return _UNKNOWN

    def _add(self, table: Mapping[str, Any]) -> None:
        for group in table["groups"]:
            class_index = CLASS_INDEX[group["class"]] if "class" in group else -1
            entry = _Entry(class_index, frozenset(group.get("tags", ())))
            for entries, key in (
                (self._names, "names"),
                (self._prefixes, "prefixes"),
                (self._suffixes, "suffixes"),
                (self._files, "files"),
            ):
                entries.update(dict.fromkeys(group.get(key, ()), entry))
            members = (*group.get("names", ()), *group.get("prefixes", ()))
            self._scopes.update(name.partition(_SCOPE)[0] for name in members if _SCOPE in name)
        self._all_prefixes, self._all_suffixes = tuple(self._prefixes), tuple(self._suffixes)
        self._prefix_lengths, self._suffix_lengths = (
            sorted(set(map(len, texts)), reverse=True) for texts in (self._all_prefixes, self._all_suffixes)
        )
        self._optional_prefixes = tuple(
            dict.fromkeys([*self._optional_prefixes, *table.get("optional_prefixes", ())])
        )


def _is_of_standard_library(file: str) -> bool:
    return file.removesuffix(".py") in sys.stdlib_module_names or file.startswith("<frozen ")


def without_encoded_stats(name: str) -> str:
    """The name without the stats that TraceMe appended to it: `StepMarker` for `StepMarker#step=3#`. Any other `#` is
    part of the name."""
    return _ENCODED_STATS.sub("", name)


def load_catalog(extra: str | None = None) -> Catalog:
    """Loads the table of known host events, with the user's file `extra` on top.

    An entry of `extra` replaces the table's entry for the same name, prefix or suffix; longer prefixes take precedence
    over shorter ones, whichever file they come from. Raises InputError with the file and the position in it.
    """
    catalog = Catalog()
    table = json.loads(Path(__file__).with_name("host_events.json").read_text("utf-8"))
    catalog._add(table)
    if extra is not None:
        catalog._add(_read(extra, _tags_in(table)))
    return catalog


def _tags_in(table: Mapping[str, Any]) -> list[str]:
    return sorted({tag for group in table["groups"] for tag in group.get("tags", ())})


def _read(path: str, known_tags: Sequence[str]) -> Mapping[str, Any]:
    try:
        table = parse_json(read_text(path))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); give a JSON file of event groups"
        ) from None
    except TextError as error:
        raise InputError(f"{path}{error.at}: {error}; give a JSON file of event groups") from None
    problem = _problem(table, known_tags)
    if problem:
        raise InputError(f"{path}, {problem}")
    return table  # type: ignore[no-any-return]


def _problem(table: Any, known_tags: Sequence[str]) -> str | None:
    """The first problem of a user's table with its position, None if it is valid."""
    if not isinstance(table, dict) or not isinstance(table.get("groups"), list):
        return 'top level: an object with a list "groups" is expected'
    if not _is_list_of_strings(table.get("optional_prefixes", [])):
        return "optional_prefixes: a list of non-empty strings is expected"
    for number, group in enumerate(table["groups"]):
        path = f"groups[{number}]"
        if not isinstance(group, dict):
            return f"{path}: an object is expected"
        if "class" in group and group["class"] not in CLASSES[:-1]:
            return (
                f"{path}.class: {group['class']!r:.60} is not a class; use one of {', '.join(CLASSES[:-1])}"
            )
        if "class" not in group and not group.get("tags"):
            return f'{path}: a "class" or "tags" is expected'
        for key in (*_LISTS, "tags"):
            if not _is_list_of_strings(group.get(key, [])):
                return f"{path}.{key}: a list of non-empty strings is expected"
        for tag in group.get("tags", ()):
            if tag not in known_tags:
                return f"{path}.tags: {tag!r:.60} is not a tag; use some of {', '.join(known_tags)}"
        if not any(group.get(key) for key in _LISTS):
            return f'{path}: at least one of "names", "prefixes", "suffixes" and "files" is expected'
    return None


def _is_list_of_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)
