"""The model smart-turn: does the audio of a user end where their turn ends?"""

from __future__ import annotations

import functools
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["RATE", "SECONDS", "SmartTurnModel", "load_smart_turn"]

RATE = 16_000
SECONDS = 8
"""What the model hears: the last seconds before the end."""

_WINDOW, _STEP, _BANDS = 400, 160, 80
_LINEAR_HZ, _LINEAR_MEL, _LOG_STEP = 1000.0, 15.0, np.log(6.4) / 27
_INSTALL = "pip install 'turnfsm[smart-turn]'"
_FIND = (
    "install pipecat-ai, whose wheel has it; or give the path of that wheel, which need not be "
    "installed: pip download --no-deps pipecat-ai, SmartTurn(file='pipecat_ai-VERSION.whl')"
)


class SmartTurnModel:
    """The model.

    Args:
        session: The session of onnxruntime that has loaded it.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def ended(self, pcm: bytes) -> float:
        """The probability that the turn is over.

        Args:
            pcm: What the user has said: samples of 16 bit, `RATE` a second, one channel.
        """
        (probability,) = self._session.run(None, {"input_features": _features(pcm)[None]})
        return float(probability.flat[0])


@functools.cache
def load_smart_turn(file: str | Path | None) -> SmartTurnModel:
    """Load the model. All sessions of a process share it.

    Args:
        file: The `.onnx` file, or a wheel of pipecat-ai; None: that of the installed pipecat-ai.

    Raises:
        ModuleNotFoundError: onnxruntime is not installed.
        FileNotFoundError: There is no such file, or it does not contain the model.
    """
    try:
        import onnxruntime as ort
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"SmartTurn needs onnxruntime: {_INSTALL}", name=error.name
        ) from error
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return SmartTurnModel(ort.InferenceSession(_read(Path(file) if file else None), options))


def _read(file: Path | None) -> bytes:
    if file is None:
        pipecat = find_spec("pipecat")  # not imported
        folders = pipecat.submodule_search_locations if pipecat is not None else None
        found = [
            model
            for folder in folders or ()
            for model in Path(folder, "audio/turn/smart_turn/data").glob("smart-turn-*.onnx")
        ]
        if not found:
            raise FileNotFoundError(f"the model smart-turn is not there: {_FIND}")
        return max(found).read_bytes()
    if not file.is_file():
        raise FileNotFoundError(f"{file} is not there: {_FIND}")
    if file.suffix != ".whl":
        return file.read_bytes()
    with zipfile.ZipFile(file) as wheel:
        models = [name for name in wheel.namelist() if "/smart-turn-" in name]
        if not models:
            raise FileNotFoundError(f"{file} does not have the model smart-turn: {_FIND}")
        return wheel.read(max(models))


def _features(pcm: bytes) -> Any:
    """The logarithmic mel spectrogram, as Whisper computes it."""
    heard = np.frombuffer(pcm, np.int16)[-RATE * SECONDS :].astype(np.float32) / 32768
    audio = np.pad(heard, (RATE * SECONDS - len(heard), 0))
    audio = (audio - audio.mean()) / np.sqrt(audio.var() + 1e-7)
    padded = np.pad(audio.astype(np.float64), _WINDOW // 2, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[:-1:_STEP]
    power = abs(np.fft.rfft(windows * np.hanning(_WINDOW + 1)[:-1])) ** 2
    bands = np.log10(np.maximum(_filters() @ power.T, 1e-10))
    return ((np.maximum(bands, bands.max() - 8) + 4) / 4).astype(np.float32)


@functools.cache
def _filters() -> Any:
    """The weight of each frequency in each mel band, as Slaney defines them."""
    top = _LINEAR_MEL + np.log(RATE / 2 / _LINEAR_HZ) / _LOG_STEP
    mels = np.linspace(0, top, _BANDS + 2)
    edges = np.where(
        mels < _LINEAR_MEL,
        mels * _LINEAR_HZ / _LINEAR_MEL,
        _LINEAR_HZ * np.exp(_LOG_STEP * (mels - _LINEAR_MEL)),
    )
    low, mid, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    at = np.linspace(0, RATE / 2, _WINDOW // 2 + 1)
    triangles = np.minimum((at - low) / (mid - low), (high - at) / (high - mid))
    return np.maximum(triangles, 0) * 2 / (high - low)
