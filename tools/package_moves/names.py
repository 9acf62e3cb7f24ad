"""Resolve dotted names in strings, docs and monkeypatches: names.py ROOT"""
import re,subprocess,sys,pathlib,importlib.util,os,ast
root=pathlib.Path(sys.argv[1]).resolve(); os.chdir(root); sys.path.insert(0,str(root))
fs=[f for f in subprocess.run(['git','ls-files'],capture_output=True,text=True).stdout.split('\n') if f]
mods={'.'.join(pathlib.Path(f).with_suffix('').parts).removesuffix('.__init__') for f in fs if f.endswith('.py')}
names={}
for f in fs:
    if f.endswith('.py'):
        m='.'.join(pathlib.Path(f).with_suffix('').parts).removesuffix('.__init__')
        t=ast.parse(open(f).read()); s=set()
        for n in ast.walk(t):
            if isinstance(n,(ast.FunctionDef,ast.ClassDef,ast.AsyncFunctionDef)): s.add(n.name)
            elif isinstance(n,ast.Name): s.add(n.id)
            elif isinstance(n,(ast.Import,ast.ImportFrom)):
                for a in n.names: s.add((a.asname or a.name).split('.')[0])
            elif isinstance(n,ast.Attribute): s.add(n.attr)
            elif isinstance(n,ast.arg): s.add(n.arg)
        names[m]=s
pk={m.split('.')[0] for m in mods}&{'listening','metrics','analysis','config','rest','earnest','tools'}
bad={}
for f in fs:
    p=pathlib.Path(f)
    if p.suffix not in('.py','.md','.toml','.yaml','.yml','.cfg','.html','.js','.txt','.ipynb','') or f.startswith(('tests/data/','CHANGELOG')): continue
    try:t=p.read_text()
    except Exception: continue
    for m in re.finditer(r'(?<![\w./-])('+'|'.join(pk)+r')((?:\.\w+)+)',t):
        w=m.group(0).rstrip('.')
        parts=w.split('.')
        i=len(parts)
        while i>0 and '.'.join(parts[:i]) not in mods: i-=1
        if i==len(parts): continue
        mod='.'.join(parts[:i]); nxt=parts[i]
        if nxt in names.get(mod,()) : continue
        bad.setdefault(w,[]).append(f)
    for m in re.finditer(r'(?<![\w/.-])((?:listening|metrics|config|analysis|rest|tools|templates|static)/[\w/]+\.(?:py|html|js|css))',t):
        if not (root/m.group(1)).exists(): bad.setdefault(m.group(1),[]).append(f)
for k,v in sorted(bad.items()): print(k,sorted(set(v))[:4])
