#!/bin/sh
# A removed package leaves its conffile and the record of what the agent made; a purged one leaves only what a reset needs.
set -eu
. ./common.sh

case $1 in
remove)
	if booted; then systemctl daemon-reload || :; fi
	;;
purge)
	for unit in $units; do
		deb-systemd-helper purge "$unit" >/dev/null || :
		deb-systemd-helper unmask "$unit" >/dev/null || :
	done
	forget
	;;
esac
