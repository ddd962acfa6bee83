#!/usr/bin/env python3
"""Counts the instructions that common works take, and compares them with those in .ci/instructions.json.

Only the instructions of this project's own code count, on one thread and without the kernel, so the figures are the same on every
processor of an architecture. They depend on the compiler: another one is reported, and fails nothing.

The build matters, too: the figures are those of a release build of the tests.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

FEW, MANY = 1_000, 2_000
BASELINE = pathlib.Path(__file__).with_name("instructions.json")


def own_cost(profile, program):
    """The instructions in a profile of callgrind that belong to the program's own file, not to those of libraries."""
    names, is_own, is_call, total = {}, False, False, 0
    for line in profile.read_text().splitlines():
        if line.startswith(("ob=", "cob=")):
            # A name is given with its number where that comes first.
            key, _, value = line.partition("=")
            number, _, name = value.partition(" ")
            if name:
                names[number] = name
            if key == "ob":
                is_own = names[number] == program
        elif line.startswith("calls="):
            # The next line is the cost of what is called, which is counted where it is.
            is_call = True
        elif line.startswith(tuple("0123456789+-*")):
            if is_own and not is_call:
                total += int(line.split()[1])
            is_call = False
    return total


def stripped(program, folder):
    """A copy of a program without debugging information, of which valgrind cannot read all."""
    copy = os.path.join(os.path.realpath(folder), "instruction-count")
    subprocess.run(["strip", "-o", copy, program], check=True)
    return copy


def instructions(program, work):
    """The instructions of one time of a work: the difference between many times and few."""
    costs = []
    for times in (FEW, MANY):
        with tempfile.TemporaryDirectory() as folder:
            profile = pathlib.Path(folder) / "profile"
            subprocess.run(
                ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", program, work, str(times)],
                check=True, capture_output=True, timeout=300,
                # The order in sets and dictionaries is the same each time.
                env={**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"})
            costs.append(own_cost(profile, program))
    return round((costs[1] - costs[0]) / (MANY - FEW), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="instruction-count of a release build of the tests")
    parser.add_argument("--tolerance", type=float, default=2, help="how many more fail, in percent (default: 2)")
    parser.add_argument("--write", action="store_true", help="keep the figures as those to compare with")
    arguments = parser.parse_args()
    tolerance = arguments.tolerance / 100
    if not shutil.which("valgrind"):
        print("there is no valgrind: instructions are not counted", file=sys.stderr)
        return 0
    compiler = subprocess.run(["swiftc", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
    builder = f"{platform.machine()}, {compiler}"
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        program = stripped(arguments.program, folder)
        works = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
        found = dict(zip(works, pool.map(lambda work: instructions(program, work), works)))
    if arguments.write:
        BASELINE.write_text(json.dumps({"builder": builder, "instructions": found}, indent=4) + "\n")
    known = json.loads(BASELINE.read_text())
    is_same = known["builder"] == builder
    failures = []
    for work, count in found.items():
        before = known["instructions"].get(work)
        change = count / before - 1 if before else 0
        print(f"{work:20} {count:>10,.0f} {change:+8.1%}")
        if is_same and (before is None or change > tolerance):
            failures.append(work)
        elif is_same and change < -tolerance:
            print(f"  fewer than before: keep it with `python3 .ci/instructions.py {arguments.program} --write`")
    if not is_same:
        print(f"the figures to compare with are of another compiler: {known['builder']}; this is {builder}")
    if failures:
        print(f"more than {tolerance:.0%} above .ci/instructions.json: {', '.join(failures)}", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
