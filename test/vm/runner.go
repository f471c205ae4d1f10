package vm

// runner runs the script of this boot, once systemd is done. Frames are lines that begin with a
// record separator, which no script prints. A boot whose script took the machine down (power cut,
// panic) has no end: the next boot goes on with the next script. A boot that ends before has no
// frame. A script "every" is that of each boot that has none of its own, and nothing follows it.
const runner = `#!/bin/sh
stty -F /dev/ttyS1 raw -echo
exec >/dev/ttyS1 2>&1 </dev/null
boot=$(($(cat /var/lib/lab-boot 2>/dev/null || echo 0) + 1))
echo $boot >/var/lib/lab-boot
mkdir -p /payload
mountpoint -q /payload || mount -o ro /dev/vdb /payload
state=$(systemctl is-system-running --wait)
[ "$state" != stopping ] || exit 0
sync
printf '\036begin %s %s %s\n' $boot $state $(cut -d ' ' -f 1 /proc/uptime)
cd /payload
script=boot-$boot
[ -e $script ] || script=every
sh -eu ./$script
code=$?
[ $code = 0 ] || journalctl -b -p warning --no-pager
printf '\n\036end %s %s\n' $boot $code
if [ $code = 0 ] && [ -e boot-$((boot + 1)) ]; then
	exec systemctl --no-block reboot >/dev/null 2>&1
fi
printf '\036off\n'
exec systemctl --no-block poweroff >/dev/null 2>&1
`

// switchedOff is the last frame of all: the machine does not come back.
const switchedOff = "\x1eoff\n"
