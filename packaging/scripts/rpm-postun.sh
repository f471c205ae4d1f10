#!/bin/sh
# As %systemd_postun_with_restart does it. There is no purge: with the package goes the state, unless a reset needs it.
set -eu
. ./common.sh

if booted; then systemctl daemon-reload || :; fi
if [ "$1" = 0 ]; then
	forget
elif booted; then
	restart || :
fi
