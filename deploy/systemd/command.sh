#!/bin/sh
# The command `steelyard` of the Debian package. What works on the installation itself runs with the
# settings of the service and as its account; everything else is the command line of the API.
set -eu
program=/usr/lib/steelyard/steelyard
settings=/etc/steelyard/steelyard.env
account=steelyard

case " $* " in *' --help '* | *' -h '*) exec "$program" "$@" ;; esac
case "${1:-} ${2:-}" in
  # These read and change backups in stores, over the API.
  'backup list' | 'backup take' | 'backup verify' | 'backup remove' | 'backup schedule' | 'backup plan' | 'backup unplan')
    exec "$program" "$@"
    ;;
  'serve '* | 'doctor '* | 'backup '* | 'restore '* | 'key add' | 'audit verify' | 'user recover') ;;
  'user add') case " $* " in *' --first '*) ;; *) exec "$program" "$@" ;; esac ;;
  *) exec "$program" "$@" ;;
esac

if [ "$(id -u)" != 0 ] && [ "$(id -un)" != "$account" ]; then
  echo "This command reads the data of Steelyard: run it as root or as the account $account" >&2
  exit 1
fi
export HOME=/var/lib/steelyard STEELYARD_DATA=/var/lib/steelyard
export TMPDIR=/run/steelyard NODE_COMPILE_CACHE=/var/cache/steelyard
if [ -e "$settings" ]; then
  number=0
  while IFS= read -r line || [ -n "$line" ]; do
    number=$((number + 1))
    case $line in
      '' | '#'* | ';'*) continue ;;
      [A-Z]*=*) ;;
      *)
        echo "$settings, line $number: not NAME=VALUE" >&2
        exit 2
        ;;
    esac
    value=${line#*=}
    case $value in
      \"*\") value=${value#\"} value=${value%\"} ;;
      \'*\') value=${value#\'} value=${value%\'} ;;
    esac
    export "${line%%=*}=$value"
  done <"$settings"
fi
if [ "$(id -u)" != 0 ]; then exec "$program" "$@"; fi
# The service makes it at its start and removes it at its end.
[ -d "$TMPDIR" ] || install -d -m 0700 -o "$account" -g "$account" "$TMPDIR"
exec setpriv --reuid="$account" --regid="$account" --init-groups -- "$program" "$@"
