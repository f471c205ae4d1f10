#!/bin/sh
# Enables the units of a first installation and starts nothing; a daemon that runs becomes the new one. What deb-systemd-helper records is how an
# administrator's `systemctl disable` outlives upgrades: https://manpages.debian.org/deb-systemd-helper.
set -eu
. ./common.sh

# restart is what policy-rc.d, which images and chroots use, lets us do: 101 is no.
restart_allowed() {
	command -v policy-rc.d >/dev/null || return 0
	code=0
	policy-rc.d netwright-agent.service restart || code=$?
	[ "$code" != 101 ]
}

case $1 in
configure | abort-upgrade | abort-deconfigure | abort-remove) ;;
*) exit 0 ;;
esac

add_link
adopt
for unit in $units; do
	deb-systemd-helper unmask "$unit" >/dev/null || :
	if deb-systemd-helper --quiet was-enabled "$unit"; then
		deb-systemd-helper enable "$unit" >/dev/null || :
	else # disabled by somebody: remember what links there would be
		deb-systemd-helper update-state "$unit" >/dev/null || :
	fi
done
if booted; then
	systemctl daemon-reload || :
	if restart_allowed; then restart || :; fi
fi
if [ "$1" = configure ] && [ -z "${2:-}" ]; then first_steps enabled; fi
