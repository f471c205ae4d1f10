#!/bin/sh
# Before an upgrade nothing is done: the daemon goes on until the new one is there.
set -eu
. ./common.sh

[ "$1" = remove ] || exit 0
if booted; then deb-systemd-invoke stop netwright-agent.service || :; fi
settle
drop_link
orphans
offer_reset
