#!/usr/bin/env python3
"""Random play of Ayoayo by this engine beside that of Kalah by OpenSpiel's C++, in one run.

    python3 -m venv target/openspiel && target/openspiel/bin/pip install open_spiel==2.0.2
    cargo bench --no-default-features --features random --bench playouts --no-run
    target/openspiel/bin/python benches/openspiel.py

OpenSpiel keeps the loop in C++ when its MCTSBot evaluates by its RandomRolloutEvaluator: the few simulations here are nothing beside
their rollouts. It does not say how many plies those had; their mean length is taken from games that are played from Python. The two
programs take turns, and each is given its best one.
"""

import json
import random
import subprocess
import time

import pyspiel

TURNS = 7
SIMULATIONS = 4
ROLLOUTS = 10_000
GAMES_TO_COUNT = 4_000


def mean_plies(game, seed):
    """Mean length of a random game."""
    dice = random.Random(seed)
    plies = 0
    for _ in range(GAMES_TO_COUNT):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(dice.choice(state.legal_actions()))
            plies += 1
    return plies / GAMES_TO_COUNT


def openspiel(game, length, seed):
    """Plies a second of random games in C++."""
    evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS, seed)
    bot = pyspiel.MCTSBot(game, evaluator, 2.0, SIMULATIONS, 100, False, seed, False)
    state = game.new_initial_state()
    start = time.perf_counter()
    bot.mcts_search(state)
    seconds = time.perf_counter() - start
    # The first simulation evaluates the root, each other one a child of it, one ply on.
    return ROLLOUTS * (SIMULATIONS * length - (SIMULATIONS - 1)) / seconds


def engine():
    """What the bench `playouts` says of Ayoayo. The rules need no server, and are built in seconds without one."""
    build = ["cargo", "bench", "--quiet", "--no-default-features", "--features", "random", "--bench", "playouts"]
    command = [*build, "--", "--json", "ayoayo"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["ayoayo"]


def main():
    kalah = pyspiel.load_game("mancala")
    length = mean_plies(kalah, 1)
    turns = [(openspiel(kalah, length, seed), engine()) for seed in range(TURNS)]
    theirs = max(speed for speed, _ in turns)
    ours = max(speeds["engine"] for _, speeds in turns)
    print(f"OpenSpiel, Kalah:  {theirs / 1e6:6.2f} million plies/s ({length:.1f} plies a game)")
    print(f"engine, Ayoayo:    {ours / 1e6:6.2f} million plies/s")
    print(f"ratio:             {ours / theirs:6.2f}")


if __name__ == "__main__":
    main()
