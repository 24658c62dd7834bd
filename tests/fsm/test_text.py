"""What no readable corpus can hold: odd bytes, sizes, line ends, and files that are none."""

import os
import time
from pathlib import Path

import pytest
import yaml

import turnfsm.fsm.load.yaml12
from turnfsm.fsm import FlowError, load_flow, parse_flow
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.load.yaml12 import MAX_BYTES, MAX_DEPTH, MAX_NODES

GOOD = "flow: x\ninitial: a\nstates: {a: {}}\n"


def said(text: str) -> list[str]:
    """Place and code of each finding."""
    return [f"{f.line}:{f.column} {f.code}" for f in parse_flow(text)[1]]


def refusal(path: Path) -> Finding:
    """The one finding that a file is refused with."""
    with pytest.raises(FlowError) as caught:
        load_flow(path)
    (finding,) = caught.value.findings
    assert str(caught.value) == finding.render()
    return finding


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x85", "\u2028"])
def test_line_ends_count_as_in_yaml(end: str) -> None:
    """Lines are counted as YAML counts them, whatever ends them."""
    text = GOOD.replace("a: {}", "a: {finl: true}").replace("\n", end)
    (finding,) = parse_flow(text)[1]
    assert (finding.line, finding.column) == (3, 14)
    assert finding.text == "states: {a: {finl: true}}"


def test_a_byte_order_mark_is_no_character(tmp_path: Path) -> None:
    """A file that begins with a byte order mark is read as if it did not."""
    assert said("\ufeff" + GOOD) == []
    file = tmp_path / "flow.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("initial: a", "initial: b").encode())
    assert (refusal(file).line, refusal(file).column) == (2, 10)


@pytest.mark.parametrize("character", ["\0", "\x07", "\x1b", "\x7f", "\ufeff", "\ufffe", "\ud800"])
def test_characters_that_yaml_does_not_allow_are_named(character: str) -> None:
    """A control character, a lone surrogate, a mark in the middle: named, at its place."""
    (finding,) = parse_flow(GOOD.replace("initial: a", f"initial: a{character}"))[1]
    assert (finding.line, finding.column, finding.code) == (2, 11, "character")
    assert f"U+{ord(character):04X}" in finding.message
    assert character not in finding.render()


def test_escape_sequences_do_not_reach_the_terminal() -> None:
    """What a file says is shown, not obeyed."""
    findings = parse_flow(GOOD.replace("{}", '{"\\e[2J": 1}'))[1]
    assert findings[0].code == "unknown-key"
    assert "\x1b" not in findings[0].render()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_in_another_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    """A file that is not UTF-8 is refused at its first wrong byte."""
    file = tmp_path / "flow.yaml"
    file.write_bytes("flow: x\nis: \xe9\n".encode(encoding))
    finding = refusal(file)
    assert finding.code == "encoding"
    assert (finding.line, finding.column) == ((2, 5) if encoding == "latin-1" else (1, 1))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A path that leads nowhere is named with the system's reason."""
    finding = refusal(tmp_path / "gone.yaml")
    assert (finding.code, finding.message) == ("unreadable", "no such file or directory")
    assert finding.render() == (
        f"{tmp_path}/gone.yaml: error: no such file or directory\n  name a readable file"
    )


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("clrk.yaml", "did you mean 'clerk.yaml'?"),
        ("push_to_talk.yaml", "the flow that comes with turnfsm is called 'push_to_talk'"),
        ("flows/clerk.yaml", "there is no folder"),
    ],
)
def test_a_missing_file_has_a_remedy(tmp_path: Path, name: str, remedy: str) -> None:
    """The file, the flow or the folder that was meant; never a line of a file that is not there."""
    (tmp_path / "clerk.yaml").touch()
    finding = refusal(tmp_path / name)
    assert finding.remedy.startswith(remedy)
    assert (finding.line, finding.place) == (0, str(tmp_path / name))


def test_a_folder_is_refused(tmp_path: Path) -> None:
    """A folder is no flow, whatever it is called."""
    (tmp_path / "a.yaml").mkdir()
    assert refusal(tmp_path / "a.yaml").message == "it is a folder"
    assert refusal(tmp_path).message == "it is a folder"


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    """A pipe is refused at once, not waited for."""
    os.mkfifo(tmp_path / "pipe.yaml")
    assert refusal(tmp_path / "pipe.yaml").message == "it is no regular file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    """A file that may not be read is named with the system's reason."""
    file = tmp_path / "flow.yaml"
    file.touch(mode=0)
    assert refusal(file).message == "permission denied"


@pytest.mark.parametrize("name", ["trun", "a\0b", "a\0.yaml", "x" * 5000, ""])
def test_unknown_flow_names_are_refused(name: str) -> None:
    """A name that is neither shipped nor a file is refused, however odd it is."""
    with pytest.raises(FlowError):
        load_flow(name)


def test_a_misspelt_shipped_name_gets_a_suggestion() -> None:
    """The shipped flow that was meant is named."""
    with pytest.raises(FlowError, match="no flow 'trun'; did you mean 'turn'\\?"):
        load_flow("trun")


