#!/bin/sh
# What the scripts of both kinds of package share: each of them is shipped with these lines in it.
set -eu

units='netwright-agent.service netwright-recover.service netwright-undo.service'

# ours says whether a path is a link to the program, as this package or `agent install` makes it.
ours() {
	case $(readlink "$1") in
	netwright | /usr/bin/netwright) return 0 ;;
	esac
	return 1
}

# add_link makes `agent`, unless some directory of the path has another program of that name.
add_link() {
	for other in /usr/local/sbin/agent /usr/local/bin/agent /usr/sbin/agent /usr/bin/agent /sbin/agent /bin/agent; do
		if [ -e "$other" ] || [ -L "$other" ]; then
			ours "$other" || {
				echo "netwright: $other is another program: there is no link of that name, use \`netwright\` for \`agent\`"
				return 0
			}
		fi
	done
	ln -sfn netwright /usr/bin/agent
}

drop_link() {
	if ours /usr/bin/agent; then rm -f /usr/bin/agent; fi
}

# adopt takes over the units that `agent install` left where they stand before those of the package: what is the same text goes, what is another is named.
adopt() {
	for unit in $units; do
		theirs=/etc/systemd/system/$unit brought=/usr/lib/systemd/system/$unit
		if [ ! -f "$theirs" ] || [ -L "$theirs" ]; then continue; fi
		if cmp -s "$theirs" "$brought"; then
			for link in /etc/systemd/system/*.wants/"$unit"; do
				if [ "$(readlink "$link")" = "$theirs" ]; then ln -sfn "$brought" "$link"; fi
			done
			rm "$theirs" # last: where this is killed before, it is all done again
		else
			echo "netwright: $theirs stands before the package's: remove it, unless you wrote it"
		fi
	done
}

# orphans names units of `agent install` whose program goes.
orphans() {
	for unit in $units; do
		if [ -f "/etc/systemd/system/$unit" ] && [ ! -L "/etc/systemd/system/$unit" ]; then
			echo "netwright: /etc/systemd/system/$unit is not of the package and stays without its program: systemctl disable it, and remove it"
		fi
	done
}

booted() { [ -d /run/systemd/system ]; }

# restart makes a daemon that runs the new one, and starts none. Nothing waits for it: it may have a store to wait for.
restart() {
	systemctl --no-block try-restart netwright-agent.service
}

unsettled() { [ -e /var/lib/netwright/checkpoint/journal.json ]; }

# halt stops the daemon by a command, and takes back a change that nobody has confirmed yet: what would do so at the next boot goes with the package.
# Where that fails the package stays, and a daemon that ran goes on.
halt() {
	booted || return 0
	ran=''
	case $(systemctl is-active netwright-agent.service) in active | activating | reloading | refreshing) ran=1 ;; esac
	"$@" stop netwright-agent.service || :
	unsettled || return 0
	echo 'netwright: a change of this host is not confirmed: it is taken back'
	if /usr/bin/netwright undo; then return 0; fi
	if [ -n "$ran" ]; then systemctl --no-block start netwright-agent.service || :; fi
	echo 'netwright: it is not taken back, for the reason above, and the package is not removed: its units try again at the next boot, and netwright undo does now'
	echo 'netwright: to remove it all the same, see that the network is right without it, and say:'
	echo '    mv /var/lib/netwright/checkpoint/journal.json /var/lib/netwright/checkpoint/journal.json.damaged'
	exit 1
} >&2

# first_steps says whether the units are enabled, in its first argument, and what to do.
first_steps() {
	echo "netwright: $1, and not started. Say in /etc/netwright/agent.yaml where the configuration is, look at netwright --dry-run, then:"
	echo '    systemctl start netwright-agent'
}

# keeps says whether there is something on this host that only netwright can take back.
keeps() { [ -s /var/lib/netwright/journal ] || unsettled; }

offer_reset() {
	if unsettled; then
		echo 'netwright: a change of this host is not confirmed, and what is here does not take it back: install the package again, and say netwright undo'
	fi
	if keeps; then
		echo 'netwright: what it made on this host stays, for pods may use it, and so does the record of it in /var/lib/netwright.'
		echo '    To take it back: netwright reset, before the package goes; or install the package again for that.'
	fi
}

# forget removes what user-data and `agent install` left, which would bring the agent back at the next boot, have a later one use its proxy, or enable it; and
# the state, unless it is what a reset needs.
forget() {
	rm -f /etc/systemd/system/netwright-bootstrap.service /etc/systemd/system/*.wants/netwright-bootstrap.service
	rm -f /etc/systemd/system/netwright-agent.service.d/10-bootstrap-proxy.conf
	rmdir /etc/systemd/system/netwright-agent.service.d 2>/dev/null || : # a person's drop-ins stay
	rm -rf /var/lib/netwright/bootstrap /etc/systemd/system-preset/80-netwright.preset
	if keeps; then
		offer_reset
		return 0
	fi
	rm -rf /var/lib/netwright /run/netwright
}
