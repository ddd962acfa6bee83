#!/usr/bin/env python3
"""documented.py [DIR...]: public declarations whose documentation does not say what they throw, take or cost.

Looks at the Swift files below Sources, or below the folders given. A function, initializer, subscript or property that is
public or open, or a requirement of a public protocol, needs a line "- Throws:" if it throws. Where the documentation lists
parameters it has to list all of them, and no others. A function or initializer whose body has a loop needs a line
"- Complexity:", since its cost is not constant, and so does one that archives, unarchives, finishes or copies. Prints a line
for each finding. Exits with 1 if there are any."""
import os
import re
import sys

MODIFIERS = (r'(?:@\w+(?:\([^()]*\))?\s+|(?:public|open|package|internal|private|fileprivate|final|static|class|override|'
             r'convenience|required|mutating|nonmutating|nonisolated|isolated|consuming|borrowing|lazy|weak|unowned|dynamic|'
             r'indirect|optional|distributed|sending)(?:\([^()]*\))?\s+)*')
DECLARATION = re.compile(r'^[ \t]*(?P<modifiers>' + MODIFIERS + r')(?P<kind>func|init|subscript|var|protocol|extension)\b', re.M)
PUBLIC = re.compile(r'\b(?:public|open)\b(?!\()')
LOOPS = re.compile(r'\bfor\s+(?:try\s+)?(?:await\s+)?(?:case\s+)?[\w(]|\bwhile\s|\.(?:compactMap|filter|reduce|forEach|sorted|'
                   r'allSatisfy)\b')
COSTLY = re.compile(r'(?:un)?archive(?!r)|deepCopy$|finish$')
THROWS = re.compile(r'\s*(?:async\s+)?throws\b')