def test_a_file_above_the_limit_is_refused(tmp_path: Path) -> None:
    """A file above the limit is refused, from text and from disk, before it is parsed."""
    text = GOOD + "# " + "x" * MAX_BYTES
    assert said(text) == ["1:1 too-large"]
    file = tmp_path / "flow.yaml"
    file.write_text(text)
    assert refusal(file).code == "too-large"
    assert said(GOOD + "# " + "\u6f22" * (MAX_BYTES // 3)) == ["1:1 too-large"]


def test_a_file_at_the_limit_is_read() -> None:
    """A text of exactly the allowed size is read."""
    assert said(GOOD + "#" * (MAX_BYTES - len(GOOD))) == []


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused(opening: str) -> None:
    """Nesting far beyond the limit is refused without a recursion of our own."""
    started = time.perf_counter()
    (finding,) = parse_flow(opening * 50_000)[1]
    assert finding.code in {"too-large", "syntax"}
    assert time.perf_counter() - started < 2


def test_values_up_to_the_depth_limit_are_read() -> None:
    """As deep as allowed is read as a value; one level more is refused."""
    assert said("[" * MAX_DEPTH + "]" * MAX_DEPTH) == ["1:1 type"]
    deep = MAX_DEPTH + 2
    assert said("[" * deep + "]" * deep) == [f"1:{MAX_DEPTH + 2} too-large"]


@pytest.mark.parametrize("width", [2, 9])
def test_an_alias_bomb_is_refused(width: int) -> None:
    """Lines that would unfold to billions of values are refused at once."""
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, 40)]
    started = time.perf_counter()
    (finding,) = parse_flow("\n".join(lines))[1]
    assert finding.code == "too-large"
    assert time.perf_counter() - started < 2


def test_too_many_values_are_refused() -> None:
    """More values than a flow may have are refused while they are read."""
    assert said("[" + "a," * MAX_NODES + "]")[0].endswith(" too-large")


def test_at_most_a_hundred_findings_are_shown() -> None:
    """The first hundred mistakes are shown, and that there are more; quickly."""
    states = "".join(f"  s{i}: {{on: {{trigger{i}: {{dest: t{i}}}}}}}\n" for i in range(2000))
    started = time.process_time()
    findings = parse_flow(f"flow: x\ninitial: s0\nstates:\n{states}")[1]
    assert time.process_time() - started < 5
    assert len(findings) == 101
    assert findings[-1].code == "too-many"


def test_many_known_names_are_not_compared() -> None:
    """Guessing what was meant does not take minutes in a file with thousands of names."""
    triggers = "".join(f"  a_trigger_with_a_long_name_{i}: {{}}\n" for i in range(1000))
    wrong = ", ".join(f"a_triger_with_a_long_name_{i}" for i in range(1000))
    text = f"flow: x\ninitial: a\nrequests:\n{triggers}states: {{a: {{refuses: [{wrong}]}}}}\n"
    started = time.process_time()
    assert len(parse_flow(text)[1]) == 101
    assert time.process_time() - started < 5


def test_aliases_are_values() -> None:
    """An anchor names a value, which stands wherever its alias does."""
    text = "flow: x\ninitial: a\nevents: {go}\nstates: {a: &s {on: {go: {dest: b}}}, b: *s}\n"
    flow, findings = parse_flow(text)
    assert findings == []
    assert flow is not None
    assert flow.states["a"] == flow.states["b"]


def test_a_wrong_alias_is_marked_where_it_is_used() -> None:
    """A value that is right at its anchor and wrong at its alias is wrong at the alias."""
    assert said("flow: &n x\ninitial: a\nstates: {a: {final: *n}}\n") == ["3:21 type"]


@pytest.mark.parametrize("word", ["on", "yes", "no", "off", "y", "1:30", "0777", "2026-11-21", "="])
def test_yaml_1_1_words_are_text(word: str) -> None:
    """They are text, or an ordinary number, as in YAML 1.2."""
    flow, findings = parse_flow(GOOD + f"is: {word}\n")
    if word == "0777":
        assert [f.message for f in findings] == ["expected text, got the number 777"]
    else:
        assert flow is not None
        assert flow.is_ == word


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2", 2.0),
        ("0x10", 16.0),
        ("0o17", 15.0),
        ("1e1", 10.0),
        (".5", 0.5),
        ("2.", 2.0),
        ("+3", 3),
    ],
)
def test_numbers_of_the_core_schema_are_read(written: str, seconds: float) -> None:
    """Every way to write a number in YAML 1.2."""
    text = f"flow: x\ninitial: a\ntimers: {{t: {written}}}\nstates: {{a: {{after: {{t: {{}}}}}}}}\n"
    flow, findings = parse_flow(text)
    assert findings == []
    assert flow is not None
    assert flow.timers == {"t": seconds}


def test_the_shipped_turn_loads_quickly() -> None:
    """Reading, checking and building the shipped flow takes less than 60 ms."""
    seconds = []
    for _ in range(7):
        started = time.perf_counter()
        load_flow("turn")
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 0.060


def test_places_and_remedies_are_the_same_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML's own parser, for a build without libyaml, gives the same places and remedies."""
    texts = [GOOD, "a: {b: c", "a: 'x", "a:\n\tb: c", "a: b: c", "a: [b}", "a: @b", "a\nb"]
    libyaml = [[(f.place, f.message, f.remedy) for f in parse_flow(t)[1]] for t in texts]
    monkeypatch.setattr(turnfsm.fsm.load.yaml12, "_LOADER", yaml.SafeLoader)
    assert [[(f.place, f.message, f.remedy) for f in parse_flow(t)[1]] for t in texts] == libyaml
