#!/bin/sh
set -eu
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
if [ "$1" = purge ]; then
  rm -rf /etc/steelyard /var/cache/steelyard /run/steelyard
  # The only copy of every cluster's secrets may be here.
  if [ -e /var/lib/steelyard ]; then
    echo 'The data of Steelyard stays in /var/lib/steelyard, with the secrets of its clusters. To remove it: rm -r /var/lib/steelyard'
  fi
fi
