#!/bin/sh
# Starts Steelyard (`serve`) or its command line, with the Node.js and the PostgreSQL beside this
# file. It is the last file of the archive: without it an archive was unpacked in part.
set -eu
at=$0
while [ -h "$at" ]; do
  to=$(readlink "$at")
  case $to in /*) at=$to ;; *) at=$(dirname "$at")/$to ;; esac
done
home=$(cd "$(dirname "$at")" && pwd -P)

if [ "$(uname -sm)" != '@MACHINE@' ]; then
  echo "This is Steelyard for @PLATFORM@, but this machine is $(uname -sm): take the archive for it." >&2
  exit 1
fi

# Node.js for Linux needs libatomic, which a bare system lacks.
needs=@LIBRARY@
if [ -n "$needs" ]; then
  for at in /lib/*-linux-gnu /usr/lib/*-linux-gnu /lib64 /usr/lib64 /lib /usr/lib; do
    if [ -e "$at/$needs" ]; then needs= && break; fi
  done
fi
if [ -n "$needs" ]; then
  export LD_LIBRARY_PATH="$home/node/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi

# Data outlives this folder, which belongs to one version.
if [ -z "${STEELYARD_DATA:-}" ]; then
  if [ "$(id -u)" = 0 ]; then
    STEELYARD_DATA=/var/lib/steelyard
  else
    STEELYARD_DATA=${XDG_DATA_HOME:-${HOME:?STEELYARD_DATA names the folder of all data}/.local/share}/steelyard
  fi
fi
export STEELYARD_DATA
if [ -z "${NODE_COMPILE_CACHE:-}" ] && [ -n "${HOME:-}" ]; then
  export NODE_COMPILE_CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/steelyard"
fi

if [ "${1:-}" = serve ] && [ $# = 1 ]; then
  exec "$home/node/bin/node" @FLAGS@ "$home/backend/dist/main.js" serve
fi
exec "$home/node/bin/node" "$home/cli/dist-installed/steelyard.mjs" "$@"
