"""post.py ROOT: what the pure moves leave to do by hand."""
import sys,os,pathlib,re,shutil,subprocess
os.chdir(sys.argv[1])
def sub(f,*pairs):
    p=pathlib.Path(f); t=p.read_text()
    for a,b in pairs:
        if a not in t: print('MISSING in',f,':',a[:80]); continue
        t=t.replace(a,b)
    p.write_text(t)
for f in ('tools/layers.py','tests/test_architecture.py','docs/architecture.md','docs/adr/0044-packages-have-an-order.md'):
    shutil.copy(f'tools/package_moves/post/{f}',f)
# odds of guessing
p=pathlib.Path('listening/design/odds.py'); t=p.read_text()
m=re.search(r'def at_least.*?(?=@dataclass)',t,re.S)
fn=m.group(0)
t=t.replace(fn,'')
t=t.replace('from math import comb, inf, prod','from math import inf, prod')
if 'at_least(' in t or 'in_attempts(' in t:
    names=[n for n in('at_least','in_attempts') if n+'(' in t]
    t=t.replace('from listening.design.traps',f'from listening.common.odds import {", ".join(names)}\nfrom listening.design.traps',1)
if 'comb(' in t: t=t.replace('from math import inf','from math import comb, inf')
p.write_text(t)
pathlib.Path('listening/common/odds.py').write_text('"""Probabilities that a guess passes."""\n\nfrom __future__ import annotations\n\nfrom math import comb\n\n\n'+fn.rstrip()+'\n')
sub('listening/checks/check.py',('from listening.design.odds import','from listening.common.odds import'))
sub('tests/listening/test_odds.py',('from listening.design.odds import at_least, in_attempts, trap_odds','from listening.common.odds import at_least, in_attempts\nfrom listening.design.odds import trap_odds'))
# messages are sent by the job's name
sub('listening/notifications/hearing.py',('    from listening.jobs import send_messages  # with all that jobs need\n\n',''),('send_messages.delay()','current_app.signature(SEND_MESSAGES).apply_async()'))
t=pathlib.Path('listening/notifications/hearing.py').read_text()
if 'from celery import' not in t:
    t=t.replace('from kombu','from celery import current_app\nfrom kombu',1) if 'from kombu' in t else t.replace('import logging\n','import logging\n\nfrom celery import current_app\n',1)
t=re.sub(r'(log = logging.getLogger\([^\n]*\)\n)',r'\1SEND_MESSAGES = "listening.jobs.send_messages"  # named, since jobs import this package\n',t,1)
pathlib.Path('listening/notifications/hearing.py').write_text(t)
# columns that a metric needs
sub('metrics/management/commands/list_metrics.py',('def needed(metric: Metric) -> str:\n    """What its numbers depend on beside the audio, as columns of a manifest."""\n    return ", ".join(map(column_of, metric.needs))\n',''),('{needed(metric)}','{needed_columns(metric.needs)}'),('import column_of','import needed_columns'))
sub('metrics/web/page.py',('from metrics.management.commands.list_metrics import needed\n',''),('needed(metric)','needed_columns(metric.needs)'))
t=pathlib.Path('metrics/web/page.py').read_text()
t=t.replace('from metrics.models import','from metrics.core.material import needed_columns\nfrom metrics.models import',1)
pathlib.Path('metrics/web/page.py').write_text(t)
t=pathlib.Path('metrics/core/material.py').read_text().rstrip()+'\n\n\ndef needed_columns(needs: Iterable[str]) -> str:\n    """Return the columns of a manifest that a metric needs beside the audio, separated by commas."""\n    return ", ".join(map(column_of, needs))\n'
if 'Iterable' not in t.split('def ')[0]:
    t=t.replace('from dataclasses','from collections.abc import Iterable\nfrom dataclasses',1)
pathlib.Path('metrics/core/material.py').write_text(t)
exec(open('tools/package_moves/post_more.py').read())
subprocess.run(['.venv/bin/ruff','check','--select','I,F401','--fix','-q','.']); subprocess.run(['.venv/bin/ruff','format','-q','.'])
