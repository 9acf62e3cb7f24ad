"""graph.py ROOT [mapping.csv]: upward edges between packages."""
import ast,csv,sys,pathlib,collections
root=pathlib.Path(sys.argv[1])
mp={}
if len(sys.argv)>2:
    for r in csv.reader(open(sys.argv[2])):
        if r and r[0]!='module': mp[r[0]]=r[1].replace('/','.')
PK=('listening','metrics','analysis','config','rest','earnest')
files={}
for p in PK:
    for f in (root/p).rglob('*.py'):
        if 'migrations' in f.parts: continue
        files['.'.join(f.relative_to(root).with_suffix('').parts).removesuffix('.__init__')]=f
mods=set(files)
def imported(f):
    out=set()
    for n in ast.walk(ast.parse(f.read_text())):
        if isinstance(n,ast.Import): out|={a.name for a in n.names}
        elif isinstance(n,ast.ImportFrom) and n.module and not n.level:
            for a in n.names:
                s=f'{n.module}.{a.name}'
                out.add(s if s in mods else n.module)
    return out&mods
def pkg(m):
    best=None
    q=m
    while q:
        if q in mp:
            return mp[q]+('' if q==m else m[len(q):])if False else mp[q]
        q=q.rpartition('.')[0]
    parts=m.split('.')
    return '.'.join(parts[:2])
ORDER={
'listening':"common models methods checks design audio sessions access review studies recruitment drafts selectors accounts notifications jobs web urls admin management".split(),
'metrics':"models core audio signal networks auto_att judges suite distribution testing scoring jobs web management".split(),
}
def rank(p):
    a,_,b=p.partition('.')
    o=ORDER.get(a)
    if not o: return None
    return o.index(b.split('.')[0]) if b.split('.')[0] in o else None
unk=collections.Counter(); up=collections.defaultdict(list)
for m,f in files.items():
    pm=pkg(m)
    for i in imported(f):
        pi=pkg(i)
        if pm.split('.')[0]!=pi.split('.')[0]: continue
        r1,r2=rank(pm),rank(pi)
        if rank(pm) is None and pm.split('.')[0] in ORDER: unk[pm]+=1
        if r1 is not None and r2 is not None and r2>r1: up[(pm,pi)].append((m,i))
for k,v in sorted(up.items()): print(k,v)
print(sum(map(len,up.values())),'upward');print('unknown',dict(unk))
# package-level counts against any order
import itertools
E=collections.Counter(); ex={}
for m,f in files.items():
    t=ast.parse(f.read_text())
    tc=set()
    for n in ast.walk(t):
        if isinstance(n,ast.If) and ast.unparse(n.test) in('TYPE_CHECKING','typing.TYPE_CHECKING'):
            for k in ast.walk(n): tc.add(id(k))
    pm=pkg(m)
    for n in ast.walk(t):
        if id(n) in tc: continue
        l=[]
        if isinstance(n,ast.Import): l=[a.name for a in n.names]
        elif isinstance(n,ast.ImportFrom) and n.module and not n.level:
            l=[f'{n.module}.{a.name}' if f'{n.module}.{a.name}' in mods else n.module for a in n.names]
        for i in set(l)&mods:
            pi=pkg(i)
            if pi!=pm and pi.split('.')[0]==pm.split('.')[0]: E[(pm,pi)]+=1; ex.setdefault((pm,pi),set()).add((m,i))
def improve(top):
    ps=sorted({p for e in E for p in e if p.startswith(top+'.')})
    def cost(o): 
        r={p:i for i,p in enumerate(o)}
        return sum(c for (a,b),c in E.items() if a in r and b in r and r[b]>r[a])
    o=ps[:]
    best=cost(o)
    ch=True
    while ch:
        ch=False
        for i in range(len(o)):
            for j in range(len(o)):
                q=o[:]; x=q.pop(i); q.insert(j,x)
                c=cost(q)
                if c<best: best,o,ch=c,q,True
    r={p:i for i,p in enumerate(o)}
    print(top,best,[p.split('.')[1] for p in o])
    for (a,b),c in E.items():
        if a in r and b in r and r[b]>r[a]: print('   ',a,b,sorted(ex[a,b]))
for t in ('listening','metrics','config','analysis'): improve(t)