def masked(text):
    """The text with comments and strings blanked, at the same length."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|#"""(?:.*?)"""#|"""(?:\\.|.)*?"""|#"[^\n]*?"#|"(?:\\.|[^"\\\n])*"', re.S)
    return pattern.sub(lambda match: re.sub(r'[^\n]', ' ', match.group()), text)


def closing(text, start):
    """Behind the bracket that closes the one at `start`."""
    pairs, depth, position = {'(': ')', '[': ']', '{': '}'}, [], start
    while position < len(text):
        character = text[position]
        if character in pairs:
            depth.append(pairs[character])
        elif depth and character == depth[-1]:
            depth.pop()
            if not depth:
                return position + 1
        position += 1
    return len(text)


def generics(text, start):
    """Behind the generic parameters that begin at `start`, if any do."""
    if not text.startswith('<', start):
        return start
    depth, position = 0, start
    while position < len(text):
        if text[position] == '<':
            depth += 1
        elif text[position] == '>' and text[position - 1] != '-':
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    return len(text)


def parameters(text):
    """The names of the parameters in a list, as the body uses them."""
    names, depth, begin = [], 0, 0
    for position, character in enumerate(text + ','):
        if character in '([{<':
            depth += 1
        elif character in ')]}' or character == '>' and text[position - 1] != '-':
            depth -= 1
        elif character == ',' and depth == 0:
            match = re.match(r'\s*(?:@\w+\s+)*(?:`?\w+`?\s+)?`?(\w+)`?\s*:', text[begin:position])
            if match and match.group(1) != '_':
                names.append(match.group(1))
            begin = position + 1
    return names


def documentation(lines, line):
    """The documentation above a line, as a list of its lines; None if there is none."""
    found, line = [], line - 1
    while line >= 0:
        text = lines[line].strip()
        if text.startswith('///'):
            found.insert(0, text[3:])
        elif found or not (text.startswith('@') or text.startswith('//')):
            break
        line -= 1
    return found or None


def listed(comment):
    """The parameters that documentation lists; None if it lists none."""
    names, inside = [], None
    for line in comment:
        single = re.match(r'\s*- [Pp]arameter\s+`?(\w+)`?\s*:', line)
        if single:
            names.append(single.group(1))
        begin = re.match(r'(\s*)- [Pp]arameters\s*:', line)
        if begin:
            inside = len(begin.group(1))
            continue
        if inside is not None:
            item = re.match(r'(\s*)- `?(\w+)`?\s*:', line)
            if item and len(item.group(1)) > inside:
                names.append(item.group(2))
            elif item or line.strip() == '':
                inside = None
    return names or None


def check(path):
    text = open(path, encoding='utf-8').read()
    lines, code = text.split('\n'), masked(text)
    # Where everything is public that says nothing else: public extensions, and the requirements of public protocols.
    public = []
    for match in DECLARATION.finditer(code):
        if match['kind'] in ('protocol', 'extension') and PUBLIC.search(match['modifiers']):
            start = code.find('{', match.end())
            if start >= 0:
                public.append((start, closing(code, start)))
    for match in DECLARATION.finditer(code):
        kind = match['kind']
        if kind in ('protocol', 'extension'):
            continue
        isPublic = PUBLIC.search(match['modifiers'])
        if not isPublic:
            if re.search(r'\b(?:package|internal|private|fileprivate)\b(?!\()', match['modifiers']):
                continue
            inside = [place for place in public if place[0] < match.start() < place[1]]
            # Not what stands in the body of a function or type there.
            if not inside or code.count('{', inside[-1][0], match.start()) - code.count('}', inside[-1][0], match.start()) != 1:
                continue
        position, name, taken = match.end(), kind, None
        if kind in ('func', 'var'):
            found = re.match(r'\s*(`?\w+`?|[^\s\w(<]+)', code[position:])
            if not found:
                continue
            name, position = found.group(1), position + found.end()
        if kind == 'var':
            brace = re.match(r'[^\n{=]*\{', code[position:])
            if not brace:
                continue
            start = position + brace.end() - 1
            throws = re.match(r'\{\s*(?:' + MODIFIERS + r')get\s+(?:async\s+)?throws\b', code[start:])
        else:
            if kind == 'init' and code[position:position + 1] in ('?', '!'):
                position += 1
            position += len(code[position:]) - len(code[position:].lstrip())
            position = generics(code, position)
            if code[position:position + 1] != '(':
                continue
            end = closing(code, position)
            taken, throws = parameters(code[position + 1:end - 1]), THROWS.match(code, end)
            if kind == 'subscript' and not throws:
                brace = re.match(r'[^\n{]*\{', code[end:])
                throws = brace and re.match(r'\{\s*get\s+(?:async\s+)?throws\b', code[end + brace.end() - 1:])
        number = code.count('\n', 0, match.start()) + 1
        comment = documentation(lines, number - 1)
        if throws and (comment is None or not any(re.match(r'\s*- [Tt]hrows\s*:', line) for line in comment)):
            yield number, name, 'throws, and its documentation has no "- Throws:"'
        brace = re.match(r'[^{}]*\{', code[end:]) if kind in ('func', 'init') else None
        # Not the body of the next declaration, if this one has none.
        if brace and not re.search(r'\b(?:func|var|let|init|subscript|case)\b', brace.group()):
            body = code[end + brace.end():closing(code, end + brace.end() - 1)]
            says = comment and any(re.match(r'\s*- [Cc]omplexity\s*:', line) for line in comment)
            if not says and (COSTLY.match(name) or LOOPS.search(body)):
                yield number, name, 'its cost is not constant, and its documentation has no "- Complexity:"'
        names = comment and listed(comment)
        if names and taken is not None:
            for missing in [one for one in taken if one not in names]:
                yield number, name, 'the parameter %s is not described' % missing
            for unknown in [one for one in names if one not in taken]:
                yield number, name, 'there is no parameter %s' % unknown


count = 0
for folder in sys.argv[1:] or ['Sources']:
    for directory, _, files in sorted(os.walk(folder)):
        for file in sorted(files):
            if file.endswith('.swift'):
                path = os.path.join(directory, file)
                for number, name, what in check(path):
                    print('%s:%d: %s: %s' % (path, number, name, what))
                    count += 1
sys.exit(1 if count else 0)
