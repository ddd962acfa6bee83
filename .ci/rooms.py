#!/usr/bin/env python3
"""Shows which folders of a Swift module use each other both ways, and which types form a circle.

    rooms.py [MODULE[=PAIRS] ...]    looks at folders of Swift sources
    rooms.py --test                  checks this script with small modules of its own

A file uses another one if it names a type that the other declares. Comments, strings, generic parameters and names behind a dot
are left out. A name that several files declare is used by each file that names it, in each of them, or only in the one of its own
folder. A file that only extends types counts, in circles, with the file that declares the first of them.

Prints for each module the pairs of folders that use each other both ways, with the names on the smaller side, the folders of more
than 15 files, and the largest circle of types. The status is 1 if a module has more pairs than PAIRS (0 if not given), if a
folder has more than 15 files of its own, or if a circle has more than 12 types. In `Conversation`, no type may be in more than
three files either, and in the whole module `Connection` and `Channel` in no more than twelve."""

import os
import re
import sys
import tempfile

MOST_FILES = 15
MOST_IN_CIRCLE = 12
MOST_PARTS = {"Connection": 12, "Channel": 12}
MOST_PARTS_OF_CONVERSATION = 3

ATTRIBUTES = r"^(?P<indent>[ \t]*)(?:@\w+(?:\([^)]*\))?\s+)*"
MODIFIERS = (
    r"(?:(?:public|package|internal|private|fileprivate|open|final|indirect|nonisolated|@frozen)(?:\(\w+\))?\s+)*"
)
DECLARATION = re.compile(
    ATTRIBUTES + MODIFIERS + r"(?:struct|class|enum|protocol|actor|typealias)\s+(?P<name>[A-Z]\w*)", re.M
)
EXTENSION = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|private|fileprivate)\s+)*extension\s+([A-Z]\w*)", re.M
)
GENERIC = re.compile(
    r"\b(?:func\s+[^\s(<]+|init|subscript|(?:struct|class|enum|actor|typealias)\s+\w+)\s*<([^>]*)>"
)
TYPE_NAME = re.compile(r"(?<![.\w])[A-Z]\w*\b")


def code_of(text):
    """The text without comments and strings."""
    text = re.sub(r'"""(?:.|\n)*?"""', '""', text)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"/\*(?:.|\n)*?\*/", "", text)
    return re.sub(r"//[^\n]*", "", text)


def parameters_of(text):
    """The names of the generic parameters and associated types that a file declares."""
    names = set(re.findall(r"\bassociatedtype\s+([A-Z]\w*)", text))
    for match in GENERIC.finditer(text):
        for parameter in match.group(1).split(","):
            names.add(re.sub(r"^(?:each|let)\s+", "", parameter.strip()).split(":")[0].strip())
    return names


class Module:
    """The Swift files of a module, and which of them use which."""

    def __init__(self, root):
        self.root = root
        self.files = {}
        for folder, _, names in os.walk(root):
            for name in sorted(names):
                if name.endswith(".swift"):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        self.files[os.path.relpath(path, root)] = code_of(file.read())
        self.declared = {f: {m["name"] for m in DECLARATION.finditer(text)} for f, text in self.files.items()}
        self.homes = self._homes()
        self.uses = {file: self._uses(file) for file in self.files}

    def _homes(self):
        """The files that declare each name: at the top level, or nested if no other file has the name."""
        top, nested = {}, {}
        for file, text in self.files.items():
            for match in DECLARATION.finditer(text):
                (nested if match["indent"] else top).setdefault(match["name"], set()).add(file)
        only = {name: files for name, files in nested.items() if name not in top and len(files) == 1}
        return {**top, **only}

    def _uses(self, file):
        """The files that a file uses, with the names."""
        used = {}
        text = self.files[file]
        for name in set(TYPE_NAME.findall(text)) - self.declared[file] - parameters_of(text):
            homes = self.homes.get(name, set())
            near = {home for home in homes if room(home) == room(file)}
            for home in near if near and len(homes) > 1 else homes:
                if home != file:
                    used.setdefault(home, set()).add(name)
        return used

    def rooms(self):
        """The number of files of each folder, with the folders inside it."""
        counts = {}
        for file in self.files:
            counts[room(file)] = counts.get(room(file), 0) + 1
        return dict(sorted(counts.items()))

    def pairs(self):
        """The pairs of folders that use each other: the two, the one that uses less of the other, and the names."""
        names = {}
        for file, used in self.uses.items():
            for other, words in used.items():
                if room(file) != room(other):
                    names.setdefault((room(file), room(other)), set()).update(words)
        found = []
        for here, there in sorted(names):
            if here < there and (there, here) in names:
                smaller = min((here, there), (there, here), key=lambda way: len(names[way]))
                found.append((here, there, smaller, sorted(names[smaller])))
        return found

    def crowded(self):
        """The folders with too many files of their own."""
        folders = [os.path.dirname(file) for file in self.files]
        return sorted(folder for folder in set(folders) if folders.count(folder) > MOST_FILES)

    def scattered(self):
        """The types that are in too many files, with the number."""
        parts = {}
        for file, text in self.files.items():
            top = {m["name"] for m in DECLARATION.finditer(text) if not m["indent"]}
            for name in top | set(EXTENSION.findall(text)):
                if name in self.homes:
                    parts.setdefault(name, set()).add(file)
        is_conversation = os.path.basename(self.root) == "Conversation"
        most = lambda name: MOST_PARTS_OF_CONVERSATION if is_conversation else MOST_PARTS.get(name, len(self.files))
        return sorted((name, len(files)) for name, files in parts.items() if len(files) > most(name))

    def largest_circle(self):
        """The files of the largest set of types in which each leads to each other one."""
        owner = {file: self._owner(file) for file in self.files}
        edges = {}
        for file, used in self.uses.items():
            edges.setdefault(owner[file], set()).update(owner[other] for other in used)
        return max(circles(set(owner.values()), edges), key=len, default=[])

    def _owner(self, file):
        """The file that declares what this one extends; the file itself if it declares a type."""
        text = self.files[file]
        if any(not match["indent"] for match in DECLARATION.finditer(text)):
            return file
        for name in EXTENSION.findall(text):
            if len(self.homes.get(name, ())) == 1:
                return next(iter(self.homes[name]))
        return file


