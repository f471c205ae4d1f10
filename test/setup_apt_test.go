package test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// inRoot makes a root file system in memory over this machine's own. It lacks minisign, and apt
// knows one repository, whose only package has that name. The real apt and dpkg work there, on
// files that no other program sees. The script prints "ready", and goes on after a line of input.
const inRoot = `cd space
mkdir upper work root package repo
mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay root
mount --rbind /proc root/proc
mount --rbind /sys root/sys
mount --rbind /dev root/dev
mkdir -p package/DEBIAN package/usr/bin root/repo
printf '#!/bin/sh\necho by apt\n' >package/usr/bin/minisign
chmod 755 package/usr/bin/minisign
printf 'Package: minisign\nVersion: 999\nArchitecture: all\nMaintainer: test <test@example.com>\nDescription: test\n' >package/DEBIAN/control
dpkg-deb --build -Znone package root/repo/minisign.deb >/dev/null
dpkg-deb --field root/repo/minisign.deb >root/repo/Packages
printf 'Filename: ./minisign.deb\nSize: %s\nSHA256: %s\n' $(stat -c %s root/repo/minisign.deb) $(sha256sum root/repo/minisign.deb | cut -d ' ' -f 1) >>root/repo/Packages
cd root
rm -f var/lib/man-db/auto-update # each package would have all manual pages read anew
rm -rf etc/apt/sources.list etc/apt/sources.list.d/* etc/apt/preferences.d/* etc/apt/apt.conf.d/* var/lib/apt/lists/* var/cache/apt/*
chroot . dpkg --purge --force-depends minisign >/dev/null 2>&1
echo 'deb [trusted=yes] file:/repo ./' >etc/apt/sources.list
mkdir -p var/lib/apt/lists/partial var/cache/apt/archives/partial cache tmp
cp "$0/setup.sh" setup.sh
export NETWRIGHT_CACHE=/cache TMPDIR=/tmp
echo ready
read go
`

// start starts a machine by inRoot and the script change, which then runs setup.sh. It returns the
// root file system, the command, its output, and a function that lets it go on.
func start(t *testing.T, change string) (root string, setup *exec.Cmd, said *bufio.Reader, run func()) {
	t.Helper()
	needs.Root(t)
	needs.Tool(t, "apt-get", "dpkg-deb", "unshare")
	setup, dir := machine(t, inRoot+change+"\nchroot . ./setup.sh 2>&1\nchroot . minisign\n")
	in, errIn := setup.StdinPipe()
	out, errOut := setup.StdoutPipe()
	setup.Stderr = os.Stderr // of the preparation
	if err := errors.Join(errIn, errOut, setup.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); setup.Process.Kill(); setup.Wait() }) // it has ended by now, or must end
	said = bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "ready\n" {
		t.Fatalf("prepare a root file system: %q, %v", line, err)
	}
	root = fmt.Sprintf("/proc/%d/root%s", setup.Process.Pid, filepath.Join(dir, "space/root"))
	return root, setup, said, func() { io.WriteString(in, "go\n") }
}

// hold takes a lock as package managers do.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.FcntlFlock(file.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatalf("lock %s: %v", path, err)
	}
	return func() { file.Close() }
}

// Another package manager has one lock after the other. The script says for which lock it waits,
// goes on when the lock is free, and installs.
func TestSetupWaitsForOtherPackageManagers(t *testing.T) {
	t.Parallel()
	root, setup, said, run := start(t, "")
	// The order is the one in which setup.sh meets the locks. The lists are empty, so the first
	// install ends after it had dpkg's lock.
	locks := []string{"/var/lib/dpkg/lock-frontend", "/var/lib/apt/lists/lock", "/var/cache/apt/archives/lock"}
	release := map[string]func(){}
	for _, lock := range locks {
		release[lock] = hold(t, root+lock)
	}
	run()
	want := []string{`test/setup\.sh: installing minisign`}
	for _, lock := range locks {
		want = append(want, `test/setup\.sh: waits for another package manager, at most 600 s: Could not get lock `+lock+`\b.*`)
	}
	for i, line := range append(want, "by apt") {
		got, err := said.ReadString('\n')
		if !regexp.MustCompile("^" + line + "\n$").MatchString(got) {
			for _, give := range release {
				give()
			}
			rest, _ := io.ReadAll(said)
			t.Fatalf("%q, %v; want %q\n%s", got, err, line, rest)
		}
		if 0 < i && i <= len(locks) {
			release[locks[i-1]]()
		}
	}
	if rest, err := io.ReadAll(said); err != nil || len(rest) > 0 {
		t.Errorf("it also said %q, %v", rest, err)
	}
	if err := setup.Wait(); err != nil {
		t.Error(err)
	}
}

// When apt fails for good, the script prints apt's own text: the lock was not released in time, or
// there is no such package.
func TestSetupSaysWhyAptFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, change string
		locked       string
		want         []string
	}{
		{"locked", "export NETWRIGHT_APT_WAIT=0", "/var/lib/dpkg/lock-frontend",
			[]string{"test/setup.sh: apt-get install: E: Could not get lock /var/lib/dpkg/lock-frontend", "\nwaited 0 s for another package manager: "}},
		{"no such package", ": >repo/Packages", "", []string{"test/setup.sh: apt-get install: E: ", "minisign"}},
		{"no mirror", "rm -r repo", "", []string{"test/setup.sh: apt-get update: E: ", "file:/repo"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, setup, said, run := start(t, c.change)
			if c.locked != "" {
				defer hold(t, root+c.locked)()
			}
			run()
			text, _ := io.ReadAll(said)
			if err := setup.Wait(); err == nil || setup.ProcessState.ExitCode() != 1 {
				t.Errorf("ended with %v, want exit 1", err)
			}
			for _, want := range c.want {
				if !strings.Contains(string(text), want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
		})
	}
}
