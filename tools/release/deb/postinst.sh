#!/bin/sh
set -eu
case $1 in
  configure) ;;
  # An upgrade or a removal that failed: the service was stopped for it.
  abort-*)
    if [ -d /run/systemd/system ] && systemctl is-enabled --quiet steelyard.service; then
      systemctl start steelyard.service || true
    fi
    exit 0
    ;;
  *) exit 0 ;;
esac
getent group steelyard >/dev/null || groupadd --system steelyard
getent passwd steelyard >/dev/null ||
  useradd --system --gid steelyard --no-create-home --home-dir /var/lib/steelyard \
    --shell /usr/sbin/nologin steelyard
# Folders of another account are left alone: Steelyard then says whose they are.
for folder in /var/lib/steelyard /var/cache/steelyard; do
  [ -e "$folder" ] || install -d -m 0700 -o steelyard -g steelyard "$folder"
done
# The settings may contain passwords.
chown root:steelyard /etc/steelyard /etc/steelyard/steelyard.env
chmod 0750 /etc/steelyard
chmod 0640 /etc/steelyard/steelyard.env
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # A first installation is enabled. An upgrade keeps what the operator chose.
  [ -n "${2:-}" ] || systemctl enable steelyard.service
  if systemctl is-enabled --quiet steelyard.service; then
    systemctl restart steelyard.service || true
  fi
fi
if [ -z "${2:-}" ]; then
  echo 'Steelyard listens on http://127.0.0.1:8080. The first user: steelyard user add --first you@example.com'
fi
