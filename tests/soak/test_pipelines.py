"""Random conversations in a pipeline of Pipecat, by the measures of those on `TurnSession`."""

import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    on_pipecat = pytest.importorskip("differential.on_pipecat", reason="Pipecat is not installed")


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_random_conversation_on_pipecat_breaks_no_hard_measure(seed: int) -> None:
    """Every other one in another order."""
    script = on_pipecat.draw_for_pipecat(seed, seed * (seed % 2))
    played = on_pipecat.play(script)
    assert played.said, "nothing was asked of the model"
    assert on_pipecat.findings(played) == ()


@pytest.mark.exhaustive
def test_sixty_more_are_right_with_a_governor_and_not_without() -> None:
    alone, governed = [], []
    for seed in range(7, 67):
        script = on_pipecat.draw_for_pipecat(seed, seed * (seed % 2))
        found = on_pipecat.findings(on_pipecat.play(script))
        governed += [f"{script.name}: {finding}" for finding in found]
        alone += on_pipecat.findings(on_pipecat.play(script, governed=False))
    assert not governed, "\n".join(governed)
    assert alone, "the same measures find nothing in Pipecat, which is wrong in a quarter of them"
