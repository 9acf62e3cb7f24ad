"""move.py ROOT: git mv by mapping.txt and rewrite imports, dotted names and paths."""
import ast,re,subprocess,sys,pathlib,os
root=pathlib.Path(sys.argv[1]).resolve()
os.chdir(root)
mapping=dict(l.split() for l in open('tools/package_moves/mapping.txt') if l.strip() and not l.startswith('#'))
def path(mod): return pathlib.Path(*mod.split('.'))
py=[f for f in subprocess.run(['git','ls-files','*.py'],capture_output=True,text=True).stdout.split('\n') if f]
def modname(f):
    return '.'.join(pathlib.Path(f).with_suffix('').parts).removesuffix('.__init__')
old_mods={modname(f):f for f in py if f.split('/')[0] in('listening','metrics','config','analysis','rest','earnest','tools','tests','benchmarks')}
# full mapping: every module
full={}
def new_of(m):
    q=m
    if m in mapping and (m!='listening.views'): return mapping[m]
    while '.' in q:
        q=q.rpartition('.')[0]
        # package move: only when the old one is a package (not a module turned package)
        if q in mapping and old_mods.get(q,'').endswith('__init__.py'):
            return mapping[q]+m[len(q):]
    return m
for m in old_mods: full[m]=new_of(m)
full['listening.views']='listening.web'
changed={a:b for a,b in full.items() if a!=b}
# collisions
vals=list(full.values())
dup={v for v in vals if vals.count(v)>1}
assert not dup,dup
SHADOWED=set()
for m,f in old_mods.items():
    if '.' in m:
        p,leaf=m.rpartition('.')[::2]
        init=old_mods.get(p,'')
        if init.endswith('__init__.py') and m in changed:
            for n in ast.walk(ast.parse(pathlib.Path(init).read_text())):
                if isinstance(n,ast.ImportFrom) and any((a.asname or a.name)==leaf for a in n.names) and n.module!=p: SHADOWED.add(m)
                if isinstance(n,(ast.FunctionDef,ast.ClassDef)) and n.name==leaf: SHADOWED.add(m)
