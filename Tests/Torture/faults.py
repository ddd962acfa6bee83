#!/usr/bin/env python3
"""faults.py [FOLDER] [NAME ...]: puts known faults back, one at a time, and checks that `torture` finds each.

Works on a copy of the package in FOLDER (.build/faults unless given), so nothing here changes. Each fault replaces a piece of
source text; the script ends with status 2 if the text is not there any more, and with 1 if a fault is not found within
30 seconds, or something is found without a fault. Takes about two minutes for each fault, on two processors."""
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRANSPORT = 'Sources/PortTransport/'
SHARED, ALL = 'shared', None
# The text of a fault: the transport that shows it, a file, and what replaces what.
FAULTS = {
    'the header of a piece goes before the frames that were planned before it': (
        SHARED, TRANSPORT + 'Frames/OutboundQueue+Writing.swift',
        'large.unfinished = .filled(fragment)', 'large.unfinished = .begun(fragment)'),
    'an abort passes the piece that is filled': (
        SHARED, TRANSPORT + 'Frames/OutboundQueue.swift',
        'if index == 0, let fragment = large.unfinished.fragment {',
        'if index == 0, case .begun(let fragment) = large.unfinished {'),
    'a byte of a message is not counted as consumed': (
        ALL, TRANSPORT + 'Channel/Channel+Writing.swift',
        'consumed.wrappingAdd(bytes, ordering: .relaxed)', 'consumed.wrappingAdd(bytes &- 1, ordering: .relaxed)'),
    'a byte too little of credit is given back': (
        ALL, 'Sources/DistantObjects/Connection/Connection.swift',
        'state.withLock { $0.writeLargeMessageCredit(bytes) }', 'state.withLock { $0.writeLargeMessageCredit(bytes - 1) }'),
    'a continuation is written twice': (
        ALL, TRANSPORT + 'Frames/OutboundQueue+Writing.swift',
        '        message.advance(payload)\n',
        '        if message.offset > 0 || message.number % 8 != 0 || payload == message.total { message.advance(payload) }\n'),
    'a piece of a region is given back before it is read': (
        SHARED, TRANSPORT + 'Shared/RegionReader.swift',
        '        // The writer may change the bytes meanwhile. They are read once, here.\n',
        '        words.taken.pointee.store(position &+ 1, ordering: .releasing)\n'
        '        if SharedCounters.takeRequest(words.writerWaits) { ring() }\n'
        '        for _ in 0..<50_000 { atomicMemoryFence(ordering: .sequentiallyConsistent) }\n'),
    'bytes of the ring are given back before they are read': (
        SHARED, TRANSPORT + 'Shared/RingReader.swift',
        '        var position = position\n        for index',
        '        var position = position\n'
        '        counters.taken.pointee.store(position &+ available, ordering: .releasing)\n'
        '        port_yield()\n        for index'),
    'the end of a cut frame is left out': (
        ALL, TRANSPORT + 'Frames/OutboundQueue+Writing.swift',
        '                let count = min(left, count)\n                if count > 0 { advanceFrames(count) }\n',
        '                let isCut = left < count && left > 100\n                let count = min(left, count)\n'
        '                if count > 0 { advanceFrames(isCut ? count + 1 : count) }\n'),
}


def build(folder):
    result = subprocess.run(['swift', 'build', '-c', 'release', '--product', 'torture'], cwd=folder, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f'{folder} does not build:\n{result.stdout[-2000:]}{result.stderr[-2000:]}')


def finding(folder, seconds, only=None):
    """The first line of what `torture` finds in a time, and when; None if it finds nothing."""
    start = time.monotonic()
    command = ['.build/release/torture', '--seconds', str(seconds), '--round', '2', '--stall', '15']
    command += ['--only', only] if only else []
    try:
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds + 300)
    except subprocess.TimeoutExpired:
        return 'it hangs', seconds + 300
    if result.returncode == 0:
        return None
    lines = [line for line in result.stderr.splitlines() if line] or [f'status {result.returncode}']
    return lines[0], time.monotonic() - start


def main(arguments):
    folder = arguments[0] if arguments else os.path.join(ROOT, '.build', 'faults')
    names = arguments[1:] or list(FAULTS)
    os.makedirs(folder, exist_ok=True)
    for part in ('Package.swift', 'Sources', 'Tests', 'Examples'):
        source, target = os.path.join(ROOT, part), os.path.join(folder, part)
        if os.path.isdir(source):
            shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns('.build'))
        else:
            shutil.copy2(source, target)
    build(folder)
    found = finding(folder, 30)
    print(f'no fault: {found[0] if found else "nothing is found"}', flush=True)
    missed = ['no fault'] if found else []
    for name in names:
        only, file, old, new = FAULTS[name]
        path = os.path.join(folder, file)
        with open(path) as opened:
            text = opened.read()
        if text.count(old) != 1:
            print(f'{name}: its place in {file} is not there', file=sys.stderr)
            return 2
        with open(path, 'w') as opened:
            opened.write(text.replace(old, new))
        build(folder)
        found = finding(folder, 30, only)
        with open(path, 'w') as opened:
            opened.write(text)
        print(f'{name}: ' + (f'after {found[1]:.0f} s: {found[0]}' if found else 'NOT FOUND'), flush=True)
        if not found:
            missed.append(name)
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
