#!/bin/sh
# Makes the secrets that compose.yaml mounts, once: what is there already stays as it is.
#   deploy/secrets.sh                           passwords, in deploy/secrets
#   deploy/secrets.sh --self-signed HOST        and a certificate for trying, in deploy/certificates
# Files are readable inside folders that only you may enter: containers run as other accounts.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${EARNEST_DEPLOY_FOLDER:-$here}

keep() { # NAME: standard input becomes the file, unless there is one
    if [ -s "$folder/secrets/$1" ]; then cat > /dev/null; else (umask 022; cat > "$folder/secrets/$1"); fi
}
word() { openssl rand -hex 24; }

(umask 077; mkdir -p "$folder/secrets" "$folder/certificates")
chmod 700 "$folder/secrets" "$folder/certificates"
word | keep database_password
printf 'requirepass %s\nappendonly yes\ndir /data\n' "$(word)" | keep valkey_config
valkey_password=$(sed -n 's/^requirepass //p' "$folder/secrets/valkey_config")
printf 'postgresql://earnest:%s@database:5432/earnest\n' "$(cat "$folder/secrets/database_password")" | keep database_url
printf 'redis://:%s@valkey:6379/0\n' "$valkey_password" | keep redis_url
printf '[default]\naws_access_key_id = earnest\naws_secret_access_key = %s\n' "$(word)" | keep aws_credentials
s3_key=$(sed -n 's/^aws_secret_access_key = //p' "$folder/secrets/aws_credentials")
printf '{"identities": [{"name": "earnest", "credentials": [{"accessKey": "earnest", "secretKey": "%s"}], "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}\n' "$s3_key" | keep s3_config
echo "Secrets are in $folder/secrets."

case "${1:-}" in
"") ;;
--self-signed)
    host=${2:?name the host that raters open, like localhost}
    if [ -s "$folder/certificates/fullchain.pem" ]; then
        echo "$folder/certificates/fullchain.pem is there already and stays."
        exit 0
    fi
    case "$host" in *[!0-9.]*) name="DNS:$host" ;; *) name="IP:$host" ;; esac
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
        -subj "/CN=$host" -addext "subjectAltName=$name" \
        -keyout "$folder/certificates/privkey.pem" -out "$folder/certificates/fullchain.pem" 2> /dev/null
    chmod 644 "$folder/certificates/privkey.pem" "$folder/certificates/fullchain.pem"
    echo "A certificate for $host, 30 days, for trying only: $folder/certificates/fullchain.pem"
    ;;
*)
    echo "Not understood: $1. Say --self-signed HOST, or nothing." >&2
    exit 2
    ;;
esac
