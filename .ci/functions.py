#!/usr/bin/env python3
"""Shows which functions of Swift sources are longer than a reader can keep in mind.

    functions.py DIR...    looks at the Swift files below the folders
    functions.py --test    checks this script with small sources of its own

A function, initializer, deinitializer, subscript or property with a body has at most 60 lines, from the line of its name to its
closing brace, without its comments above. Functions inside it count as a part of it. Prints a line for each that is longer. The
status is 1 if there are any."""

import os
import re
import sys

MOST_LINES = 60

TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|(#+)""".*?"""\1|"""(?:\\.|.)*?"""|(#+)"[^\n]*?"\2|"(?:\\.|[^"\\\n])*"', re.S
)
DECLARATION = re.compile(r"\b(?P<kind>func|init|deinit|subscript|var)\b(?P<mark>[?!]?)\s*(?P<name>`?\w+`?|[^\s\w(<`]+)?")
# What stands before the name of a declaration on its line: attributes and modifiers.
BEFORE = re.compile(r"(?:@\w+(?:\([^()\n]*\))?\s+|[a-z]\w*(?:\(\w+\))?\s+)*$")
PAIRS = {"(": ")", "[": "]", "{": "}"}


def masked(text):
    """The text with comments and strings blanked, at the same length."""
    return TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def closing(text, start):
    """The position of the bracket that closes the one at `start`."""
    open_brackets = []
    for position in range(start, len(text)):
        character = text[position]
        if character in PAIRS:
            open_brackets.append(PAIRS[character])
        elif open_brackets and character == open_brackets[-1]:
            open_brackets.pop()
            if not open_brackets:
                return position
    return len(text) - 1


def body(text, start, kind):
    """Where the braces of a declaration begin whose name ends at `start`; None if it has no body."""
    position = start
    while position < len(text):
        character = text[position]
        if character == "{":
            return position
        if character in "([":
            position = closing(text, position)
        elif character in "};":
            return None
        elif character == "\n":
            rest = text[position:].lstrip()
            # A requirement of a protocol ends with its line, unless the next one goes on with it.
            if not re.match(r"\{|->|where\b|throws\b|rethrows\b|async\b|[(:,&]", rest) and (
                kind == "var" or not re.search(r"(?:->|[,(:&]|\bwhere|\bthrows|\basync)\s*$", text[start:position])
            ):
                return None
        elif kind == "var" and character == "=" and text[position : position + 2] != "==":
            return None
        position += 1
    return None


def long_functions(text, most=MOST_LINES):
    """The name, line and number of lines of each function that is too long."""
    code = masked(text)
    found = []
    for match in DECLARATION.finditer(code):
        line_start = code.rfind("\n", 0, match.start()) + 1
        if not BEFORE.fullmatch(code[line_start : match.start()].lstrip()):
            continue
        start = body(code, match.start("name") if match["kind"] in ("init", "deinit", "subscript") and match["name"]
                     else match.end(), match["kind"])
        if start is None:
            continue
        lines = code.count("\n", match.start(), closing(code, start)) + 1
        if lines > most:
            name = match["name"] if match["kind"] in ("func", "var") else match["kind"]
            found.append((name, code.count("\n", 0, match.start()) + 1, lines))
    return found


def swift_files(folder):
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(".swift"):
                yield os.path.join(place, name)


def test():
    """Checks the script with sources that have one long function each, and some that have none."""

    def names(text, most=3):
        return [name for name, _, _ in long_functions(text, most)]

    lines = "\n        work()\n        work()\n    }\n"
    for head, name in [
        ("    func go() {", "go"),
        ("    @inline(__always) private static func go<T>(_ a: (Int) -> Void) throws(E) -> [T] where T: P {", "go"),
        ("    func go(\n        a: Int\n    ) async throws\n        -> Int\n    {", "go"),
        ("    static func == (a: A, b: A) -> Bool {", "=="),
        ("    init?(a: Int = { 1 }()) {", "init"),
        ("    init(a: Int) {", "init"),
        ("    deinit {", "deinit"),
        ("    subscript(index: Int) -> Int {", "subscript"),
        ("    var size: Int {", "size"),
    ]:
        assert names("struct A {\n" + head + lines + "}\n") == [name], head
    short = "    func go() {\n        work()\n    }\n"
    assert names("struct A {\n" + short + short + "}\n") == []
    # Braces in comments and strings are none, and neither is the body of the next declaration that of a requirement.
    assert names("    func go() {  // {\n        print(\"{\")\n    }\n" + short) == []
    assert names("protocol P {\n    func go() -> Int\n    var size: Int { get }\n}\nstruct A {\n    let a = 1\n\n}\n") == []
    assert names("struct A {\n    var size = 1\n    let go = {\n" + lines + "}\n") == []
    assert names("struct A {\n    // func go() {" + lines + "}\n") == []
    assert long_functions("\nfunc go() {\n\n}\n", 2) == [("go", 2, 3)]
    assert long_functions("\nfunc go() {\n\n}\n", 3) == []


def main(arguments):
    if arguments == ["--test"]:
        return test()
    if not arguments:
        sys.exit(__doc__)
    count, is_long = 0, False
    for folder in arguments:
        for path in swift_files(folder):
            count += 1
            with open(path, encoding="utf-8") as file:
                for name, line, lines in long_functions(file.read()):
                    is_long = True
                    print("%s:%d: %s has %d lines" % (path, line, name, lines))
    if count == 0:
        sys.exit("no Swift files below " + " ".join(arguments))
    if is_long:
        sys.exit("functions of more than %d lines" % MOST_LINES)


main(sys.argv[1:])