def room(file):
    """The first folder of a path."""
    return file.split(os.sep)[0] if os.sep in file else "."


def circles(nodes, edges):
    """The strongly connected sets of a graph, by Tarjan's algorithm."""
    sys.setrecursionlimit(10000)
    number, lowest, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for other in edges.get(node, set()) - {node}:
            if other not in number:
                visit(other)
            if other in stack:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == number[node]:
            start = stack.index(node)
            found.append(stack[start:])
            del stack[start:]

    for node in sorted(nodes):
        if node not in number:
            visit(node)
    return found


def check(root, most_pairs):
    """Prints what is found in a module. Returns whether all is well."""
    module = Module(root)
    rooms = " ".join("%s(%d)" % item for item in module.rooms().items())
    print("%s: %d files, rooms %s" % (root, len(module.files), rooms))
    pairs, crowded, scattered = module.pairs(), module.crowded(), module.scattered()
    for here, there, smaller, names in pairs:
        print("  both ways: %s <-> %s; %s uses of %s: %s" % (here, there, *smaller, " ".join(names[:12])))
    if crowded:
        print("  folders of more than %d files: %s" % (MOST_FILES, " ".join(crowded)))
    for name, count in scattered:
        print("  in %d files: %s" % (count, name))
    circle = module.largest_circle()
    size = len(circle) if len(circle) > 1 else 0
    print("  two-way pairs of rooms: %d; largest circle of types: %d" % (len(pairs), size))
    if size > MOST_IN_CIRCLE:
        print("    " + " ".join(sorted(circle)))
    return len(pairs) <= most_pairs and not crowded and not scattered and size <= MOST_IN_CIRCLE


def test():
    """Checks the script with modules that have one fault each."""

    def module(name="M", **files):
        root = os.path.join(tempfile.mkdtemp(), name)
        for path, text in files.items():
            place = os.path.join(root, *path.split("__")) + ".swift"
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w", encoding="utf-8") as file:
                file.write(text)
        return Module(root)

    one_way = module(A__x="struct X { let y: Y }", B__y='struct Y { let text = "X" }  // X')
    assert one_way.pairs() == [] and len(one_way.largest_circle()) == 1

    both = module(A__x="struct X { let y: Y }", B__y="struct Y { let x: X? }")
    assert [pair[:2] for pair in both.pairs()] == [("A", "B")] and len(both.largest_circle()) == 2

    generic = module(A__x="struct X<Y> { let y: Y }", B__y="struct Y { let x: X<Int> }")
    assert generic.pairs() == []

    member = module(A__x="struct X<H: Host> { let y: H.Y }\nprotocol Host { associatedtype Y }",
                    B__y="struct Z: Host { typealias Y = Int }\nstruct W { let x: X<Z> }")
    assert member.pairs() == []

    own = module(A__x="struct X { let s: S }\nprivate struct S {}", B__y="struct Y { let x: X; let s: S }\nprivate struct S {}")
    assert own.pairs() == []

    extension = module(A__x="struct X {}", A__more="extension X { var y: Y { Y() } }", A__y="struct Y { let x: X? }")
    assert len(extension.largest_circle()) == 2

    full = module(**{"A__f%d" % number: "struct F%d {}" % number for number in range(MOST_FILES + 1)})
    assert full.crowded() == ["A"]

    parts = {"A__f%d" % number: "extension X {}" for number in range(MOST_PARTS_OF_CONVERSATION)}
    assert module("Conversation", A__x="struct X {}", **parts).scattered() == [("X", 4)]
    assert module("Other", A__x="struct X {}", **parts).scattered() == []


def main(arguments):
    if arguments == ["--test"]:
        return test()
    if not arguments:
        arguments = [os.path.join("Sources", name) for name in sorted(os.listdir("Sources")) if name[0] not in ".C"]
    failed = []
    for argument in arguments:
        root, _, most = argument.partition("=")
        if not check(root.rstrip("/"), int(most or 0)):
            failed.append(root)
    if failed:
        sys.exit("too many pairs, files in a folder, parts of a type, or types in a circle: " + " ".join(failed))


main(sys.argv[1:])
