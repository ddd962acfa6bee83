#!/usr/bin/env python3
"""reference.py [--check] [--symbols FOLDER]: the public interface of each module as one page that can be read without building.

Writes .github/reference/MODULE.md from the module's symbol graph: each type with the first sentence of its documentation, its
declaration, and its members with theirs. With --check it writes nothing, and exits with 1 if a page is not current. Without
--symbols it has the package manager write the symbol graphs first."""
import json
import os
import re
import subprocess
import sys

PLACE = '.github/reference'
# The order of the members of a type.
KINDS = ['typealias', 'associatedtype', 'enum.case', 'init', 'type.property', 'type.method', 'type.subscript', 'property', 'subscript',
         'method', 'func.op', 'func', 'var']
TYPES = {'class', 'struct', 'enum', 'protocol', 'actor'}
# Protocols that say nothing to a reader of a list.
UNTOLD = {'Copyable', 'Escapable', 'SendableMetatype', 'BitwiseCopyable'}


def kind(symbol):
    return symbol['kind']['identifier'].removeprefix('swift.')


def declaration(symbol):
    """The declaration as code in one line, without the attributes before it."""
    parts = symbol['declarationFragments']
    while parts[0]['kind'] != 'keyword':
        parts = parts[1:]
    text = re.sub(r'\s+', ' ', ''.join(part['spelling'] for part in parts)).strip()
    return '`` %s ``' % text if '`' in text else '`%s`' % text


def summary(symbol):
    """The first paragraph of the documentation, without links."""
    lines = []
    for line in symbol.get('docComment', {}).get('lines', []):
        text = line['text'].strip()
        if not text or text.startswith(('- ', '```')):
            break
        lines.append(text)
    text = re.sub(r'``(?:/\w+/)?([^`]+)``', lambda match: '`%s`' % match[1].replace('/', '.'), ' '.join(lines))
    return re.sub(r'<doc:(?:[^>]*[/#])?([^>]+)>', r'“\1”', text)


def place(symbol):
    """Where it is declared: a file below Sources, and a line."""
    location = symbol.get('location', {})
    return (location.get('uri', '').rpartition('/Sources/')[2], location.get('position', {}).get('line', 0))


def members(symbols):
    order = {name: position for position, name in enumerate(KINDS)}
    lines = []
    for symbol in sorted(symbols, key=lambda symbol: (order[kind(symbol)], place(symbol), declaration(symbol))):
        text = summary(symbol)
        lines.append('- %s%s' % (declaration(symbol), '\\\n  ' + text if text else ''))
    return lines


def page(module, symbols, relations, additions):
    shown = [symbol for symbol in symbols if not any(part.startswith('_') for part in symbol['pathComponents'])]
    types = {symbol['identifier']['precise']: symbol for symbol in shown if kind(symbol) in TYPES}
    inside, conformances, defaults = {}, {}, set()
    for relation in relations:
        if relation['kind'] in ('memberOf', 'requirementOf'):
            inside[relation['source']] = relation['target']
        elif relation['kind'] == 'defaultImplementationOf':
            defaults.add(relation['source'])
        elif relation['kind'] in ('conformsTo', 'inheritsFrom'):
            name = relation.get('targetFallback', '').rpartition('.')[2]
            if relation['target'] in types:
                name = title(types[relation['target']])
            if name and name not in UNTOLD and not name.startswith('_'):
                conformances.setdefault(relation['source'], set()).add(name)
    below = {}
    for symbol in shown:
        if kind(symbol) not in TYPES:
            below.setdefault(inside.get(symbol['identifier']['precise']), []).append(symbol)
    sections = sorted(types.values(), key=lambda symbol: [part.lower() for part in symbol['pathComponents']])
    lines = ['# %s' % module, '', 'The public interface. `.ci/reference.py` writes this page from the sources: do not edit it.', '']
    outer = [title(symbol) for symbol in sections if len(symbol['pathComponents']) == 1]
    lines += [', '.join('[%s](#%s)' % (name, anchor(name)) for name in outer), '']
    for symbol in sections:
        name, identifier = title(symbol), symbol['identifier']['precise']
        lines += ['## %s' % name, '', declaration(symbol) + ('\\' if summary(symbol) else '')]
        if summary(symbol):
            lines.append(summary(symbol))
        if identifier in conformances:
            lines += ['', 'Conforms to %s.' % ', '.join('`%s`' % one for one in sorted(conformances[identifier]))]
        if identifier in below:
            lines += [''] + members(below[identifier])
        lines.append('')
    # What a protocol has a default for is listed as its requirement.
    others = [symbol for owner, ones in below.items() if owner not in types
              for symbol in ones if symbol['identifier']['precise'] not in defaults]
    if others:
        lines += ['## Functions and operators', ''] + members(others) + ['']
    added = [symbol for symbol in additions if kind(symbol) in KINDS]
    if added:
        lines += ['## Additions to types of other modules', '']
        for owner in sorted({title_of(symbol) for symbol in added}):
            lines += ['Of `%s`:' % owner, ''] + members([symbol for symbol in added if title_of(symbol) == owner]) + ['']
    return '\n'.join(lines).rstrip() + '\n'


def title(symbol):
    return '.'.join(symbol['pathComponents'])


def title_of(member):
    return '.'.join(member['pathComponents'][:-1])


def anchor(name):
    """The anchor of a heading on a code host."""
    return re.sub(r'[^\w-]', '', name.lower())


def graphs():
    said = subprocess.run(['swift', 'package', 'dump-symbol-graph', '--skip-synthesized-members'], capture_output=True, text=True)
    found = re.search(r'^Files written to (.+)$', said.stdout + said.stderr, re.M)
    if said.returncode or not found:
        sys.exit(said.stdout + said.stderr)
    return found[1]


words = sys.argv[1:]
if '--help' in words:
    sys.exit(__doc__)
folder = os.path.abspath(words[words.index('--symbols') + 1]) if '--symbols' in words else None
os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
folder = folder or graphs()
stale = []
# The documented modules: those with a catalog.
for module in sorted(name for name in os.listdir('Sources') if os.path.isdir('Sources/%s/%s.docc' % (name, name))):
    path = os.path.join(folder, module + '.symbols.json')
    # A module that does not exist on this system keeps its page.
    if not os.path.exists(path):
        continue
    with open(path) as file:
        graph = json.load(file)
    additions = []
    for other in sorted(os.listdir(folder)):
        if other.startswith(module + '@'):
            with open(os.path.join(folder, other)) as file:
                additions += json.load(file)['symbols']
    text = page(module, graph['symbols'], graph['relationships'], additions)
    target = os.path.join(PLACE, module + '.md')
    if '--check' in words:
        old = open(target, encoding='utf-8').read() if os.path.exists(target) else None
        if old != text:
            stale.append(target)
        if target not in open('README.md', encoding='utf-8').read():
            sys.exit('README.md has no link to ' + target)
    else:
        os.makedirs(PLACE, exist_ok=True)
        with open(target, 'w', encoding='utf-8') as file:
            file.write(text)
if stale:
    sys.exit('not current: %s; .ci/reference.py writes it anew' % ', '.join(stale))