print('shadowed',SHADOWED)
# ---- AST based rewriting of imports
def rewrite_py(f):
    text=pathlib.Path(f).read_text()
    try: tree=ast.parse(text)
    except SyntaxError: return text
    lines=text.splitlines(keepends=True)
    edits=[] # (start,end,new) in char offsets
    offs=[0]
    for l in lines: offs.append(offs[-1]+len(l.encode()))
    data=text.encode()
    def pos(l,c): return offs[l-1]+c
    renames={} # local name -> new local name
    names={n.id for n in ast.walk(tree) if isinstance(n,ast.Name)}|{a.arg for n in ast.walk(tree) if isinstance(n,ast.arguments) for a in n.args+n.kwonlyargs+n.posonlyargs}
    bound=set()
    for n in ast.walk(tree):
        if isinstance(n,(ast.Import,ast.ImportFrom)):
            for a in n.names: bound.add((a.asname or a.name).split('.')[0])
        if isinstance(n,(ast.FunctionDef,ast.ClassDef,ast.AsyncFunctionDef)): bound.add(n.name)
    for n in ast.walk(tree):
        if isinstance(n,ast.ImportFrom) and n.module and not n.level:
            groups={}
            touch=False
            for a in n.names:
                sub=f'{n.module}.{a.name}'
                if sub in old_mods and sub not in SHADOWED:
                    new=full[sub]
                    pkg,leaf=new.rpartition('.')[::2]
                    if new!=sub:
                        touch=True
                        if a.asname:
                            item=leaf if a.asname==leaf else f'{leaf} as {a.asname}'
                        elif leaf==a.name: item=leaf
                        else:
                            # can local be renamed?
                            if leaf in names or leaf in bound or (leaf in renames.values() and renames.get(a.name)!=leaf):
                                item=f'{leaf} as {a.name}'
                            else:
                                item=leaf; renames[a.name]=leaf
                    else:
                        item=a.name+(f' as {a.asname}' if a.asname else '')
                    groups.setdefault(pkg,[]).append(item)
                else:
                    m=full.get(n.module,n.module)
                    if m!=n.module: touch=True
                    groups.setdefault(m,[]).append(a.name+(f' as {a.asname}' if a.asname else ''))
            if touch:
                ind=' '*n.col_offset
                seg=data[pos(n.lineno,n.col_offset):pos(n.end_lineno,n.end_col_offset)].decode()
                out=[]
                for p,items in groups.items():
                    s=f'from {p} import '+', '.join(items)
                    if len(s)+n.col_offset>100: s=f'from {p} import ('+''.join(f'\n{ind}    {i},' for i in items)+f'\n{ind})'
                    out.append(s)
                edits.append((pos(n.lineno,n.col_offset),pos(n.end_lineno,n.end_col_offset),('\n'+ind).join(out)))
        elif isinstance(n,ast.Import):
            if any(a.name in changed for a in n.names):
                out=[]
                for a in n.names:
                    nn=full.get(a.name,a.name)
                    out.append(f'import {nn}'+(f' as {a.asname}' if a.asname else ''))
                ind=' '*n.col_offset
                edits.append((pos(n.lineno,n.col_offset),pos(n.end_lineno,n.end_col_offset),('\n'+ind).join(out)))
    if renames:
        # rebinding of the old local name elsewhere? then keep "as"
        rebound={n.id for n in ast.walk(tree) if isinstance(n,ast.Name) and isinstance(n.ctx,ast.Store)}|{a.arg for n in ast.walk(tree) if isinstance(n,ast.arguments) for a in n.args+n.kwonlyargs+n.posonlyargs+([n.vararg] if n.vararg else [])+([n.kwarg] if n.kwarg else [])}|{n.name for n in ast.walk(tree) if isinstance(n,(ast.FunctionDef,ast.ClassDef))}
        for old in list(renames):
            if old in rebound:
                new=renames.pop(old)
                edits=[(s,e,re.sub(rf'(import .*?|\b)\b{new}\b(?! as)(?=[,\n)]|$)',lambda m:m.group(0)+f' as {old}',t,count=1) if re.search(rf'import[^\n]*\b{new}\b|^\s*{new},',t,re.M) and old in data[s:e].decode() else t) for s,e,t in edits]
        for n in ast.walk(tree):
            if isinstance(n,ast.Name) and n.id in renames:
                edits.append((pos(n.lineno,n.col_offset),pos(n.end_lineno,n.end_col_offset),renames[n.id]))
    edits.sort(reverse=True)
    last=None
    for s,e,t in edits:
        if last is not None and e>last: continue  # overlapping
        data=data[:s]+t.encode()+data[e:]
        last=s
    return data.decode()
for f in py:
    t=pathlib.Path(f).read_text()
    n=rewrite_py(f)
    if n!=t: pathlib.Path(f).write_text(n)
# ---- dotted names and paths in all other text
keys=sorted(changed,key=len,reverse=True)
skip_plain={'listening.sessions','listening.access','metrics.audio','metrics.scoring','listening.views'}
def dotted(text):
    def rep(m):
        w=m.group(0)
        # longest known module prefix
        q=w
        while q:
            if q in changed:
                return changed[q]+w[len(q):]
            if q in full: return w
            q=q.rpartition('.')[0]
        return w
    return re.sub(r'(?<![\w./-])(?:listening|metrics|config)(?:\.\w+)+',rep,text)
paths={}
for m,f in old_mods.items():
    nf=path(full[m])
    nf=str(nf/'__init__.py') if f.endswith('__init__.py') else str(nf)+'.py'
    if full[m]!=m: paths[f]=nf
def pathed(text):
    def rep(m):
        w=m.group(0)
        return paths.get(w,w)
    text=re.sub(r'(?<![\w])(?:listening|metrics|config)/[\w/]+\.py',rep,text)
    for a,b in DIRS: text=re.sub(rf'(?<![\w/.]){a}/(?=[\w*{{}}`" )]|$)',b+'/',text)
    return text
