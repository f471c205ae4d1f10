#!/bin/sh
# Puts the agent onto this machine and starts it. Made by `agent user-data`; to run it again does no harm.
set -eu
# SETTINGS
umask 022
conf=/etc/netwright/agent.yaml
unit=netwright-agent.service
# Where it is installed: elsewhere than in /usr/bin where /usr is read-only.
program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' /etc/systemd/system/$unit 2>/dev/null || :)
[ -n "$program" ] || program=/usr/bin/netwright
proxy=/etc/systemd/system/$unit.d/10-bootstrap-proxy.conf
work=/var/lib/netwright/bootstrap
# The file of this script; none where it is piped into a shell, of which $0 may be the path.
self=''
if [ -f "$0" ] && [ "$(head -c 2 "$0")" = '#!' ]; then self=$0; fi
resume=/etc/systemd/system/netwright-bootstrap.service
wanted=/etc/systemd/system/multi-user.target.wants/netwright-bootstrap.service

# To whoever looks: the console of the cloud, the journal, the log of cloud-init.
say() {
	printf 'netwright: %s\n' "$*"
	{ printf 'netwright: %s\r\n' "$*" >/dev/console; } 2>/dev/null || :
	# Under cloud-init that variable is set, and a tee stands between.
	[ "${JOURNAL_STREAM:-none}" = "$(stat -Lc %d:%i /proc/$$/fd/1 2>/dev/null)" ] || logger -t netwright-bootstrap -- "$*" 2>/dev/null || :
}
fail() {
	say "$*"
	exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }
sum() {
	if has sha256sum; then sha256sum <"$1"; elif has shasum; then shasum -a 256 <"$1"; else openssl dgst -sha256 -r <"$1"; fi | cut -d ' ' -f 1
}
random() { od -An -N2 -tu2 /dev/urandom | tr -d ' '; } # 0 to 65535

# fetch URL: 0 it is in $work/agent; 1 not now; 2 never. Why is in $why. At most 256 MiB; a line without a byte for 30 s is given up.
fetch() {
	why='' code=0
	has curl || has wget || fail "there is neither curl nor wget: nothing was installed. Put one of them into the image"
	if has curl; then
		status=$( (ulimit -f 524288 && exec curl -sSfL --connect-timeout 20 --speed-limit 1 --speed-time 30 -w '%{http_code}' -o "$work/agent" -- "$1") 2>"$work/error") || code=$?
	else
		tries='' status=000
		case $(wget --help 2>&1) in *--tries*) tries=--tries=1 ;; esac
		(ulimit -f 524288 && exec wget ${tries:+"$tries"} -T 30 -O "$work/agent" "$1") >/dev/null 2>"$work/error" || code=$?
	fi
	[ "$code" != 0 ] || return 0
	why=$(grep . "$work/error" | tail -n 1)
	[ "$code" != 153 ] || why="it is too large" status=400
	[ -n "$why" ] || why="exit code $code"
	case $status in
	408 | 425 | 429) return 1 ;;
	4??) return 2 ;;
	000) ;;
	*) return 1 ;;
	esac
	case $why in
	*' 408'* | *' 425'* | *' 429'*) return 1 ;;
	*'ERROR 4'[0-9][0-9]* | *'HTTP/1.'[01]' 4'[0-9][0-9]*) return 2 ;;
	esac
	return 1
}

# once URL...: 0 the right program is in $work/agent. Else $later says that asking again may help.
once() {
	later=''
	for url in "$@"; do
		case " $never " in *" $url "*) continue ;; esac
		rm -f "$work/agent"
		code=0
		fetch "$url" || code=$?
		if [ "$code" = 0 ]; then
			got=$(sum "$work/agent")
			[ "$got" != "$want" ] || return 0
			why="its sha256 is $got, and $want is wanted: it is not used"
		fi
		say "$url: $why"
		if [ "$code" = 1 ]; then later=1; else never="$never $url"; fi
	done
	rm -f "$work/agent"
	return 1
}

download() {
	never='' pause=2
	until once "$@"; do
		[ -n "$later" ] || fail "no mirror has the agent: nothing was installed. Put netwright for $arch with the sha256 $want onto a mirror${self:+ and say: sh $self}, or make other user-data"
		wait=$((pause + $(random) % pause))
		say "no mirror has the agent yet: again in $wait s"
		sleep "$wait"
		[ "$pause" -ge 60 ] || pause=$((pause * 2))
	done
}

