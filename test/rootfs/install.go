package rootfs

import (
	"context"
	"os"
	"strings"
)

// Install makes apt install packages into the root file system dir, with this machine's name
// resolution. No service starts there, and the cache of apt is removed. Needs root.
func Install(ctx context.Context, dir string, packages ...string) error {
	files := map[string]string{"usr/sbin/policy-rc.d": "#!/bin/sh\nexit 101\n"} // nothing starts in a chroot
	for _, path := range []string{"/etc/resolv.conf", "/etc/hosts"} {
		if text, err := os.ReadFile(path); err == nil {
			files[path[1:]] = string(text)
		}
	}
	if err := WriteFiles(dir, files); err != nil {
		return err
	}
	return Chroot(ctx, dir, "apt-get -q update\napt-get -qy --no-install-recommends install "+strings.Join(packages, " ")+
		"\nrm -rf /etc/resolv.conf /etc/hosts /usr/sbin/policy-rc.d /var/cache/apt/* /var/lib/apt/lists/* /usr/share/doc/* /usr/share/man/*\n")
}
