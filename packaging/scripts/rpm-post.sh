#!/bin/sh
# As %systemd_post does it: a first installation follows the presets, of which this package brings its own. $1 is how many of the package there will be.
set -eu
. ./common.sh

add_link
adopt
if [ "$1" = 1 ]; then
	# shellcheck disable=SC2086 # the units are words
	systemctl --no-reload preset $units || :
fi
if booted; then systemctl daemon-reload || :; fi
if [ "$1" = 1 ]; then
	if systemctl -q is-enabled netwright-agent.service; then
		first_steps enabled
	else
		first_steps "not enabled, by a preset of this host (systemctl enable $units)"
	fi
fi