DIRS=[('metrics/presets','metrics/scoring/presets'),('metrics/predictors','metrics/networks/predictors'),('metrics/embeddings','metrics/networks/embeddings'),('metrics/recognisers','metrics/networks/recognisers'),('metrics/sets','metrics/distribution/sets'),('listening/bots','listening/sessions/simulated_raters'),('listening/prolific','listening/recruitment/prolific'),('listening/sound_files','listening/common/sound_files'),('listening/views','listening/web')]
allf=subprocess.run(['git','ls-files'],capture_output=True,text=True).stdout.split('\n')
already=set()
for f in allf:
    if not f or '/migrations/' in f and f.endswith('.py') and False: continue
    p=pathlib.Path(f)
    if p.suffix in('.png','.webp','.flac','.wav','.mp3','.ogg','.npz','.mo','.zip','.onnx','.gz','.lock') or f.startswith(('tests/data/','demo/audio','CHANGELOG')): continue
    try: t=p.read_text()
    except (UnicodeDecodeError,IsADirectoryError,FileNotFoundError): continue
    n=t
    if p.suffix=='.py':
        # strings and comments only: tokens
        import tokenize,io
        out=[];
        try:
            toks=list(tokenize.generate_tokens(io.StringIO(t).readline))
        except Exception as e: print('tok',f,e); continue
        ls=t.splitlines(keepends=True)
        ed=[]
        for k in toks:
            if k.type in (tokenize.STRING,tokenize.COMMENT) or k.type==getattr(tokenize,'FSTRING_MIDDLE',-1):
                s=pathed(dotted(k.string))
                # code held in strings
                if k.type==tokenize.STRING:
                    def imp(m):
                        sub=f'{m.group(1)}.{m.group(2)}'
                        if sub in changed:
                            pk,leaf=changed[sub].rpartition('.')[::2]
                            return f'from {pk} import {leaf}'+('' if leaf==m.group(2) else f' as {m.group(2)}')
                        return m.group(0)
                    s=re.sub(r'from ((?:listening|metrics|config)[\w.]*) import (\w+)(?!\w*,)',imp,s)
                if s!=k.string: ed.append((k.start,k.end,s))
        if ed:
            o=[0]
            for l in ls:o.append(o[-1]+len(l))
            for (a,b),(c,d),s in sorted(ed,reverse=True):
                x=o[a-1]+b;y=o[c-1]+d
                n=n[:x]+s+n[y:]
    else:
        n=pathed(dotted(t))
    if n!=t: p.write_text(n)
# ---- moves
def mv(a,b):
    pathlib.Path(b).parent.mkdir(parents=True,exist_ok=True)
    subprocess.run(['git','mv',a,b],check=True)
# move data of packages too: whole directories
tmp=[]
for f in allf:
    if not f: continue
    p=pathlib.Path(f)
    if p.suffix=='.py' and modname(f) in changed:
        tmp.append((f,paths[f]))
    elif f.startswith('metrics/presets/') and p.suffix!='.py': tmp.append((f,f.replace('metrics/presets','metrics/scoring/presets')))
# two steps because modules turn to packages of the same name
for i,(a,b) in enumerate(tmp):
    mv(a,f'.moving/{i}')
for i,(a,b) in enumerate(tmp): mv(f'.moving/{i}',b)
# new packages
DOC={
'listening/common':'Building blocks without studies or raters: registry, tables, queues, languages, sound files.',
'listening/access':'Who may do what: rights of accounts and members, and projects.',
'listening/sessions':'A rater from the first page to the last answer: allocation, leases, answers, outcomes.',
'listening/web':'Pages and requests, by who uses them.',
'listening/web/rater':'Pages and requests of raters.',
'listening/web/researcher':'Pages of researchers.',
'listening/web/review':'The reviewer’s desk and the pages of reviews.',
'listening/web/account':'Login, second factors, sign-on and the account page.',
'metrics/core':'What every metric shares: the contract, clips, texts, devices, precision, weights.',
'metrics/signal':'Signal processing: SRMR, F0, envelopes, speech segments.',
'metrics/networks':'Neural networks: predictors, embeddings, recognisers.',
'metrics/scoring':'Scores planned, computed, stored and read.',
'metrics/web':'The metrics pages of a study.',
'config/run':'Starting Earnest: process tree, embedded servers, commands.',
}
for d,doc in DOC.items():
    i=pathlib.Path(d)/'__init__.py'
    if not i.exists():
        i.write_text(f'"""{doc}"""\n'); subprocess.run(['git','add',str(i)])
# empty old dirs
for d in ('listening/views','listening/bots','listening/prolific','listening/sound_files','metrics/presets','metrics/predictors','metrics/embeddings','metrics/recognisers','metrics/sets','.moving'):
    subprocess.run(['rm','-rf',d])
subprocess.run(['.venv/bin/ruff','check','--select','I,F401','--fix','-q','.']); subprocess.run(['.venv/bin/ruff','format','-q','.'])
p=pathlib.Path('config/urls.py'); p.write_text(p.read_text().replace('("rest", "listening", "metrics", "analysis.web")','("rest", "listening", "metrics.web", "analysis.web")'))
