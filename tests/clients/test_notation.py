"""The tests' own reader and writer of moves agree with each other on every move of the vectors."""

import notation
import pytest
import vectors


@pytest.mark.parametrize("game", vectors.GAMES)
def test_every_move_of_the_vectors_survives_the_way_to_a_message_and_back(game):
    texts = {move for line in vectors.games(game) for move, _ in line["plies"]}
    texts |= {move for line in vectors.positions(game) for move in line["legal"]}
    assert len(texts) >= 6
    for text in texts:
        assert notation.text_of(notation.message(text)) == text


@pytest.mark.parametrize("text", ["", "x", "1x", "offer", "offer 1,2", "4+5>", "passes", "-1"])
def test_what_is_no_move_is_refused(text):
    with pytest.raises(ValueError):
        notation.message(text)
