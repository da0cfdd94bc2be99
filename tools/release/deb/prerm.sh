#!/bin/sh
set -eu
# Also before an upgrade: the running program loads files that are about to be replaced.
if [ -d /run/systemd/system ]; then
  systemctl stop steelyard.service || true
  [ "$1" != remove ] || systemctl disable steelyard.service || true
fi
