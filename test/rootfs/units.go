package rootfs

// DropUnits is a script for a root's chroot: it removes the units that neither a node nor a machine
// of the tests can use, and the links to them. systemd reads its directory of units at each
// daemon-reload, and all links of it for each list of unit files.
const DropUnits = `
(cd /usr/lib/systemd/system && rm -rf apt-daily* autovt@* blockdev@* bluetooth* console-getty* container-getty* cryptdisks* *cryptsetup* debug-shell* dpkg-db-backup* \
	e2scrub* factory-reset* fstrim* getty* hibernate* hwclock* hybrid-sleep* initrd* integritysetup* kexec* printer* proc-sys-fs-binfmt* quotaon* rc-local* rc.service rcS.service \
	remote-cryptsetup* remote-veritysetup* rescue* rpcbind* runlevel* serial-getty* sigpwr* sleep* smartcard* sound* suspend* system-update* systemd-ask-password* systemd-backlight* \
	systemd-binfmt* systemd-boot-check* systemd-firstboot* systemd-fsck* systemd-hibernate* systemd-hybrid* systemd-initctl* systemd-kexec* systemd-pcrphase* systemd-pstore* \
	systemd-quotacheck* systemd-repart* systemd-rfkill* systemd-suspend* systemd-sysext* systemd-time-wait* systemd-update-utmp* systemd-volatile-root* usb-gadget* veritysetup* x11-common*)
find /etc/systemd/system /usr/lib/systemd/system -xtype l -delete # the links to them
`
