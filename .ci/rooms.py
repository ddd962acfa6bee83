#!/usr/bin/env python3
"""rooms.py [MODULE_DIR[=PAIRS]...]: which folders of a Swift module use which, by the names of types, and which circles there are.

A file uses another if it names a type that the other declares; comments, strings and generic parameters are left out. A
name that several files declare at the top level is used by each file that names it, in each of them that its own folder does not
declare. A file that only extends types of this module counts with the file that declares the first of them (in circles,
not for its folder). Prints for each module the pairs of folders that use each other both ways, with the names on the
smaller side, folders of more than 15 files, and the largest circle. Exits with 1 if a module has more pairs than PAIRS, 0 if
that is not given, if a folder holds more than 15 files of its own, or if a circle has more than 12 types."""
import os, re, sys
MOD = (r'^(?P<indent>[ \t]*)(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|private|fileprivate|open|final|indirect|nonisolated|@frozen)(?:\(\w+\))?\s+)*')
DECL = re.compile(MOD + r'(?P<kind>struct|class|enum|protocol|actor|typealias)\s+(?P<name>[A-Z]\w*)', re.M)
EXT = re.compile(r'^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)*extension\s+([A-Z]\w*)', re.M)
GENERIC = re.compile(r'<([^<>]*)>\s*(?:\(|:|\{|where|$)', re.M)
def strip(text):
    text = re.sub(r'"""(?:.|\n)*?"""', '""', text)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r'/\*(?:.|\n)*?\*/', '', text)
    return re.sub(r'//[^\n]*', '', text)
def parameters(text):
    """Names of generic parameters and associated types that the file itself declares."""
    names = set(re.findall(r'\bassociatedtype\s+([A-Z]\w*)', text))
    for m in re.finditer(r'\b(?:func\s+[^\s(<]+|init|subscript|struct\s+\w+|class\s+\w+|enum\s+\w+|actor\s+\w+|typealias\s+\w+)\s*<([^>]*)>', text):
        names |= {re.sub(r'^(?:each|let)\s+', '', p.strip()).split(':')[0].strip() for p in m.group(1).split(',')}
    return names
def module(root):
    files = {}
    for d, _, names in os.walk(root):
        for n in sorted(names):
            if n.endswith('.swift'):
                p = os.path.join(d, n); files[os.path.relpath(p, root)] = strip(open(p, encoding='utf-8').read())
    room = lambda f: f.split(os.sep)[0] if os.sep in f else '.'
    home, own = {}, {}
    for f, t in files.items():
        own[f] = {m['name'] for m in DECL.finditer(t)}
        for m in DECL.finditer(t):
            if not m['indent']: home.setdefault(m['name'], set()).add(f)
    nested = {}
    for f, t in files.items():
        for m in DECL.finditer(t):
            if m['indent'] and m['name'] not in home: nested.setdefault(m['name'], set()).add(f)
    home.update({n: s for n, s in nested.items() if len(s) == 1})
    uses = {f: {} for f in files}
    for f, t in files.items():
        for w in set(re.findall(r'\b[A-Z]\w*\b', t)) - own[f] - parameters(t):
            gs = home.get(w, set())
            if any(room(g) == room(f) for g in gs) and len(gs) > 1: gs = {g for g in gs if room(g) == room(f)}
            for g in gs:
                if g != f: uses[f].setdefault(g, set()).add(w)
    pairs = {}
    for f, gs in uses.items():
        for g, ws in gs.items():
            if room(f) != room(g): pairs.setdefault((room(f), room(g)), set()).update(ws)
    sizes = {r: sum(room(f) == r for f in files) for r in sorted(set(map(room, files)))}
    crowded = sorted(d for d in set(map(os.path.dirname, files)) if sum(os.path.dirname(f) == d for f in files) > 15)
    print('%s: %d files, rooms %s' % (root, len(files), ' '.join('%s(%d)' % x for x in sizes.items())))
    bad = 0
    for a, b in sorted(pairs):
        if a < b and (b, a) in pairs:
            bad += 1
            less = min((pairs[a, b], a, b), (pairs[b, a], b, a), key=lambda x: len(x[0]))
            print('  both ways: %s <-> %s; the smaller side, %s uses of %s: %s' % (a, b, less[1], less[2], ' '.join(sorted(less[0])[:12])))
    if crowded: print('  folders of more than 15 files: ' + ' '.join(crowded))
    # Circles of types: a file of extensions counts with the file of what it extends.
    fold = {}
    for f, t in files.items():
        fold[f] = f
        if not any(not m['indent'] for m in DECL.finditer(t)):
            for name in EXT.findall(t):
                if len(home.get(name, ())) == 1: fold[f] = next(iter(home[name])); break
    edge = {}
    for f, gs in uses.items():
        edge.setdefault(fold[f], set()).update(fold[g] for g in gs if fold[g] != fold[f])
    index, low, stack, on, out, n = {}, {}, [], set(), [], [0]
    sys.setrecursionlimit(10000)
    def visit(v):
        index[v] = low[v] = n[0]; n[0] += 1; stack.append(v); on.add(v)
        for w in edge.get(v, ()):
            if w not in index: visit(w); low[v] = min(low[v], low[w])
            elif w in on: low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            c = []
            while True:
                w = stack.pop(); on.discard(w); c.append(w)
                if w == v: break
            out.append(c)
    nodes = set(fold.values())
    for v in sorted(nodes):
        if v not in index: visit(v)
    circle = max(out, key=len)
    print('  two-way pairs of rooms: %d; largest circle of types: %d of %d' % (bad, len(circle) if len(circle) > 1 else 0, len(nodes)))
    return bad, len(crowded) + (len(circle) > 12)
roots = sys.argv[1:] or sorted(os.path.join('Sources', d) for d in os.listdir('Sources') if os.path.isdir(os.path.join('Sources', d)) and d[0] not in '.C')
failed = []
for root, _, most in (r.partition('=') for r in roots):
    pairs, others = module(root)
    if pairs > int(most or 0) or others: failed.append(root)
if failed: print('too many pairs, files in a folder, or types in a circle: ' + ' '.join(failed), file=sys.stderr)
sys.exit(1 if failed else 0)
