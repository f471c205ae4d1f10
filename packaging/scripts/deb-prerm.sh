#!/bin/sh
# Before an upgrade nothing is done: the daemon goes on until the new one is there.
set -eu
. ./common.sh

[ "$1" = remove ] || exit 0
halt deb-systemd-invoke
drop_link
orphans
offer_reset
