#!/bin/sh
# As %systemd_preun does it. $1 is how many of the package will be left.
set -eu
. ./common.sh

[ "$1" = 0 ] || exit 0
halt systemctl
# shellcheck disable=SC2086 # the units are words
systemctl --no-reload disable $units || :
drop_link
orphans
