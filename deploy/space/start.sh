#!/bin/sh
# Starts Earnest in a Space. A bucket, mounted at /data, is no disk for a database: the database
# lies on the Space's own disk, which a restart empties, and /data has its newest three backups.
set -eu
backups=${BACKUPS:-/data}
every_s=${BACKUP_EVERY_S:-600}
export EARNEST_PUBLIC_URL="${EARNEST_PUBLIC_URL:-https://${SPACE_HOST:-localhost:$EARNEST_PORT}}"
umask 077

newest_first() { find "$backups" -maxdepth 1 -name 'earnest-*.tar' 2> /dev/null | sort -r; }

keep() {
    [ -w "$backups" ] || return 0
    file="$backups/earnest-$(date -u +%Y%m%dT%H%M%S).tar"
    if python manage.py backup - > "$file"; then
        newest_first | tail -n +4 | while read -r old; do rm -f "$old"; done
    else
        rm -f "$file"
    fi
}

started="$EARNEST_VAR/started"  # is there after a restart that has kept the disk
if [ ! -e "$started" ] && [ -n "$(newest_first)" ]; then
    restored=
    for file in $(newest_first); do
        if python manage.py restore "$file"; then restored=$file && break; fi
    done
    if [ -z "$restored" ]; then
        echo "No backup in $backups can be restored. Move them away to start with an empty database." >&2
        exit 1
    fi
elif [ ! -e "$started" ]; then
    if [ "$(printf %s "${RESEARCHER_PASSWORD:-}" | wc -m)" -lt 12 ]; then
        echo "Add a secret RESEARCHER_PASSWORD of at least 12 characters in the Space's settings." >&2
        exit 1
    fi
    printf 'user: researcher\npassword: %s\n' "$RESEARCHER_PASSWORD" > "$EARNEST_VAR/researcher-login.txt"
fi
[ -w "$backups" ] || echo "$backups cannot be written: a restart will lose all data. Mount a bucket there."

touch "$started"
stopping='' status=0 seconds=0
trap 'stopping=1' TERM INT
python -m config.run.supervisor &
server=$!
while [ -z "$stopping" ] && kill -0 "$server" 2> /dev/null; do
    sleep 1
    seconds=$((seconds + 1))
    if [ $((seconds % every_s)) = 0 ]; then keep; fi
done
kill "$server" 2> /dev/null || true
wait "$server" || status=$?
keep
exit "$status"