case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) arch=$(uname -m) ;;
esac
want=$(sha256 "$arch")
[ -n "$want" ] || fail "there is no agent for $arch in this user-data: nothing was installed"
[ "$(id -u)" = 0 ] || fail "this is not root: nothing was installed"
mkdir -p /etc/netwright
if has flock; then
	exec 9>>/run/netwright-bootstrap.lock
	flock 9 # cloud-init may run this at the boot that resumes it, too
fi

# cloud-init runs this once, and not again where that was interrupted: it notes that it ran before it runs it. So the next boot goes on, until this
# script has come to an end, good or bad.
remember() {
	[ -n "$self" ] || return 0 # somebody is there
	(umask 077 && mkdir -p "$work") && cat "$self" >"$work/script.new" || return 1
	# Left open: it fetches (network), and what it installs is root's, in /usr, /etc and /var.
	cat >"$resume.new" <<END || return 1
[Unit]
Description=Netwright: go on with a first boot that was interrupted
Wants=network-online.target
After=network-online.target
[Service]
ExecStart=/bin/sh $work/script
SyslogIdentifier=netwright-bootstrap
CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID
NoNewPrivileges=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictRealtime=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=~@clock @cpu-emulation @debug @module @mount @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
DevicePolicy=closed
DeviceAllow=/dev/console rw
PrivateTmp=yes
PrivateMounts=yes
ProtectHome=read-only
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
END
	sync # what gets its name before its text may be empty after a power cut, and an empty unit is a masked one
	mv -f "$work/script.new" "$work/script" && mv -f "$resume.new" "$resume" && mkdir -p "${wanted%/*}" && ln -sf "$resume" "$wanted" && sync
}
new=$program.new
trap 'rm -rf "$wanted" "$resume" "$work" "$new"' EXIT
trap 'trap - EXIT; exit 143' TERM HUP # a reboot is no end

right=''
if [ -x "$program" ] && [ "$(sum "$program")" = "$want" ]; then right=1; fi
if [ -z "$right" ] || [ "$(cat "$conf" 2>/dev/null)" != "$agent_yaml" ]; then
	remember || say "if this is interrupted it does not go on by itself: $work or $resume cannot be written"
fi
from=$program
if [ -z "$right" ]; then
	(umask 077 && mkdir -p "$work")
	from_mirrors "$arch"
	chmod 0755 "$work/agent"
	from=$work/agent
	if [ ! -x "$from" ]; then # /var is mounted noexec
		for from in "$new" /usr/local/bin/netwright.new /opt/netwright.new ''; do
			[ -n "$from" ] || fail "the agent can be run neither from $work nor from /usr, /usr/local or /opt"
			if cp -p "$work/agent" "$from" 2>/dev/null && [ -x "$from" ]; then break; fi
			rm -f "$from" 2>/dev/null || :
		done
		new=$from
	fi
fi

restart='' reload=''
# put FILE TEXT: 0 it was another one. A disk that is full leaves the one that is there. (In a condition set -e does not count.)
put() {
	[ "$(cat "$1" 2>/dev/null)" != "$2" ] || return 1
	if ! { printf '%s\n' "$2" >"$1.new" && chmod 0644 "$1.new" && sync && mv -f "$1.new" "$1"; }; then
		rm -f "$1.new"
		trap - EXIT
		fail "$1 could not be written: see above; the next boot tries again, or run this again when that is right"
	fi
	case $(systemctl is-active "$unit") in active | activating | reloading | refreshing) restart=1 ;; esac # it reads the file when it starts
}
put "$conf" "$agent_yaml" || :
if [ -n "$proxy_conf" ]; then
	mkdir -p "${proxy%/*}"
	if put "$proxy" "$proxy_conf"; then reload=1; fi
elif [ -e "$proxy" ]; then
	rm -f "$proxy"
	reload=1 restart=1
fi
# On a machine that is busy with its first boot systemd may be too slow to answer. What is right already is left alone.
tries=3
until "$from" install; do
	tries=$((tries - 1))
	if [ "$tries" = 0 ]; then
		trap - EXIT
		fail "the agent could not be installed: see above; the next boot tries again, or run this again when that is right"
	fi
	say "the agent could not be installed: again in 10 s"
	sleep 10
done
[ -z "$reload" ] || systemctl daemon-reload
[ -z "$restart" ] || systemctl --no-block restart "$unit" # also one that ended meanwhile, for want of a store
say "installed; journalctl -u $unit tells how it goes on"
